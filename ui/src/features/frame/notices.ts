import type { BackendError, ConsoleState } from "../../backend/types";
import { en } from "../../strings/en";

export interface Notice {
  /** The stable id of the error, or of what is announced. */
  id: string;
  tone: "bad" | "warning";
  text: string;
  /** Tells it from another notice of the same id. */
  of?: string;
  /** What stands below the sentence. */
  details?: string[];
  /** The trusted window in which something can be done about it. */
  opens?: "keys";
}

function gateNotice({ gate, key }: ConsoleState): Notice | null {
  // Why the gate refuses is the key's notice then, with whom to ask.
  if (gate.state === "refused" && (key.state === "stopped" || key.state === "removed")) return null;
  switch (gate.state) {
    case "offline":
      return { id: "E-NET-1", tone: "bad", text: en.errors.offline(gate.since_text) };
    case "refused":
      return { id: "E-NET-1", tone: "bad", text: gate.detail || en.errors.refused };
    case "identity_changed":
      return { id: "E-NET-4", tone: "bad", text: en.errors.identityChanged };
    case "connected":
    case "connecting":
    case "none":
      return null;
  }
}

function keyNotice({ key }: ConsoleState): Notice | null {
  switch (key.state) {
    case "waiting":
      return { id: key.error_id ?? "E-KEY-6", tone: "warning", text: key.text || en.errors.keyWaiting };
    case "stopped":
      return { id: key.error_id ?? "E-KEY-5", tone: "bad", text: key.text || en.errors.keyStopped };
    case "removed":
      return { id: key.error_id ?? "E-KEY-10", tone: "bad", text: key.text || en.errors.keyRemoved };
    case "error":
      return { id: key.error_id ?? "E-KEY-1", tone: "bad", text: key.text || en.errors.key };
    case "none":
      return key.error_id === null ? null : { id: key.error_id, tone: "bad", text: key.text || en.errors.key };
    case "rotation_due":
      return { id: key.error_id ?? "E-KEY-7", tone: "warning", text: key.text || en.errors.keyRenewal };
    case "rotating":
      return key.error_id === null ? null : { id: key.error_id, tone: "warning", text: key.text || en.errors.key };
    case "active":
      return null;
  }
}

function mirrorNotice({ mirror }: ConsoleState): Notice | null {
  return mirror.state === "broken"
    ? { id: mirror.error_id ?? "E-AUD-1", of: "log", tone: "bad", text: mirror.text || en.errors.auditBroken }
    : null;
}

function clockNotice({ clock }: ConsoleState): Notice | null {
  return clock.state === "off" ? { id: "E-CLK-1", tone: "warning", text: en.errors.clock(clock.text) } : null;
}

function notificationNotice({ notifications }: ConsoleState): Notice | null {
  return notifications.available
    ? null
    : { id: notifications.error_id ?? "E-NOT-1", tone: "warning", text: en.errors.notifications };
}

function recoveryNotices({ recoveries }: ConsoleState): Notice[] {
  return recoveries.map(({ recovery, text, key_text, advice }) => ({
    id: "E-KEY-11",
    tone: "warning",
    text,
    of: recovery,
    details: [key_text, advice],
    opens: "keys",
  }));
}

/** What the person has to know before trusting this window, worst first. */
export function notices(state: ConsoleState | null, failure: BackendError | null): Notice[] {
  const found: (Notice | null)[] = [];
  if (failure !== null) found.push({ id: failure.id, tone: "bad", text: failure.text });
  if (state !== null) {
    found.push(
      mirrorNotice(state),
      gateNotice(state),
      keyNotice(state),
      ...recoveryNotices(state),
      clockNotice(state),
      notificationNotice(state),
    );
  }
  return found.filter((notice) => notice !== null);
}
