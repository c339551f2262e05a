import { afterEach, describe, expect, it, vi } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import { focusRow, target } from "../src/features/inbox/focus";
import { all, clock, draw, one, order, pass, press, row } from "./screen";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a key of the list", () => {
  it.each([
    ["j", 0, 1],
    ["arrowdown", 9, 9],
    ["k", 0, 0],
    ["arrowup", 5, 4],
    ["home", 7, 0],
    ["end", 0, 9],
    ["pagedown", 3, 7],
    ["pagedown", 8, 9],
    ["pageup", 3, 0],
    ["x", 3, null],
  ])("%s leads from %i to %s", (key, from, to) => {
    expect(target(key, from, 10, 4)).toBe(to);
  });
});

describe("a row that is not drawn yet", () => {
  it("gets the focus when it is shown, unless the person went elsewhere", async () => {
    const list = document.createElement("div");
    document.body.append(list);
    const wanted = { still: true };
    let brought = 0;
    const bring = (): void => {
      brought += 1;
    };
    focusRow(list, "a", bring, () => wanted.still);
    expect(brought).toBe(1);
    const late = document.createElement("button");
    late.dataset["request"] = "a";
    list.append(late);
    await vi.advanceTimersByTimeAsync(50);
    expect(document.activeElement).toBe(late);
    late.remove();
    focusRow(list, "a", bring, () => wanted.still);
    wanted.still = false;
    list.append(late);
    await vi.advanceTimersByTimeAsync(500);
    expect(document.activeElement).not.toBe(late);
  });
});

describe("a list of ten thousand", () => {
  const many = (): FakeBackend => {
    const requests = Array.from({ length: 10_000 }, (_, at) => invented(`r${at.toString().padStart(5, "0")}`, { expires_s: 1000 + at }));
    const backend = new FakeBackend(() => clock.seconds, requests);
    backend.listMax = 10_000;
    return backend;
  };

  it("draws what is on the screen, tells the size of the whole, and asks for the rows it draws", async () => {
    const backend = many();
    await draw(backend);
    await pass(1);
    expect(all("[data-request]").length).toBeLessThan(60);
    expect(one('[role="listitem"]').getAttribute("aria-setsize")).toBe("10000");
    expect(order()[0]).toBe("r00000");
    expect(row("r00000").getAttribute("aria-label")).toContain("Refund EUR 89.90");
    row("r00000").focus();
    await press("j");
    await press("j");
    expect(document.activeElement).toBe(row("r00002"));
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
