import { describe, expect, it } from "vitest";

import { enrolledState, FakeBackend, notEnrolledState } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import type { ConsoleState, Recovery } from "../src/backend/types";
import { en } from "../src/strings/en";
import { all, button, click, clock, draw, one, pass, press, row, text } from "./screen";

async function drawn(change: Partial<ConsoleState> = {}): Promise<FakeBackend> {
  const backend = new FakeBackend(() => clock.seconds, [invented("a"), invented("b")], { ...enrolledState, ...change });
  await draw(backend);
  return backend;
}

describe("the top bar", () => {
  it.each([
    ["live", "LIVE"],
    ["test", "TEST"],
  ] as const)("says %s in a word", async (environment, word) => {
    await drawn({ environment });
    expect(text('[data-part="environment"]')).toBe(`Environment ${word}`);
  });

  it.each<[Partial<ConsoleState>, string, string]>([
    [{}, "gate", "Gate connected 10:41:07"],
    [{ gate: { state: "connecting", since_text: "", detail: "" } }, "gate", "Gate connecting"],
    [{ gate: { state: "offline", since_text: "14:20", detail: "" } }, "gate", "Gate offline since 14:20"],
    [{ gate: { state: "refused", since_text: "14:20", detail: "x" } }, "gate", "Gate refused 14:20"],
    [{ gate: { state: "identity_changed", since_text: "14:20", detail: "" } }, "gate", "Gate certificate changed 14:20"],
    [{ clock: { state: "off", text: "42 s behind" } }, "clock", "Clock off, 42 s behind"],
    [{}, "key", "Key laptop-7 (active)"],
    [{ key: { state: "stopped", label: "laptop-7", text: "", error_id: null } }, "key", "Key laptop-7 (stopped)"],
    [{ key: { state: "rotating", label: "laptop-7", text: "", error_id: null } }, "key", "Key laptop-7 (rotating, old valid until confirmed)"],
    [{ key: { state: "rotation_due", label: "laptop-7", text: "", error_id: null } }, "key", "Key laptop-7 (active, rotation due)"],
    [{ key: { state: "waiting", label: "laptop-7", text: "", error_id: null } }, "key", "Key laptop-7 (waiting for confirmation)"],
  ])("reads %o as words", async (change, part, words) => {
    await drawn(change);
    expect(text(`[data-part="${part}"]`)).toBe(words);
  });

  it("says AUTOMATED when a driver may be at the controls, and only then", async () => {
    const backend = await drawn();
    expect(all('[data-part="automated"]')).toHaveLength(0);
    backend.become({ automated: true });
    await pass(0);
    expect(text('[data-part="automated"]')).toBe("AUTOMATED");
  });

  it("takes the window's title and the colours from the core", async () => {
    const backend = await drawn({ theme: "dark" });
    expect(document.title).toBe("TEST - 7 waiting - Vidimus");
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    backend.become({ theme: "system", window_title: "TEST - 8 waiting - Vidimus" });
    await pass(0);
    expect(document.title).toBe("TEST - 8 waiting - Vidimus");
    expect(document.documentElement.dataset["theme"]).toBeUndefined();
  });
});

