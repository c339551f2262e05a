import type { Tone } from "../../components/Chip.svelte";
import type { IconName } from "../../components/icons";
import type { Effect } from "../../backend/types";
import { en } from "../../strings/en";

export const effectIcons: Record<Effect, IconName> = { read: "eye", write: "pencil", money: "bank" };

/** The icon and colour of a request's state; a state this page does not know is drawn as ended, in the core's word. */
const states: Record<keyof typeof en.inbox.states, { icon: IconName; tone: Tone }> = {
  pending: { icon: "hourglass", tone: "plain" },
  approved: { icon: "check", tone: "good" },
  consumed: { icon: "check", tone: "good" },
  revoked: { icon: "cross", tone: "bad" },
  executed: { icon: "check", tone: "good" },
  denied: { icon: "cross", tone: "bad" },
  expired: { icon: "hourglass", tone: "ended" },
  withdrawn: { icon: "hourglass", tone: "ended" },
  stale: { icon: "hourglass", tone: "ended" },
  unknown: { icon: "question", tone: "unknown" },
};

function isKnown(state: string): state is keyof typeof states {
  return Object.hasOwn(states, state);
}

export function stateAppearance(state: string): { icon: IconName; tone: Tone; word: string } {
  return isKnown(state)
    ? { ...states[state], word: en.inbox.states[state] }
    : { icon: "hourglass", tone: "ended", word: state.replaceAll("_", " ") };
}
