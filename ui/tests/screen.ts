import { flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, vi } from "vitest";

import App from "../src/App.svelte";
import { FakeBackend } from "../src/backend/fake";

/** Nothing is laid out here: every row is so high, and what scrolls shows so much. */
const layout = { row: 84, view: 840 };

/** Tells each element that is observed its size, as an engine does after the first layout. */
class InventedResizeObserver implements ResizeObserver {
  readonly #tell: ResizeObserverCallback;

  constructor(tell: ResizeObserverCallback) {
    this.#tell = tell;
  }

  observe(element: Element): void {
    queueMicrotask(() => {
      const height = element.classList.contains("scroller") || element.hasAttribute("data-page") ? layout.view : layout.row;
      const entry = { target: element, contentRect: new DOMRect(0, 0, 1000, height) } as unknown as ResizeObserverEntry;
      this.#tell([entry], this);
    });
  }

  unobserve(): void {
    // Sizes do not change here.
  }

  disconnect(): void {
    // Sizes do not change here.
  }
}

let mounted: Record<string, unknown> | null = null;

/** The invented clock, moved by hand. */
export const clock = { seconds: 0 };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("ResizeObserver", InventedResizeObserver);
  Object.defineProperty(HTMLElement.prototype, "offsetParent", { configurable: true, get: () => document.body });
  clock.seconds = 0;
});

afterEach(async () => {
  if (mounted !== null) await unmount(mounted);
  mounted = null;
  document.body.replaceChildren();
  document.head.querySelectorAll("style").forEach((style) => {
    style.remove();
  });
  delete document.documentElement.dataset["theme"];
  vi.useRealTimers();
});

/** Lets timers and promises run for some time, and draws. */
export async function pass(seconds: number): Promise<void> {
  for (let step = 0; step < Math.max(1, seconds); step += 1) {
    clock.seconds += Math.min(1, seconds);
    await vi.advanceTimersByTimeAsync(Math.min(1, seconds) * 1000);
    flushSync();
  }
}

export async function draw(backend: FakeBackend): Promise<void> {
  const target = document.createElement("div");
  document.body.append(target);
  mounted = mount(App, { target, props: { backend } });
  flushSync();
  await pass(0);
}

export function one(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`nothing on the screen matches ${selector}`);
  return found;
}

export function all(selector: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(selector)];
}

export function text(selector: string): string {
  return one(selector).textContent.replace(/\s+/g, " ").trim();
}

/** The requests on screen, in their order. */
export function order(): string[] {
  return all("[data-request]").map((row) => row.dataset["request"] ?? "");
}

export function row(request: string): HTMLElement {
  return one(`[data-request="${request}"]`);
}

export function button(name: string): HTMLElement {
  const found = all("button").find((entry) => (entry.getAttribute("aria-label") ?? entry.textContent).includes(name));
  if (found === undefined) throw new Error(`no button is named ${name}`);
  return found;
}

/** Presses a key where the focus is. */
export async function press(key: string, change: KeyboardEventInit = {}): Promise<KeyboardEvent> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...change });
  (document.activeElement ?? document.body).dispatchEvent(event);
  flushSync();
  await pass(0);
  return event;
}

export async function click(element: HTMLElement, detail = 1): Promise<void> {
  element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, detail }));
  flushSync();
  await pass(0);
}
