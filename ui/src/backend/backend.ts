import type {
  BackendError,
  ConsoleState,
  InboxChanged,
  InboxPage,
  InboxQuery,
  Settings,
} from "./types";

/**
 * All that the main window can ask of the core. There is no command here that decides, signs or changes a request, and
 * none may be added: those live in the trusted windows, behind capabilities this page does not have.
 *
 * Every promise rejects with a `BackendError`.
 */
export interface Backend {
  consoleState(): Promise<ConsoleState>;
  inbox(query: InboxQuery): Promise<InboxPage>;
  openReview(request: string): Promise<void>;
  openEnrolment(): Promise<void>;
  openKeys(): Promise<void>;
  settings(): Promise<Settings>;
  saveSettings(settings: Settings): Promise<void>;
  /** Returns the function that ends the subscription. */
  onInboxChanged(listener: (change: InboxChanged) => void): () => void;
  onConsoleStateChanged(listener: () => void): () => void;
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
