import type { InboxPage, InboxRow, InboxView } from "../../backend/types";
import { en } from "../../strings/en";

/**
 * The order a person looks at is theirs: an answer of the core may change what a row says, never where it stands. Rows
 * come, go and move only in `adopt`, which runs when the person asks for it.
 */

/** Takes the core's list as the new order. What has ended leaves the lists of what waits. */
export function adopt(page: InboxPage, view: InboxView): InboxRow[] {
  return view === "decided" ? page.rows : page.rows.filter(waits);
}

/** Brings the rows on screen up to date, each at its place. */
export function merge(shown: readonly InboxRow[], page: InboxPage): InboxRow[] {
  const told = new Map(page.rows.map((row) => [row.request, row]));
  return shown.map((row) => told.get(row.request) ?? missing(row, page));
}

/** What the core lists and the screen does not, in the core's order. */
export function fresh(shown: readonly InboxRow[], page: InboxPage, view: InboxView): InboxRow[] {
  const known = new Set(shown.map((row) => row.request));
  return adopt(page, view).filter((row) => !known.has(row.request));
}

export function waits(row: InboxRow): boolean {
  return row.tombstone_text === null;
}

/** Whether the core lists more than it sent. */
export function isPartial(page: InboxPage): boolean {
  return BigInt(page.total.replace(/\D/g, "") || "0") > BigInt(page.rows.length);
}

/**
 * A row that the core no longer lists has ended, unless the list was too long to be sent whole: then it may only have
 * been pushed off the page, and the one thing known to be wrong is its countdown.
 */
function missing(row: InboxRow, page: InboxPage): InboxRow {
  if (!waits(row)) return row;
  if (isPartial(page)) return { ...row, expires_in_text: "", expires_soon: false };
  return { ...row, tombstone_text: en.inbox.ended };
}
