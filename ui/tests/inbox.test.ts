import { describe, expect, it } from "vitest";

import { enrolledState, FakeBackend } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import { en } from "../src/strings/en";
import { all, button, click, clock, draw, one, order, pass, press, row, text } from "./screen";

function company(): FakeBackend {
  return new FakeBackend(
    () => clock.seconds,
    [
      invented("a", { expires_s: 400, reversibility: "irreversible", headline: "Send a mail to sample@customer.example" }),
      invented("b", { expires_s: 1000 }),
      invented("c", { expires_s: 2000, headline: null, argument_count: "7", tool: "crm_set_status" }),
    ],
  );
}

async function drawn(backend = company()): Promise<FakeBackend> {
  await draw(backend);
  return backend;
}

describe("what a row says", () => {
  it("stands in three lines: chips, summary, who", async () => {
    await drawn();
    expect(text('[data-request="a"]')).toMatch(/IRREVERSIBLE MONEY Send a mail .* refund billing for Mira Beispiel/);
    expect(row("a").dataset["edge"]).toBe("irreversible");
    expect(row("b").dataset["edge"]).toBe("money");
    expect(text('[data-request="c"] [data-part="headline"]')).toBe("no summary template - open to read all 7 arguments");
  });

  it("says why this person cannot decide", async () => {
    const backend = company();
    backend.requests = [invented("x", { eligible: false, not_eligible_text: "It needs the role treasury." }), invented("y", { eligible: false })];
    await drawn(backend);
    expect(text('[data-request="x"]')).toContain("It needs the role treasury.");
    expect(text('[data-request="y"]')).toContain(en.inbox.notEligible);
  });

  it("shows what an agent or a payee wrote as text", async () => {
    const backend = company();
    backend.requests = [invented("x", { headline: '<img src=x onerror="x()"> <b>pay</b>', agent: "<a href=//x>y</a>" })];
    await drawn(backend);
    expect(row("x").querySelectorAll("img, b, a")).toHaveLength(0);
    expect(text('[data-request="x"] [data-part="headline"]')).toContain('<img src=x onerror="x()"> <b>pay</b>');
  });
});

