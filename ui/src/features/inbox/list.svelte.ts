import type { Backend } from "../../backend/backend";
import type { BackendError, InboxPage, InboxQuery, InboxRow } from "../../backend/types";
import { adopt, fresh, merge } from "./order";

/** The countdown of a request under five minutes changes once a second; the core decides which texts change. */
const askMilliseconds = 1000;

/** The time beside "Up to date" moves on with every tenth answer: a text that ticks would draw the eye for nothing. */
const answersPerStamp = 10;

/** The list on screen and the core's latest list beside it. */
export class RequestList {
  query = $state.raw<InboxQuery>({ view: "waiting", search: "", sort: "expires" });
  rows = $state.raw<readonly InboxRow[]>([]);
  page = $state.raw<InboxPage | null>(null);
  takenAt = $state("");
  failure = $state.raw<BackendError | null>(null);
  /** A question for another view, search or order is on its way: the rows on screen answer the one before. */
  opening = $state(true);

  readonly fresh = $derived(this.page === null ? [] : fresh(this.rows, this.page, this.query.view));

  readonly #backend: Backend;
  #asked = 0;
  #answers = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #followed = false;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** Keeps the rows up to date until the returned function is called. A hidden window asks nothing. */
  follow(): () => void {
    this.#followed = true;
    const end = this.#backend.onInboxChanged(() => void this.refresh());
    const seen = (): void => {
      if (document.visibilityState === "visible") void this.refresh();
      else clearTimeout(this.#timer);
    };
    document.addEventListener("visibilitychange", seen);
    void this.open(this.query);
    return () => {
      this.#followed = false;
      this.#asked += 1;
      clearTimeout(this.#timer);
      document.removeEventListener("visibilitychange", seen);
      end();
    };
  }

  /** Asks for another list: its answer sets a new order. */
  async open(query: InboxQuery): Promise<void> {
    this.query = query;
    this.opening = true;
    await this.#ask();
  }

  /** Asks for the same list: its answer moves nothing. */
  async refresh(): Promise<void> {
    await this.#ask();
  }

  /** Takes what the core last sent as the order on screen. */
  showNew(): void {
    if (this.page === null || this.opening) return;
    this.rows = adopt(this.page, this.query.view);
    this.takenAt = this.page.taken_at_text;
  }

  async #ask(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    clearTimeout(this.#timer);
    try {
      const page = await this.#backend.inbox(this.query);
      if (asked !== this.#asked) return;
      this.#take(page);
    } catch (reason) {
      if (asked !== this.#asked) return;
      this.failure = reason as BackendError;
    }
    this.#later();
  }

  #take(page: InboxPage): void {
    this.failure = null;
    this.page = page;
    if (this.opening) {
      this.opening = false;
      this.#answers = 0;
      this.rows = adopt(page, this.query.view);
    } else {
      this.rows = merge(this.rows, page);
    }
    if (this.#answers % answersPerStamp === 0) this.takenAt = page.taken_at_text;
    this.#answers += 1;
  }

  #later(): void {
    if (!this.#followed || document.visibilityState === "hidden") return;
    this.#timer = setTimeout(() => void this.#ask(), askMilliseconds);
  }
}
