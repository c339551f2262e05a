import type { Backend } from "../../backend/backend";

/** How many requests wait, for the navigation: known on every screen, not only beside the list. */
export class Waiting {
  count = $state<string | null>(null);

  readonly #backend: Backend;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  follow(): () => void {
    let ended = false;
    const end = this.#backend.onInboxChanged(({ waiting }) => {
      this.count = waiting;
    });
    // The first count is asked for once; a failure shows no number rather than a wrong one.
    this.#backend.inbox({ view: "waiting", search: "", sort: "expires" }).then(
      (page) => {
        if (!ended) this.count ??= page.counts.waiting;
      },
      () => undefined,
    );
    return () => {
      ended = true;
      end();
    };
  }
}