describe("the list", () => {
  it("is a list of buttons that say their place and the whole row", async () => {
    await drawn();
    const items = all('[role="list"] [role="listitem"]');
    expect(items.map((item) => item.getAttribute("aria-posinset"))).toEqual(["1", "2", "3"]);
    expect(items.map((item) => item.getAttribute("aria-setsize"))).toEqual(["3", "3", "3"]);
    expect(row("b").tagName).toBe("BUTTON");
    expect(row("b").getAttribute("aria-label")).toContain("Refund EUR 89.90");
  });

  it("does not move when a request arrives, and counts it in the bar", async () => {
    const backend = await drawn();
    expect(text('[data-part="new-bar"]')).toContain("Up to date 14:27:0");
    backend.add(invented("first", { expires_s: 90 }));
    await pass(2);
    expect(order()).toEqual(["a", "b", "c"]);
    expect(text('[data-part="new-bar"]')).toContain("1 new request (first expires in 1:2");
  });

  it("shows new requests at their place on N, and on the button", async () => {
    const backend = await drawn();
    backend.add(invented("first", { expires_s: 90 }));
    await pass(1);
    await press("n");
    expect(order()).toEqual(["first", "a", "b", "c"]);
    backend.add(invented("last", { expires_s: 9000 }));
    await pass(1);
    await click(button(en.inbox.showNew));
    expect(order()).toEqual(["first", "a", "b", "c", "last"]);
    expect(text('[data-part="new-bar"]')).toContain("Up to date");
  });

  it("keeps the focus on the same request when the order changes", async () => {
    const backend = await drawn();
    row("b").focus();
    backend.add(invented("first", { expires_s: 90 }));
    await pass(1);
    await press("n");
    expect(document.activeElement).toBe(row("b"));
    expect(order().indexOf("b")).toBe(2);
  });

  it("leaves the focus near where it was when the focused row is taken away", async () => {
    const backend = await drawn();
    row("b").focus();
    backend.end("b", "denied", "denied by Bo Specimen 14:27");
    await pass(1);
    expect(document.activeElement).toBe(row("b"));
    await press("n");
    expect(order()).toEqual(["a", "c"]);
    expect(document.activeElement).toBe(row("c"));
  });

  it("turns what ended into a tombstone at its place until the next refresh", async () => {
    const backend = await drawn();
    backend.end("a", "approved", "approved by Bo Specimen 14:27");
    await pass(1);
    expect(order()).toEqual(["a", "b", "c"]);
    expect(text('[data-request="a"] [data-part="tombstone"]')).toBe("approved approved by Bo Specimen 14:27");
    expect(row("a").querySelector('[data-part="countdown"]')).toBeNull();
    expect(row("a").getAttribute("aria-label")).toMatch(/^approved by Bo Specimen 14:27\. .*Send a mail/);
    await press("n");
    expect(order()).toEqual(["b", "c"]);
  });

  it("says of a row that the core no longer lists that it ended, to the ear too", async () => {
    const backend = await drawn();
    backend.requests = backend.requests.filter(({ request }) => request !== "b");
    await pass(1);
    expect(order()).toEqual(["a", "b", "c"]);
    expect(text('[data-request="b"] [data-part="tombstone"]')).toBe(`ended ${en.inbox.ended}`);
    expect(row("b").getAttribute("aria-label")).toMatch(/^Ended: No longer waiting\./);
  });

  it.each([
    ["consumed", "approved"],
    ["revoked", "stopped"],
    ["stale", "no longer valid"],
    ["some_new_state", "some new state"],
  ])("names the state %s in a word", async (state, word) => {
    const backend = await drawn();
    backend.end("a", state, "x");
    await pass(1);
    expect(text('[data-request="a"] [data-part="tombstone"]')).toBe(`${word} x`);
  });

  it("counts down by the second under five minutes and by the minute above", async () => {
    await drawn();
    await pass(1);
    expect(text('[data-request="a"] [data-part="countdown"]')).toBe("6 min");
    const seen = new Set<string>();
    for (let second = 0; second < 20; second += 1) {
      await pass(1);
      seen.add(text('[data-request="b"] [data-part="countdown"]'));
    }
    expect(seen.size).toBeLessThanOrEqual(2);
    await pass(100);
    expect(text('[data-request="a"] [data-part="countdown"]')).toMatch(/^4:3\d$/);
  });

  it("adds the word soon under a minute", async () => {
    await drawn();
    expect(text('[data-request="a"]')).not.toContain(en.inbox.soon);
    await pass(345);
    expect(text('[data-request="a"]')).toContain(en.inbox.soon);
  });

  it("does not change the name of the focused row with the countdown", async () => {
    await drawn();
    row("a").focus();
    const name = row("a").getAttribute("aria-label");
    await pass(130);
    expect(row("a").getAttribute("aria-label")).toBe(name);
    row("b").focus();
    await pass(1);
    expect(row("a").getAttribute("aria-label")).not.toBe(name);
  });

  it("opens a request on click, Enter and O, once, and not again on the second click of two", async () => {
    const backend = await drawn();
    await click(row("b"));
    await click(row("b"), 2);
    expect(backend.opened).toEqual(["b"]);
    row("c").focus();
    await press("o");
    await press("o", { repeat: true });
    expect(backend.opened).toEqual(["b", "c"]);
    expect((await press("Enter", { repeat: true })).defaultPrevented).toBe(true);
    expect((await press("Enter")).defaultPrevented).toBe(false);
  });

  it("says in the status line why a request did not open", async () => {
    const backend = await drawn();
    backend.failing = { id: "E-REQ-11", text: "This request no longer exists at the gate." };
    await click(row("b"));
    expect(text('[data-part="log"]')).toContain("This request no longer exists at the gate.");
  });

  it("moves with J, K, Home and End, and returns to the row that had the focus", async () => {
    await drawn();
    await press("j");
    expect(document.activeElement).toBe(row("a"));
    await press("j");
    await press("ArrowDown");
    expect(document.activeElement).toBe(row("c"));
    await press("j");
    expect(document.activeElement).toBe(row("c"));
    await press("k");
    expect(document.activeElement).toBe(row("b"));
    await press("Home");
    expect(document.activeElement).toBe(row("a"));
    await press("End");
    expect(document.activeElement).toBe(row("c"));
    (document.activeElement as HTMLElement).blur();
    await press("k");
    expect(document.activeElement).toBe(row("c"));
  });

  it("ignores letters with a modifier, in a text field and while text is composed", async () => {
    const backend = await drawn();
    backend.add(invented("first", { expires_s: 90 }));
    await pass(1);
    await press("n", { ctrlKey: true });
    await press("n", { isComposing: true });
    one("input[type=search]").focus();
    await press("n");
    expect(order()).toEqual(["a", "b", "c"]);
  });
});

