import { afterEach, describe, expect, it, vi } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import { keepingFocus } from "../src/features/inbox/focus";
import { clock, draw, pass, row } from "./screen";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A list whose rows are 84 pixels high, laid out by their order: happy-dom lays nothing out itself. */
function list(...requests: string[]): HTMLElement {
  const element = document.createElement("div");
  for (const request of requests) element.append(rowOf(element, request));
  document.body.append(element);
  return element;
}

function rowOf(parent: HTMLElement, request: string): HTMLElement {
  const element = document.createElement("button");
  element.dataset["request"] = request;
  element.getBoundingClientRect = () =>
    new DOMRect(0, [...parent.children].indexOf(element) * 84 - parent.scrollTop, 100, 84);
  return element;
}

function focused(): string | undefined {
  return (document.activeElement as HTMLElement | null)?.dataset["request"];
}

function within(parent: HTMLElement, request: string): HTMLElement {
  const found = parent.querySelector<HTMLElement>(`[data-request="${request}"]`);
  if (found === null) throw new Error(`no row ${request}`);
  return found;
}

describe("a change of order", () => {
  it("leaves the focused request focused and at the same height on the screen", () => {
    const parent = list("a", "b", "c", "d");
    parent.scrollTop = 100;
    within(parent, "b").focus();
    const top = within(parent, "b").getBoundingClientRect().top;
    keepingFocus(parent, parent, () => {
      // A node that is moved loses its focus in every engine.
      within(parent, "b").blur();
      parent.prepend(rowOf(parent, "x"), rowOf(parent, "y"));
    });
    expect(focused()).toBe("b");
    expect(parent.scrollTop).toBe(100 + 2 * 84);
    expect(within(parent, "b").getBoundingClientRect().top).toBe(top);
  });

  it.each([
    ["b", "c"],
    ["d", "c"],
  ])("that takes %s away gives the focus to %s", (gone, next) => {
    const parent = list("a", "b", "c", "d");
    within(parent, gone).focus();
    keepingFocus(parent, parent, () => {
      within(parent, gone).remove();
    });
    expect(focused()).toBe(next);
  });

  it("takes no focus when the list has none", () => {
    const parent = list("a", "b");
    keepingFocus(parent, parent, () => {
      parent.prepend(rowOf(parent, "x"));
    });
    expect(focused()).toBeUndefined();
    expect(parent.scrollTop).toBe(0);
  });
});

it("a row that ends keeps its height, so that nothing below it moves", async () => {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(104);
  const backend = new FakeBackend(() => clock.seconds, [invented("a"), invented("b")]);
  await draw(backend);
  expect(row("a").style.minBlockSize).toBe("");
  backend.end("a", "denied", "denied by Bo Specimen 14:27");
  await pass(1);
  expect(row("a").style.minBlockSize).toBe("104px");
  expect(row("b").style.minBlockSize).toBe("");
});
