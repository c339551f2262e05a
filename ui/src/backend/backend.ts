import type {
  BackendError,
  ConsoleState,
  DeskDetail,
  DeskPage,
  InboxChanged,
  InboxList,
  InboxPage,
  InboxQuery,
  Settings,
} from "./types";

/** For how long nothing pops up; `resume` ends a pause. */
export type PauseLength = "half_hour" | "hour" | "until_tomorrow" | "resume";

/**
 * All that the main window can ask of the core. There is no command here that decides, signs or changes a request, and
 * none may be added: those live in the trusted windows, behind capabilities this page does not have.
 *
 * Every promise rejects with a `BackendError`.
 */
export interface Backend {
  consoleState(): Promise<ConsoleState>;
  /** Opens a list in the order of now, which stays until another is opened. */
  openInbox(query: InboxQuery): Promise<InboxList>;
  /** How rows of that list read now. */
  inboxPage(list: string, requests: readonly string[]): Promise<InboxPage>;
  openReview(request: string): Promise<void>;
  desk(): Promise<DeskPage>;
  /** Null once the core no longer knows it. */
  deskItem(operation: string): Promise<DeskDetail | null>;
  /** Whether something outside this page asked for the reconcile desk; told once. */
  deskWanted(): Promise<boolean>;
  /** Says that the person looks at an outcome, so that nobody is told of it again meanwhile. */
  outcomeOpened(operation: string): Promise<void>;
  /** Has the gate ask the provider; a sentence about its answer. */
  askProvider(operation: string): Promise<string>;
  openAnswer(operation: string): Promise<void>;
  openEnrolment(): Promise<void>;
  /** The window for keys; with `stop`, on its page that stops this computer's key. */
  openKeys(stop?: boolean): Promise<void>;
  settings(): Promise<Settings>;
  saveSettings(settings: Settings): Promise<void>;
  /** Pauses what pops up, or ends a pause. It decides nothing, and what waits is counted all the same. */
  pauseNotices(length: PauseLength): Promise<void>;
  /** Returns the function that ends the subscription. */
  onInboxChanged(listener: (change: InboxChanged) => void): () => void;
  onConsoleStateChanged(listener: () => void): () => void;
  onDeskWanted(listener: () => void): () => void;
}

function isBackendError(value: unknown): value is BackendError {
  return (
    typeof value === "object" &&
    value !== null &&
    "id" in value &&
    "text" in value &&
    typeof value.id === "string" &&
    typeof value.text === "string"
  );
}

/** A failure that carries no id of its own means that the core did not answer as agreed. */
export function backendError(value: unknown, coreSilent: string): BackendError {
  return isBackendError(value) ? value : { id: "E-UI-2", text: coreSilent };
}
