import { SvelteMap } from "svelte/reactivity";

import type { Backend } from "../../backend/backend";
import type { BackendError, FreshText, InboxCounts, InboxPage, InboxQuery, InboxRow } from "../../backend/types";
import { en } from "../../strings/en";

/** After a failure the list is asked for again so soon. */
const retryMilliseconds = 1000;

/** The time beside "Up to date" moves on at most this often: a text that ticks would draw the eye for nothing. */
const stampMilliseconds = 10_000;

/** Rows that are asked for beyond each end of what is on the screen: a page key finds its rows there. */
const rowsAhead = 24;

/** Rows that are kept beside those on screen; older ones are asked for again. */
const rowsKept = 600;

/** What the core says of a list that it keeps no longer. */
const listGone = "E-REQ-11";

/**
 * The list on screen: an order that is the person's and stays, and the rows as the core last told them. The core is asked only
 * when something happened, when other rows come on the screen, and when a countdown on the screen reads otherwise.
 */
export class RequestList {
  query = $state.raw<InboxQuery>({ view: "waiting", search: "", sort: "expires" });
  requests = $state.raw<readonly string[]>([]);
  total = $state("0");
  counts = $state.raw<InboxCounts | null>(null);
  fresh = $state.raw<FreshText | null>(null);
  takenAt = $state("");
  /** When the core last answered, to the second. */
  heardAt = $state("");
  failure = $state.raw<BackendError | null>(null);
  /** A question for another view, search or order is on its way: the rows on screen answer the one before. */
  opening = $state(true);
  readonly rows = new SvelteMap<string, InboxRow>();

  readonly #backend: Backend;
  #list: string | null = null;
  /** Counts the lists that were asked for: an answer about an older one is thrown away. */
  #opened = 0;
  #first = 0;
  #last = 0;
  #asking = false;
  #askAgain = false;
  #stampedAt = -Infinity;
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
      this.#opened += 1;
      clearTimeout(this.#timer);
      document.removeEventListener("visibilitychange", seen);
      end();
    };
  }

  /** Opens a list: its answer sets a new order. */
  async open(query: InboxQuery): Promise<void> {
    this.query = query;
    this.opening = true;
    this.#opened += 1;
    const opened = this.#opened;
    clearTimeout(this.#timer);
    try {
      const list = await this.#backend.openInbox(query);
      if (opened !== this.#opened) return;
      this.#list = list.list;
      this.total = list.total;
      this.#stampedAt = -Infinity;
      this.requests = list.requests;
      this.opening = false;
      this.#take(list.page, []);
      this.#later(list.page.stays_ms);
      // The first rows came with the list; the person may look at others.
      if (this.#first > 0) await this.refresh();
    } catch (reason) {
      if (opened !== this.#opened) return;
      this.failure = reason as BackendError;
      this.#later(retryMilliseconds);
    }
  }

  /** Tells which rows are on the screen. */
  look(first: number, last: number): void {
    if (first === this.#first && last === this.#last) return;
    this.#first = first;
    this.#last = last;
    void this.refresh();
  }

  /** Asks how the rows on the screen read now: the answer moves nothing. */
  async refresh(): Promise<void> {
    if (this.#list === null || this.opening) {
      if (this.failure !== null) await this.open(this.query);
      return;
    }
    if (this.#asking) {
      this.#askAgain = true;
      return;
    }
    const opened = this.#opened;
    const asked = this.#near();
    this.#asking = true;
    this.#askAgain = false;
    clearTimeout(this.#timer);
    try {
      const page = await this.#backend.inboxPage(this.#list, asked);
      if (opened === this.#opened) {
        this.#take(page, asked);
        this.#later(page.stays_ms);
      }
    } catch (reason) {
      if (opened === this.#opened) await this.#failed(reason as BackendError);
    } finally {
      this.#asking = false;
    }
    await this.#catchUp();
  }

  /** What happened while an answer was under way is asked about once. */
  async #catchUp(): Promise<void> {
    if (this.#askAgain) await this.refresh();
  }

  async #failed(failure: BackendError): Promise<void> {
    if (failure.id === listGone) {
      await this.open(this.query);
      return;
    }
    this.failure = failure;
    this.#later(retryMilliseconds);
  }

  #take(page: InboxPage, asked: readonly string[]): void {
    this.failure = null;
    this.counts = page.counts;
    this.fresh = page.fresh;
    this.heardAt = page.taken_at_text;
    const told = page.rows.map((row) => row.request);
    for (const row of page.rows) this.rows.set(row.request, row);
    for (const request of asked) if (!told.includes(request)) this.#end(request);
    this.#forget();
    const now = performance.now();
    if (now - this.#stampedAt >= stampMilliseconds) {
      this.#stampedAt = now;
      this.takenAt = page.taken_at_text;
    }
  }

  /** A row that the core no longer tells has ended; how is not known here. */
  #end(request: string): void {
    const row = this.rows.get(request);
    if (row?.tombstone_text === null) this.rows.set(request, { ...row, tombstone_text: en.inbox.ended });
  }

  /** What is on the screen, and a little on both sides. */
  #near(): string[] {
    return this.requests.slice(Math.max(0, this.#first - rowsAhead), this.#last + 1 + rowsAhead);
  }

  #forget(): void {
    if (this.rows.size <= rowsKept) return;
    const near = this.#near();
    for (const request of [...this.rows.keys()]) if (!near.includes(request)) this.rows.delete(request);
  }

  #later(milliseconds: number): void {
    if (!this.#followed || document.visibilityState === "hidden") return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), milliseconds);
  }
}