describe("notices", () => {
  it.each<[Partial<ConsoleState>, string, string]>([
    [{ gate: { state: "offline", since_text: "14:20", detail: "" } }, "E-NET-1", en.errors.offline("14:20")],
    [{ gate: { state: "refused", since_text: "", detail: "The gate knows no such key." } }, "E-NET-1", "The gate knows no such key."],
    [{ gate: { state: "refused", since_text: "", detail: "" } }, "E-NET-1", en.errors.refused],
    [{ gate: { state: "identity_changed", since_text: "", detail: "" } }, "E-NET-4", en.errors.identityChanged],
    [{ clock: { state: "off", text: "42 s behind" } }, "E-CLK-1", en.errors.clock("42 s behind")],
    [{ key: { state: "waiting", label: "x", text: "", error_id: null } }, "E-KEY-6", en.errors.keyWaiting],
    [{ key: { state: "stopped", label: "x", text: "", error_id: null } }, "E-KEY-5", en.errors.keyStopped],
    [{ key: { state: "rotation_due", label: "x", text: "Your key is to be renewed within 2 days.", error_id: "E-KEY-7" } }, "E-KEY-7", "Your key is to be renewed within 2 days."],
    [{ key: { state: "rotating", label: "x", text: "No connection to the gate.", error_id: "E-NET-1" } }, "E-NET-1", "No connection to the gate."],
    [{ key: { state: "error", label: "x", text: "No system keyring is running.", error_id: "E-KEY-1" } }, "E-KEY-1", "No system keyring is running."],
    [{ key: { state: "removed", label: "x", text: "You were taken off.", error_id: "E-KEY-10" } }, "E-KEY-10", "You were taken off."],
    [{ key: { state: "removed", label: "x", text: "", error_id: null } }, "E-KEY-10", en.errors.keyRemoved],
    [{ mirror: { state: "broken", size: "9", text: "", error_id: "E-AUD-1" } }, "E-AUD-1", en.errors.auditBroken],
    [{ mirror: { state: "broken", size: "9", text: "The disk is full.", error_id: "E-AUD-3" } }, "E-AUD-3", "The disk is full."],
    [{ notifications: { available: false, error_id: "E-NOT-2" } }, "E-NOT-2", en.errors.notifications],
  ])("%o gives %s", async (change, id, sentence) => {
    await drawn(change);
    expect(text(`[data-error="${id}"] .sentence`)).toBe(sentence);
    expect(text(`[data-error="${id}"]`)).toContain(id);
  });

  it.each(["stopped", "removed"] as const)("say once why a gate refuses a key that is %s", async (state) => {
    await drawn({
      gate: { state: "refused", since_text: "14:20", detail: "The same in other words." },
      key: { state, label: "x", text: "It counts for nothing.", error_id: null },
    });
    expect(all('[data-part="notice"]')).toHaveLength(1);
    expect(text('[data-part="notice"]')).toContain("It counts for nothing.");
  });

  it("tell every recovery that runs, with its key and what can be done, and lead to the keys", async () => {
    const running = (recovery: string, name: string): Recovery => ({
      recovery,
      text: `A recovery runs: ${name} comes in.`,
      key_text: `Key that would sign decisions: ${recovery}`,
      advice: "If you do not know of it, object in Keys before then.",
    });
    const backend = await drawn();
    backend.become({ recoveries: [running("3f9a1c07", "Kim Example"), running("5be2d4a1", "Lou Example")] });
    await pass(0);
    const told = all('[data-error="E-KEY-11"]').map((notice) => notice.textContent.replace(/\s+/g, " ").trim());
    expect(told).toHaveLength(2);
    for (const part of ["Kim Example", "3f9a1c07", "object in Keys"]) expect(told[0]).toContain(part);
    expect(told[1]).toContain("Lou Example");
    expect(text('[data-part="log"]')).toContain("A recovery runs");
    await click(one('[data-error="E-KEY-11"] button'));
    expect(backend.opened).toEqual(["keys"]);
    backend.become({ recoveries: [] });
    await pass(0);
    expect(all('[data-error="E-KEY-11"]')).toHaveLength(0);
  });

  it("are none when all is well, and stand after the content", async () => {
    const backend = await drawn();
    expect(all('[data-part="notice"]')).toHaveLength(0);
    backend.become({ clock: { state: "off", text: "42 s behind" } });
    await pass(0);
    const place = one("main").compareDocumentPosition(one('[data-part="notice"]'));
    expect(place & Node.DOCUMENT_POSITION_FOLLOWING).toBeTruthy();
  });

  it("tell a core that does not answer, and go when it does", async () => {
    const backend = new FakeBackend(() => clock.seconds);
    backend.failing = { id: "E-UI-2", text: en.errors.coreSilent };
    await draw(backend);
    expect(text('[data-error="E-UI-2"]')).toContain(en.errors.coreSilent);
    backend.failing = null;
    await pass(3);
    expect(all('[data-part="notice"]')).toHaveLength(0);
    expect(all("[data-request]").length).toBeGreaterThan(0);
  });
});

describe("navigation", () => {
  it("has entries for the screens that exist, with the number that waits", async () => {
    const backend = await drawn();
    expect(all("nav li").map((entry) => entry.textContent.replace(/\s+/g, " ").trim())).toEqual(["Inbox 2", "Reconcile", "Settings"]);
    backend.add(invented("c"));
    await pass(1);
    expect(one('nav [aria-current="page"]').getAttribute("aria-label")).toBe("Inbox, 3 waiting");
  });

  it("goes by G and a letter, and Esc returns", async () => {
    await drawn();
    await press("g");
    await press("s");
    expect(text("h1")).toBe("Settings");
    expect(document.activeElement).toBe(one("h1"));
    await press("Escape");
    expect(text("h1")).toBe("Requests");
  });

  it("keeps the letter after G from the list", async () => {
    const backend = await drawn();
    backend.add(invented("c", { expires_s: 1 }));
    await pass(1);
    await press("g");
    await press("n");
    expect(all("[data-request]")).toHaveLength(2);
  });

  it("orders the list anew after leaving and returning", async () => {
    const backend = await drawn();
    backend.add(invented("c", { expires_s: 30 }));
    await pass(1);
    await click(button("Settings"));
    await click(button("Inbox"));
    await pass(1);
    expect(all("[data-request]").map((entry) => entry.dataset["request"])).toEqual(["c", "a", "b"]);
  });

  it("steps through the panes with F6, both ways", async () => {
    await drawn();
    row("a").focus();
    await press("F6");
    expect(document.activeElement).toBe(one("footer"));
    await press("F6");
    expect(document.activeElement).toBe(one("nav"));
    await press("F6", { shiftKey: true });
    expect(document.activeElement).toBe(one("footer"));
  });

  it("lists the keys on ?, and no key reaches the list behind it", async () => {
    await drawn();
    await press("?");
    expect(one("dialog").hasAttribute("open")).toBe(true);
    await press("j");
    expect(document.activeElement).not.toBe(row("a"));
    await click(button("Close"));
    expect(one("dialog").hasAttribute("open")).toBe(false);
  });
});

describe("a computer that is not enrolled", () => {
  it("shows how it is done and opens the trusted window", async () => {
    const backend = new FakeBackend(() => clock.seconds, [], notEnrolledState);
    await draw(backend);
    expect(text("h1")).toBe(en.enrolment.title);
    await click(one('[data-part="open-enrolment"]'));
    expect(backend.opened).toEqual(["enrolment"]);
    expect(backend.asked).toEqual([]);
    expect(all("main input, main textarea")).toHaveLength(0);
  });

  it("turns into the inbox when the key is there", async () => {
    const backend = new FakeBackend(() => clock.seconds, [invented("a")], notEnrolledState);
    await draw(backend);
    backend.become(enrolledState);
    await pass(1);
    expect(row("a")).toBeTruthy();
  });
});
