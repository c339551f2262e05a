import type { InboxChanged } from "../../backend/types";
import { en } from "../../strings/en";

const quietMilliseconds = 10_000;

/** Speaks of new requests at most once in ten seconds; what comes in between is told together. */
export class News {
  readonly #say: (sentence: string) => void;
  #held: InboxChanged[] = [];
  #quiet: ReturnType<typeof setTimeout> | undefined;

  constructor(say: (sentence: string) => void) {
    this.#say = say;
  }

  hear(change: InboxChanged): void {
    if (change.announcement === "") return;
    this.#held.push(change);
    if (this.#quiet === undefined) this.#tell();
  }

  end(): void {
    clearTimeout(this.#quiet);
    this.#quiet = undefined;
    this.#held = [];
  }

  #tell(): void {
    const [first] = this.#held;
    const last = this.#held.at(-1);
    if (first === undefined || last === undefined) {
      this.#quiet = undefined;
      return;
    }
    this.#say(
      this.#held.length === 1
        ? first.announcement
        : en.inbox.announceMany(sum(this.#held.map((change) => change.added)), last.waiting),
    );
    this.#held = [];
    this.#quiet = setTimeout(() => {
      this.#tell();
    }, quietMilliseconds);
  }
}

/** Adds counts that cross as strings. */
function sum(counts: string[]): string {
  return counts.reduce((total, count) => total + BigInt(count.replace(/\D/g, "") || "0"), 0n).toString();
}
