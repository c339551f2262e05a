/**
 * What the console's core sends to the main window, and nothing else. Made of the core's own types; a test of the core compares it
 * and, under `VIDIMUS_WRITE_TYPES=1`, writes it.
 *
 * Every amount, count, id, hash and time is a string made by the core: the page shows them and computes none of them.
 * A `..._text` is ready to be shown; one that names a duration or a time holds only that, the words around it come from the
 * catalogue.
 */

export type Environment = "live" | "test";

export type GateState = "connected" | "connecting" | "offline" | "refused" | "identity_changed" | "none";

export type ClockState = "ok" | "off";

export type KeyState = "none" | "waiting" | "active" | "rotation_due" | "rotating" | "stopped" | "removed" | "error";

export type MirrorState = "empty" | "verified" | "broken";

export type Theme = "system" | "light" | "dark";

/**
 * How much a notification says.
 */
export type NotificationPrivacy = "full" | "guarded" | "count";

export type Gate = { state: GateState, 
/**
 * Time of day at which this state began: "14:20".
 */
since_text: string, 
/**
 * A sentence about a refusal, else empty.
 */
detail: string, };

export type Clock = { state: ClockState, 
/**
 * "ok", or the difference in words: "42 s behind".
 */
text: string, };

export type Key = { state: KeyState, 
/**
 * The key's own name on this computer: "laptop-7".
 */
label: string, 
/**
 * A whole sentence when the key cannot sign, else empty.
 */
text: string, error_id: string | null, };

export type Person = { name: string, roles: Array<string>, };

export type Mirror = { state: MirrorState, 
/**
 * Number of records, grouped for reading.
 */
size: string, 
/**
 * A sentence when the copy is broken, else empty.
 */
text: string, error_id: string | null, };

export type Notifications = { available: boolean, error_id: string | null, };

export type Reconcile = { count: string, 
/**
 * Whether one of them waits for more than a day.
 */
late: boolean, };

/**
 * A recovery that runs, in words.
 */
export type Recovery = { 
/**
 * Its digest, which tells it from others.
 */
recovery: string, text: string, key_text: string, 
/**
 * What the person here can do.
 */
advice: string, };

export type ConsoleState = { environment: Environment | null, gate: Gate, clock: Clock, key: Key, person: Person | null, automated: boolean, mirror: Mirror, notifications: Notifications, 
/**
 * Null while notifications pop up.
 */
paused: Paused | null, 
/**
 * How many outcomes wait for people; nothing where none does.
 */
reconcile: Reconcile, 
/**
 * Recoveries that run, the one that takes effect first before the others.
 */
recoveries: Array<Recovery>, theme: Theme, 
/**
 * How many requests wait that this person may see.
 */
waiting: string, window_title: string, };

/**
 * Nothing pops up for now.
 */
export type Paused = { 
/**
 * "Notifications paused until 15:30", or what is said of the quiet hours.
 */
text: string, 
/**
 * What may expire before it ends; empty where nothing does.
 */
warning: string, 
/**
 * The person paused; else these are the quiet hours.
 */
chosen: boolean, };

/**
 * Hours of every day in which nothing pops up: "22:00" to "07:00".
 */
export type QuietHours = { from: string, until: string, };

/**
 * The settings that cross to the page, with what it says about itself.
 */
export type Settings = { theme: Theme, notification_privacy: NotificationPrivacy, quiet_hours: QuietHours | null, 
/**
 * Whether the console starts with the desktop, in the tray.
 */
autostart: boolean, version: string, build: string, };

export type InboxView = "waiting" | "mine" | "decided";

export type InboxSort = "expires" | "newest";

export type InboxQuery = { view: InboxView, search: string, sort: InboxSort, };

export type Effect = "read" | "write" | "money";

export type Reversibility = "reversible" | "compensable" | "irreversible";

export type Flag = { id: string, text: string, };

