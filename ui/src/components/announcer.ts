const spokenMax = 20;

/**
 * Speaks through a permanent `role="log"` element by inserting a new child for each sentence: a text changed in place is
 * missed by several screen readers.
 */
export class Announcer {
  #container: HTMLElement | null = null;

  attach(container: HTMLElement): () => void {
    this.#container = container;
    return () => {
      this.#container = null;
    };
  }

  /** Says a sentence and leaves it standing in the status line. */
  say(sentence: string): void {
    for (const line of this.#container?.children ?? []) line.classList.add("out-of-sight");
    this.#insert(sentence)?.classList.remove("out-of-sight");
  }

  /** Takes a sentence that is no longer true from the status line; it was spoken, and nothing is spoken now. */
  takeBack(sentence: string): void {
    for (const line of this.#container?.children ?? []) {
      if (line.textContent === sentence) line.classList.add("out-of-sight");
    }
  }

  /** Says what is written elsewhere on the screen already. */
  sayOnly(sentence: string): void {
    this.#insert(sentence);
  }

  #insert(sentence: string): HTMLElement | null {
    if (this.#container === null || sentence === "") return null;
    const line = document.createElement("p");
    line.className = "out-of-sight";
    line.textContent = sentence;
    this.#container.append(line);
    while (this.#container.childElementCount > spokenMax) this.#container.firstElementChild?.remove();
    return line;
  }
}
