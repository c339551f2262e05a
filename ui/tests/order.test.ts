import { describe, expect, it } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { invented } from "../src/backend/fake-requests";
import type { InboxPage, InboxRow } from "../src/backend/types";
import { adopt, fresh, isPartial, merge } from "../src/features/inbox/order";
import { en } from "../src/strings/en";

async function page(...requests: Parameters<typeof invented>[]): Promise<InboxPage> {
  const fake = new FakeBackend(() => 0, requests.map((entry) => invented(...entry)));
  return fake.inbox({ view: "waiting", search: "", sort: "expires" });
}

const names = (rows: readonly InboxRow[]): string[] => rows.map((row) => row.request);

describe("the order on screen", () => {
  it("is the core's when it is taken", async () => {
    const told = await page(["late", { expires_s: 900 }], ["soon", { expires_s: 60 }]);
    expect(names(adopt(told, "waiting"))).toEqual(["soon", "late"]);
  });

  it("stays when a row with an earlier expiry arrives and another changes its own", async () => {
    const shown = adopt(await page(["a", { expires_s: 100 }], ["b", { expires_s: 200 }]), "waiting");
    const told = await page(["a", { expires_s: 800 }], ["b", { expires_s: 200 }], ["c", { expires_s: 50 }]);
    const merged = merge(shown, told);
    expect(names(merged)).toEqual(["a", "b"]);
    expect(merged[0]?.expires_in_text).toBe("13 min");
    expect(names(fresh(merged, told, "waiting"))).toEqual(["c"]);
  });

  it("keeps what ended at its place, and says who ended it", async () => {
    const shown = adopt(await page(["a"], ["b"]), "waiting");
    const told = await page(["a", { state: "denied", ended: "denied by Bo Specimen 14:21" }], ["b"]);
    const merged = merge(shown, told);
    expect(names(merged)).toEqual(["a", "b"]);
    expect(merged[0]?.tombstone_text).toBe("denied by Bo Specimen 14:21");
    expect(fresh(merged, told, "waiting")).toEqual([]);
  });

  it("leaves out what ended when it is taken anew, and counts none of it as new", async () => {
    const told = await page(["a", { ended: "expired 14:21" }], ["b"]);
    expect(names(adopt(told, "waiting"))).toEqual(["b"]);
    expect(names(fresh([], told, "waiting"))).toEqual(["b"]);
    expect(names(adopt(told, "decided"))).toContain("a");
  });

  it("says of a row that the core lists no more that it ended, never how", async () => {
    const merged = merge(adopt(await page(["a"], ["b"]), "waiting"), await page(["b"]));
    expect(merged[0]?.tombstone_text).toBe(en.inbox.ended);
    expect(merged[0]?.state).toBe("pending");
  });

  it("does not call a row ended that was only pushed off a full page", async () => {
    const shown = adopt(await page(["a"], ["b"]), "waiting");
    const told = { ...(await page(["b"])), total: "1,204" };
    const merged = merge(shown, told);
    expect(merged[0]?.tombstone_text).toBeNull();
    expect(merged[0]?.expires_in_text).toBe("");
  });

  it("takes a row back that the core lists again", async () => {
    const shown = adopt(await page(["a"]), "waiting");
    const gone = merge(shown, await page(["b"]));
    expect(merge(gone, await page(["a"], ["b"]))[0]?.tombstone_text).toBeNull();
  });

  it.each([
    ["0", 0, false],
    ["2", 2, false],
    ["1", 2, false],
    ["3", 2, true],
    ["1,204", 2, true],
  ])("a total of %s beside %i rows is partial: %s", async (total, count, partial) => {
    const rows = (await page(["a"], ["b"])).rows.slice(0, count);
    expect(isPartial({ ...(await page()), rows, total })).toBe(partial);
  });
});