export type InboxRow = { request: string, 
/**
 * The request's state in the gate's words; one the page does not know is shown as it is.
 */
state: string, effect: Effect, reversibility: Reversibility, 
/**
 * The summary made from the row's template; null where the row has none.
 */
headline: string | null, argument_count: string, tool: string, agent: string, on_behalf_of: string | null, flags: Array<Flag>, 
/**
 * Changes once a second under five minutes and once a minute above.
 */
expires_in_text: string, 
/**
 * Under 60 seconds.
 */
expires_soon: boolean, 
/**
 * Time of day: "14:32".
 */
expires_at_text: string, received_at_text: string, 
/**
 * "0 of 1".
 */
approvals_text: string, eligible: boolean, 
/**
 * A whole sentence that says why this person cannot decide.
 */
not_eligible_text: string | null, 
/**
 * Who ended it and when: "approved by approver B 14:21"; null while it waits.
 */
tombstone_text: string | null, 
/**
 * The whole row in reading order, with the tombstone where it has ended.
 */
accessible_name: string, };

export type InboxCounts = { waiting: string, mine: string, decided: string, };

/**
 * What came since a list was opened, and is not on it.
 */
export type FreshText = { count: string, 
/**
 * When the first of them expires.
 */
expires_in_text: string, };

/**
 * Rows of a list as they read now, and what is to be said beside them.
 */
export type InboxPage = { rows: Array<InboxRow>, 
/**
 * Nothing where the list has everything.
 */
fresh: FreshText | null, counts: InboxCounts, 
/**
 * Time of day with seconds: "14:28:03".
 */
taken_at_text: string, 
/**
 * Milliseconds for which these words stay true by the clock alone.
 */
stays_ms: number, };

/**
 * An order of requests that stays as it is, with its first rows.
 */
export type InboxList = { list: string, 
/**
 * Every request in it, in its order.
 */
requests: Array<string>, 
/**
 * How many match, listed or not.
 */
total: string, page: InboxPage, };

/**
 * Sent when the list may have changed. No payee, no amount.
 */
export type InboxChanged = { waiting: string, added: string, 
/**
 * A sentence for the live region, free of what the privacy level hides; empty where nothing is to be said.
 */
announcement: string, };

export type DeskItem = { operation: string, 
/**
 * The request behind it; null for a write, which nobody approved.
 */
request: string | null, 
/**
 * "unknown" while the gate still tries, "needs_reconciliation" once only people can tell, else its final state.
 */
state: string, reversibility: Reversibility, headline: string, tool: string, agent: string, 
/**
 * A whole phrase: "unknown since 14:27 (18 min)".
 */
since_text: string, age_text: string, 
/**
 * For more than a day.
 */
late: boolean, attempt_text: string, owner_text: string, opened_text: string | null, answers_text: string | null, conflict: boolean, eligible: boolean, not_eligible_text: string | null, accessible_name: string, };

export type DeskPage = { items: Array<DeskItem>, 
/**
 * What people settled lately: a note can still be added.
 */
settled: Array<DeskItem>, 
/**
 * How many of them only people can settle.
 */
count: string, 
/**
 * When the last one was settled, in words; nothing where none ever was.
 */
last_text: string | null, taken_at_text: string, };

/**
 * One line of what is known.
 */
export type DeskKnown = { at_text: string, text: string, };

export type DeskAnswer = { at_text: string, text: string, evidence: Array<string>, };

export type DeskDetail = { item: DeskItem, known: Array<DeskKnown>, answers: Array<DeskAnswer>, effects: Array<string>, needs_text: string, can_ask: boolean, 
/**
 * Why the provider cannot be asked.
 */
ask_note: string | null, can_answer: boolean, 
/**
 * Why nothing can be answered now; also said where one's own answer stands.
 */
answer_note: string | null, };

/**
 * A refusal to be shown: what happened, what it means, what to do.
 */
export type BackendError = { id: string, text: string, };
