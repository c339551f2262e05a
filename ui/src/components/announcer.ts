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

  say(sentence: string): void {
    if (this.#container === null || sentence === "") return;
    const line = document.createElement("p");
    line.textContent = sentence;
    this.#container.append(line);
    while (this.#container.childElementCount > spokenMax) this.#container.firstElementChild?.remove();
  }
}
