import { describe, expect, it } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import { clock, draw, one, pass } from "./screen";

const sentences = (): string[] => [...one('[role="log"]').children].map((child) => child.textContent);

async function drawn(): Promise<FakeBackend> {
  const backend = new FakeBackend(() => clock.seconds, [invented("a")]);
  await draw(backend);
  return backend;
}

describe("the live region", () => {
  it("is one permanent element that grows by nodes and changes none", async () => {
    const backend = await drawn();
    const log = one('[role="log"]');
    backend.add(invented("b"));
    await pass(1);
    const first = log.firstElementChild;
    await pass(11);
    backend.add(invented("c"));
    await pass(1);
    expect(one('[role="log"]')).toBe(log);
    expect(log.firstElementChild).toBe(first);
    expect(sentences()).toEqual([
      "1 new request: money, compensable. 2 waiting.",
      "1 new request: money, compensable. 3 waiting.",
    ]);
  });

  it("speaks at most once in ten seconds and tells a burst together", async () => {
    const backend = await drawn();
    for (const request of ["b", "c", "d", "e"]) backend.add(invented(request));
    await pass(1);
    expect(sentences()).toEqual(["1 new request: money, compensable. 2 waiting."]);
    await pass(10);
    expect(sentences()[1]).toBe("3 new requests. 5 waiting.");
    await pass(30);
    expect(sentences()).toHaveLength(2);
  });

  it("leaves no number in the status line that is no longer true", async () => {
    const backend = await drawn();
    const shown = (): string[] => [...one('[role="log"]').children].filter((line) => !line.classList.contains("out-of-sight")).map((line) => line.textContent);
    backend.add(invented("b"));
    await pass(1);
    expect(shown()).toEqual(["1 new request: money, compensable. 2 waiting."]);
    backend.add(invented("c"));
    backend.add(invented("d"));
    await pass(1);
    expect(shown()).toEqual([]);
    await pass(10);
    expect(shown()).toEqual(["2 new requests. 4 waiting."]);
    backend.end("b", "denied", "denied by Bo Specimen 14:27");
    await pass(1);
    expect(shown()).toEqual([]);
    expect(sentences()).toHaveLength(2);
  });

  it("never speaks of a countdown or of a request that ended", async () => {
    const backend = await drawn();
    backend.end("a", "denied", "denied by Bo Specimen 14:27");
    await pass(120);
    expect(sentences()).toEqual([]);
  });

  it("says a notice once, when it comes", async () => {
    const backend = await drawn();
    backend.become({ gate: { state: "offline", since_text: "14:20", detail: "" } });
    await pass(5);
    expect(sentences()).toHaveLength(1);
    expect(sentences()[0]).toContain("No connection to the gate since 14:20.");
  });
});
