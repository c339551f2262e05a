import { describe, expect, it } from "vitest";

import { enrolledState, FakeBackend } from "../src/backend/fake";
import type { DeskDetail, DeskItem } from "../src/backend/types";
import { en } from "../src/strings/en";
import { all, button, click, clock, draw, one, pass, press, text } from "./screen";

function item(operation: string, change: Partial<DeskItem> = {}): DeskItem {
  return {
    operation,
    request: `request of ${operation}`,
    state: "needs_reconciliation",
    reversibility: "irreversible",
    headline: "Wire EUR 4,200.00 to payee_acme",
    tool: "wire_transfer",
    agent: "treasury",
    since_text: "unknown since 14:27 (18 min)",
    age_text: "18 min",
    late: false,
    attempt_text: "attempt 1",
    owner_text: "owner: treasury",
    opened_text: null,
    answers_text: null,
    conflict: false,
    eligible: true,
    not_eligible_text: null,
    accessible_name: `Wire EUR 4,200.00 to payee_acme, ${operation}`,
    ...change,
  };
}

function doubt(operation: string, change: Partial<DeskDetail> = {}, of: Partial<DeskItem> = {}): DeskDetail {
  return {
    item: item(operation, of),
    known: [
      { at_text: "14:27:33", text: "approved by Bo Specimen as treasury, recorded #4,182" },
      { at_text: "14:27:34", text: `sent, attempt 1, idempotency key ${operation}` },
      { at_text: "14:27:39", text: "no certain answer came: the connection was lost" },
    ],
    answers: [],
    effects: ['"It did not happen" lets the agent ask again. If wrong, it happens twice.'],
    needs_text: "Needs 2 different people with the role treasury.",
    can_ask: false,
    ask_note: "This tool's provider cannot be asked: its rule names no way.",
    can_answer: true,
    answer_note: null,
    ...change,
  };
}

async function drawn(outcomes: DeskDetail[]): Promise<FakeBackend> {
  const backend = new FakeBackend(() => clock.seconds, [], enrolledState);
  await draw(backend);
  backend.doubt(outcomes);
  await press("g");
  await press("r");
  await pass(1);
  return backend;
}

describe("the reconcile desk", () => {
  it("is empty in words, with when the last one was", async () => {
    const backend = await drawn([]);
    expect(text("h1")).toBe(en.reconcile.title);
    expect(text('[data-part="empty"]')).toBe(en.reconcile.empty);
    backend.lastOutcome = "Last unknown outcome: 3 Nov 10:12.";
    await pass(3);
    expect(text('[data-part="empty"]')).toContain("Last unknown outcome: 3 Nov 10:12.");
  });

  it("counts into the navigation, and says late in a word", async () => {
    const backend = await drawn([doubt("a"), doubt("b", {}, { late: true, since_text: "unknown since 28 Nov 09:12 (2 days)" })]);
    expect(one('nav [aria-current="page"]').getAttribute("aria-label")).toBe("Reconcile, 2 with an unknown outcome, late");
    expect(all("[data-operation]")).toHaveLength(2);
    expect(text('[data-operation="b"]')).toContain(en.reconcile.late);
    backend.doubt([doubt("a")]);
    await pass(3);
    expect(one('nav [aria-current="page"]').getAttribute("aria-label")).toBe("Reconcile, 1 with an unknown outcome");
  });

  it("tells the gate that somebody looks only when a person picks one", async () => {
    const backend = await drawn([doubt("a"), doubt("b")]);
    expect(backend.opened).toEqual([]);
    await press("j");
    await pass(1);
    expect(backend.opened).toEqual(["looked at a"]);
    expect(text('[data-part="known"]')).toContain("no certain answer came");
    await press("j");
    await pass(1);
    expect(backend.opened).toEqual(["looked at a", "looked at b"]);
  });

  it("opens the answer and the original in windows of their own, by key and by press", async () => {
    const backend = await drawn([doubt("a")]);
    await press("j");
    await pass(1);
    await press("a");
    await press("o");
    await click(one('[data-part="answer"]'));
    await click(button(en.reconcile.original));
    expect(backend.opened).toEqual(["looked at a", "answer a", "request of a", "answer a", "request of a"]);
  });

  it("has no retry and asks the provider only where it can be asked", async () => {
    const backend = await drawn([doubt("a"), doubt("b", { can_ask: true, ask_note: null })]);
    await press("j");
    await pass(1);
    expect(all("main button").some((control) => /retry|again/i.test(control.textContent))).toBe(false);
    await click(one('[data-part="ask"]'));
    expect(backend.opened).toEqual(["looked at a"]);
    await press("j");
    await pass(1);
    await click(one('[data-part="ask"]'));
    await pass(1);
    expect(backend.opened).toEqual(["looked at a", "looked at b", "asked about b"]);
    expect(text('[data-part="provider"]')).toContain("which proves nothing");
  });

  it("opens no answer for who may not give one, and says why", async () => {
    const note = "You cannot decide this: it needs the role treasury. You have: support-lead. (E-DEC-2)";
    const backend = await drawn([doubt("a", { can_answer: false, answer_note: note }, { eligible: false })]);
    await press("j");
    await pass(1);
    expect(text('[data-part="answer-note"]')).toContain("treasury");
    await press("a");
    await click(one('[data-part="answer"]'));
    expect(backend.opened).toEqual(["looked at a"]);
  });

  it("shows what people answered, with their evidence, and that they contradict each other", async () => {
    const answers = [
      { at_text: "15:02", text: "Bo Specimen as treasury answered: It happened", evidence: ["Provider reference: F99-22810"] },
      { at_text: "15:10", text: "Ada Example as treasury answered: It did not happen", evidence: ["the bank has no such payment"] },
    ];
    await drawn([doubt("a", { answers }, { conflict: true, answers_text: "1 of 2 say: It did not happen" })]);
    expect(text('[data-operation="a"]')).toContain(en.reconcile.conflict);
    await press("j");
    await pass(1);
    expect(text('[data-part="answers"]')).toContain("F99-22810");
    expect(text('[data-part="answers"]')).toContain("the bank has no such payment");
  });

  it("keeps what was settled lately, for a note, and counts it nowhere", async () => {
    const settled = doubt("a", {}, { state: "not_happened", since_text: "it did not happen, 15:20" });
    const backend = await drawn([settled, doubt("b")]);
    expect(one('nav [aria-current="page"]').getAttribute("aria-label")).toBe("Reconcile, 1 with an unknown outcome");
    expect(text('[data-operation="a"]')).toContain(en.reconcile.settledWord);
    await click(one('[data-operation="a"]'));
    await pass(1);
    expect(text('[data-part="answer"]')).toBe(en.reconcile.note);
    await click(one('[data-part="answer"]'));
    expect(backend.opened).toEqual(["looked at a", "answer a"]);
  });

  it("is what a notification leads to", async () => {
    const backend = new FakeBackend(() => clock.seconds, [], enrolledState);
    await draw(backend);
    backend.doubt([doubt("a")]);
    backend.want();
    await pass(1);
    expect(text("h1")).toContain(en.reconcile.title);
  });
});
