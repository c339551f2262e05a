import type { Reversibility } from "../backend/types";
import type { IconName } from "./icons";

export const reversibilityIcons: Record<Reversibility, IconName> = {
  reversible: "circle",
  compensable: "tilde",
  irreversible: "octagon",
};
