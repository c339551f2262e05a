/**
 * What the console's core sends to the main window, and nothing else.
 *
 * Every amount, count, id, hash and time is a string made by the core: the page shows them and computes none of them.
 * A `..._text` is ready to be shown; one that names a duration or a time holds only that ("4:12", "14:32:07"), the words
 * around it come from the catalogue.
 */

export type Environment = "live" | "test";

export type GateState =
  | "connected"
  | "connecting"
  | "offline"
  | "refused"
  | "identity_changed"
  | "none";

export type KeyState = "none" | "waiting" | "active" | "rotation_due" | "rotating" | "stopped" | "removed" | "error";

export type MirrorState = "empty" | "syncing" | "verified" | "broken";

export type Theme = "system" | "light" | "dark";

export type NotificationPrivacy = "full" | "guarded" | "count";

export interface Gate {
  state: GateState;
  /** Time of day at which this state began: "14:20". */
  since_text: string;
  /** A sentence about a refusal, else empty. */
  detail: string;
}

export interface Clock {
  state: "ok" | "off";
  /** "ok", or the difference in words: "42 s behind". */
  text: string;
}

export interface Key {
  state: KeyState;
  /** The key's own name on this computer: "laptop-7". */
  label: string;
  /** A whole sentence when the key cannot sign, else empty. */
  text: string;
  error_id: string | null;
}

export interface Person {
  name: string;
  roles: string[];
}

export interface Mirror {
  state: MirrorState;
  /** Number of records, grouped for reading. */
  size: string;
  /** A sentence when the copy is broken or behind, else empty. */
  text: string;
}

export interface Notifications {
  available: boolean;
  error_id: string | null;
}

export interface Reconcile {
  /** How many outcomes wait for people: "2". */
  count: string;
  /** Whether one of them waits for more than a day. */
  late: boolean;
}

/** A recovery that runs: somebody comes in by the recovery key unless an administrator objects. */
export interface Recovery {
  /** Its digest, which tells it from others. */
  recovery: string;
  /** Who, in which roles, and when it takes effect: one sentence. */
  text: string;
  key_text: string;
  /** What the person here can do about it. */
  advice: string;
}

export interface ConsoleState {
  environment: Environment | null;
  gate: Gate;
  clock: Clock;
  key: Key;
  person: Person | null;
  automated: boolean;
  mirror: Mirror;
  notifications: Notifications;
  reconcile: Reconcile;
  /** The one that takes effect first before the others. */
  recoveries: Recovery[];
  theme: Theme;
  /** How many requests wait that this person may see. */
  waiting: string;
  window_title: string;
}

export type InboxView = "waiting" | "mine" | "decided";

export type InboxSort = "expires" | "newest";

export interface InboxQuery {
  view: InboxView;
  search: string;
  sort: InboxSort;
}

export type Effect = "read" | "write" | "money";

export type Reversibility = "reversible" | "compensable" | "irreversible";

export interface Flag {
  id: string;
  text: string;
}

export interface InboxRow {
  request: string;
  /** The request's state in the gate's words; one the page does not know is shown as it is. */
  state: string;
  effect: Effect;
  reversibility: Reversibility;
  /** The summary made from the row's template; null where the row has none. */
  headline: string | null;
  argument_count: string;
  tool: string;
  agent: string;
  on_behalf_of: string | null;
  flags: Flag[];
  /** Changes once a second under five minutes and once a minute above: "4:12", "22 min", "1 h 03". */
  expires_in_text: string;
  /** Under 60 seconds. */
  expires_soon: boolean;
  /** Time of day: "14:32". */
  expires_at_text: string;
  received_at_text: string;
  /** "0 of 1". */
  approvals_text: string;
  eligible: boolean;
  /** A whole sentence that says why this person cannot decide. */
  not_eligible_text: string | null;
  /** Who ended it and when: "approved by approver B 14:21"; null while it waits. */
  tombstone_text: string | null;
  /** The whole row in reading order, with the tombstone where it has ended. */
  accessible_name: string;
}

export interface InboxCounts {
  waiting: string;
  mine: string;
  decided: string;
}

/** What came since a list was opened, and is not on it. */
export interface FreshText {
  count: string;
  /** When the first of them expires: "4:12". */
  expires_in_text: string;
}

/** Rows of a list as they read now. */
export interface InboxPage {
  rows: InboxRow[];
  /** Null where the list has everything. */
  fresh: FreshText | null;
  counts: InboxCounts;
  /** Time of day with seconds: "14:28:03". */
  taken_at_text: string;
  /** Milliseconds for which these words stay true by the clock alone. */
  stays_ms: number;
}

/** An order of requests that stays as it is, with its first rows. */
export interface InboxList {
  list: string;
  /** Every request in it, in its order. */
  requests: string[];
  /** How many match, listed or not. */
  total: string;
  page: InboxPage;
}

export interface Settings {
  theme: Theme;
  notification_privacy: NotificationPrivacy;
  version: string;
  build: string;
}

export interface InboxChanged {
  waiting: string;
  added: string;
  /** A sentence for the live region, free of what the privacy level hides; empty where nothing is to be said. */
  announcement: string;
}

/** An operation whose outcome is in doubt. */
export interface DeskItem {
  operation: string;
  /** The request behind it; null for a write, which nobody approved. */
  request: string | null;
  /** "unknown" while the gate still tries, "needs_reconciliation" once only people can tell, else its final state. */
  state: string;
  reversibility: Reversibility;
  headline: string;
  tool: string;
  agent: string;
  /** A whole phrase: "unknown since 14:27 (18 min)". */
  since_text: string;
  age_text: string;
  /** For more than a day. */
  late: boolean;
  attempt_text: string;
  owner_text: string;
  opened_text: string | null;
  answers_text: string | null;
  conflict: boolean;
  eligible: boolean;
  not_eligible_text: string | null;
  accessible_name: string;
}

export interface DeskPage {
  items: DeskItem[];
  /** What people settled lately; a note can still be added. */
  settled: DeskItem[];
  count: string;
  /** "Last unknown outcome: 3 Nov 10:12."; null where there was none. */
  last_text: string | null;
  taken_at_text: string;
}

export interface DeskKnown {
  at_text: string;
  text: string;
}

export interface DeskAnswer {
  at_text: string;
  text: string;
  evidence: string[];
}

export interface DeskDetail {
  item: DeskItem;
  known: DeskKnown[];
  answers: DeskAnswer[];
  effects: string[];
  needs_text: string;
  can_ask: boolean;
  ask_note: string | null;
  can_answer: boolean;
  answer_note: string | null;
}

/** A refusal of the core: `id` is one of the stable error ids, `text` a sentence to be shown. */
export interface BackendError {
  id: string;
  text: string;
}
