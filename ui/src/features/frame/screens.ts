import type { IconName } from "../../components/icons";
import { en } from "../../strings/en";

export type Screen = "inbox" | "reconcile" | "settings";

/** Only screens that exist have an entry; `key` follows G. */
export const screens: readonly { screen: Screen; name: string; icon: IconName; key: string }[] = [
  { screen: "inbox", name: en.frame.inbox, icon: "inbox", key: "i" },
  { screen: "reconcile", name: en.frame.reconcile, icon: "question", key: "r" },
  { screen: "settings", name: en.frame.settings, icon: "sliders", key: "s" },
];
