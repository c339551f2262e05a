import axe from "axe-core";
import { afterEach, describe, expect, it, vi } from "vitest";

import { enrolledState, FakeBackend, notEnrolledState } from "../src/backend/fake";
import { inventedRows } from "../src/backend/fake-requests";
import type { ConsoleState } from "../src/backend/types";
import { clock, draw, one, pass, press } from "./screen";

/** Nothing is laid out here: colours are measured from the tokens, sizes looked at in the real window. */
const options: axe.RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: { "color-contrast": { enabled: false }, "target-size": { enabled: false } },
};

async function violations(): Promise<string[]> {
  vi.useRealTimers();
  document.documentElement.lang = "en";
  const { violations: found, passes } = await axe.run(document, options);
  expect(passes.length).toBeGreaterThan(10);
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

const troubled: ConsoleState = {
  ...enrolledState,
  automated: true,
  gate: { state: "offline", since_text: "14:20", detail: "" },
  clock: { state: "off", text: "42 s behind" },
  key: { state: "waiting", label: "laptop-7", text: "", error_id: null },
  mirror: { state: "broken", size: "4,182", text: "", error_id: "E-AUD-1" },
  notifications: { available: false, error_id: null },
  recoveries: ["a", "b"].map((recovery) => ({
    recovery,
    text: "A recovery runs: Kim Example comes in with the roles admin at tomorrow 14:27, unless an administrator objects.",
    key_text: `Key that would sign decisions: ${recovery}`,
    advice: "If you do not know of it, object in Keys before then.",
  })),
};

afterEach(() => {
  vi.useFakeTimers();
});

describe("axe finds nothing", () => {
  it.each([
    ["in the inbox", enrolledState],
    ["in the inbox with everything wrong", troubled],
    ["where the computer is not enrolled", notEnrolledState],
  ])("%s", async (_name, state) => {
    await draw(new FakeBackend(() => clock.seconds, inventedRows(), state));
    expect(await violations()).toEqual([]);
  });

  it("in the empty inbox", async () => {
    await draw(new FakeBackend(() => clock.seconds, []));
    expect(await violations()).toEqual([]);
  });

  it("beside a tombstone and news", async () => {
    const backend = new FakeBackend(() => clock.seconds);
    await draw(backend);
    backend.end("01JD8V4B2X", "denied", "denied by Bo Specimen 14:27");
    await pass(1);
    expect(await violations()).toEqual([]);
  });

  it("at the reconcile desk", async () => {
    const backend = new FakeBackend(() => clock.seconds);
    await draw(backend);
    await press("g");
    await press("r");
    expect(await violations()).toEqual([]);
  });

  it("in the settings", async () => {
    await draw(new FakeBackend(() => clock.seconds));
    await press("g");
    await press("s");
    expect(one("h1").textContent).toBe("Settings");
    expect(await violations()).toEqual([]);
  });

  it("in the list of keys", async () => {
    await draw(new FakeBackend(() => clock.seconds));
    await press("?");
    expect(one("dialog").hasAttribute("open")).toBe(true);
    expect(await violations()).toEqual([]);
  });
});