describe("search, view and order", () => {
  async function search(words: string): Promise<void> {
    const field = one("input[type=search]") as HTMLInputElement;
    field.value = words;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await pass(1);
  }

  it("focuses on /, asks for the words, and Esc clears first and leaves second", async () => {
    const backend = await drawn();
    await press("/");
    expect(document.activeElement).toBe(one("input[type=search]"));
    await search("crm");
    expect(order()).toEqual(["c"]);
    expect(backend.asked.at(-1)?.search).toBe("crm");
    await press("Escape");
    await pass(1);
    expect(order()).toEqual(["a", "b", "c"]);
    await press("Escape");
    expect(document.activeElement).toBe(row("a"));
  });

  it("says that nothing matches and offers to clear", async () => {
    await drawn();
    await search("zebra");
    expect(text('[data-part="empty"]')).toContain(en.inbox.noMatch);
    await click(all('[data-part="empty"] button')[0] as HTMLElement);
    await pass(1);
    expect(order()).toHaveLength(3);
  });

  it("asks for another view with the order that fits it", async () => {
    const backend = await drawn();
    backend.end("b", "denied", "denied by Bo Specimen 14:27");
    await click(button("Decided"));
    expect(backend.asked.at(-1)).toMatchObject({ view: "decided", sort: "newest" });
    expect(order()).toEqual(["b"]);
    await click(button("Mine"));
    expect(backend.asked.at(-1)).toMatchObject({ view: "mine", sort: "expires" });
    expect(button("Mine").getAttribute("aria-pressed")).toBe("true");
  });

  it("throws away the answer to a question that is no longer asked", async () => {
    const backend = company();
    const answers: (() => void)[] = [];
    const plain = backend.openInbox.bind(backend);
    await drawn(backend);
    backend.openInbox = async (query) => {
      const page = await plain(query);
      return new Promise((resolve) => {
        answers.push(() => {
          resolve(page);
        });
      });
    };
    await search("crm");
    const late = answers.splice(0);
    await search("refund");
    answers.forEach((answer) => {
      answer();
    });
    await pass(0);
    late.forEach((answer) => {
      answer();
    });
    await pass(0);
    expect(order()).toEqual(["a", "b"]);
  });
});

describe("emptiness and failure", () => {
  it("says that nothing waits and when it looked", async () => {
    await drawn(new FakeBackend(() => clock.seconds, []));
    expect(text('[data-part="empty"]')).toBe(`${en.inbox.empty} Last checked 14:27:00`);
  });

  it("promises no notification where none can be shown", async () => {
    await drawn(new FakeBackend(() => clock.seconds, [], { ...enrolledState, notifications: { available: false, error_id: "E-NOT-1" } }));
    expect(text('[data-part="empty"]')).toContain(en.inbox.emptyWithoutNotifications);
  });

  it("never says nothing waits while the gate is not heard", async () => {
    await drawn(new FakeBackend(() => clock.seconds, [], { ...enrolledState, gate: { state: "offline", since_text: "14:20", detail: "" } }));
    expect(text('[data-part="empty"]')).toContain(en.inbox.emptyOffline);
    expect(text('[data-part="new-bar"]')).toContain("Not up to date since 14:20");
  });

  it("marks every row with the time it was last heard of while the gate is not", async () => {
    const backend = await drawn();
    backend.become({ gate: { state: "offline", since_text: "14:20", detail: "" } });
    await pass(1);
    for (const request of ["a", "b", "c"]) expect(text(`[data-request="${request}"]`)).toContain("as of 14:20");
  });

  it("keeps the rows and says so when the core stops answering", async () => {
    const backend = await drawn();
    backend.failing = { id: "E-UI-2", text: en.errors.coreSilent };
    await pass(2);
    expect(order()).toEqual(["a", "b", "c"]);
    expect(text('[data-part="new-bar"]')).toContain("Not up to date since 14:27:0");
    backend.failing = null;
    await pass(2);
    expect(text('[data-part="new-bar"]')).toContain("Up to date");
  });

  it("says how many more there are when the list is too long", async () => {
    const backend = company();
    backend.listMax = 2;
    await drawn(backend);
    expect(text("section")).toContain("There are more, 3 in all.");
  });
});
