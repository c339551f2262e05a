import type { InboxChanged } from "../../backend/types";
import type { Announcer } from "../../components/announcer";
import { en } from "../../strings/en";

const quietMilliseconds = 10_000;

/**
 * Speaks of new requests at most once in ten seconds; what comes in between is told together. A sentence whose number is no longer
 * true does not stay in the status line.
 */
export class News {
  readonly #announcer: Pick<Announcer, "say" | "takeBack">;
  #said: { sentence: string; waiting: string } | null = null;
  #held: InboxChanged[] = [];
  #quiet: ReturnType<typeof setTimeout> | undefined;

  constructor(announcer: Pick<Announcer, "say" | "takeBack">) {
    this.#announcer = announcer;
  }

  hear(change: InboxChanged): void {
    if (this.#said !== null && this.#said.waiting !== change.waiting) {
      this.#announcer.takeBack(this.#said.sentence);
      this.#said = null;
    }
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
    const sentence =
      this.#held.length === 1
        ? first.announcement
        : en.inbox.announceMany(sum(this.#held.map((change) => change.added)), last.waiting);
    this.#announcer.say(sentence);
    this.#said = { sentence, waiting: last.waiting };
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
