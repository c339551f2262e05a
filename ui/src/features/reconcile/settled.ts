import type { DeskItem } from "../../backend/types";

/** Whether the outcome has its final state: what can still be added is a note. */
export function isSettled(item: DeskItem): boolean {
  return item.state !== "unknown" && item.state !== "executing" && item.state !== "needs_reconciliation";
}
