import type { Backend } from "../../backend/backend";
import type { BackendError, ConsoleState } from "../../backend/types";

const retryMilliseconds = 2000;

/** The state of gate, clock, key and copy as the core last told it. */
export class Console {
  state = $state.raw<ConsoleState | null>(null);
  failure = $state.raw<BackendError | null>(null);

  readonly #backend: Backend;
  #asked = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Follows the core until the returned function is called. */
  follow(): () => void {
    const end = this.#backend.onConsoleStateChanged(() => void this.ask());
    void this.ask();
    return () => {
      end();
      clearTimeout(this.#retry);
      this.#asked += 1;
    };
  }

  async ask(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    clearTimeout(this.#retry);
    try {
      const state = await this.#backend.consoleState();
      // Two questions may cross; only the answer to the later one is news.
      if (asked !== this.#asked) return;
      this.state = state;
      this.failure = null;
    } catch (reason) {
      if (asked !== this.#asked) return;
      this.failure = reason as BackendError;
      this.#retry = setTimeout(() => void this.ask(), retryMilliseconds);
    }
  }
}
