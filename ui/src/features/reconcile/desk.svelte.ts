import type { Backend } from "../../backend/backend";
import type { BackendError, DeskDetail, DeskPage } from "../../backend/types";

/** Ages are told in minutes; what the gate finds out comes with a change of state. */
const askMilliseconds = 2000;

/** What is in doubt, and what is known of the one that the person looks at. */
export class Desk {
  page = $state.raw<DeskPage | null>(null);
  detail = $state.raw<DeskDetail | null>(null);
  /** The operation that the person looks at; one that was settled meanwhile stays until another is picked. */
  picked = $state<string | null>(null);
  failure = $state.raw<BackendError | null>(null);

  readonly #backend: Backend;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followed = false;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Keeps the desk up to date until the returned function is called. A hidden window asks nothing. */
  follow(): () => void {
    this.#followed = true;
    const end = this.#backend.onConsoleStateChanged(() => void this.ask());
    const seen = (): void => {
      if (document.visibilityState === "visible") void this.ask();
      else clearTimeout(this.#timer);
    };
    document.addEventListener("visibilitychange", seen);
    void this.ask();
    return () => {
      this.#followed = false;
      this.#asked += 1;
      clearTimeout(this.#timer);
      document.removeEventListener("visibilitychange", seen);
      end();
    };
  }

  async pick(operation: string): Promise<void> {
    if (this.picked === operation) return;
    this.picked = operation;
    this.detail = null;
    // Told of again, if this is not heard: the lesser harm.
    this.#backend.outcomeOpened(operation).catch(() => undefined);
    await this.ask();
  }

  async ask(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    clearTimeout(this.#timer);
    try {
      const [page, detail] = await Promise.all([
        this.#backend.desk(),
        this.picked === null ? null : this.#backend.deskItem(this.picked),
      ]);
      if (asked !== this.#asked) return;
      this.page = page;
      this.detail = detail;
      this.failure = null;
    } catch (reason) {
      if (asked !== this.#asked) return;
      this.failure = reason as BackendError;
    }
    if (this.#followed && document.visibilityState !== "hidden") this.#timer = setTimeout(() => void this.ask(), askMilliseconds);
  }
}
