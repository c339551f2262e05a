import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { mockIPC, clearMocks } from "@tauri-apps/api/mocks";
import { afterEach, describe, expect, it } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { tauri } from "../src/backend/tauri";
import { en } from "../src/strings/en";
import { all, clock, draw, press, row } from "./screen";

afterEach(() => {
  clearMocks();
});

/** Everything this window may ask for. */
const commands = [
  "console_state",
  "inbox_open",
  "inbox_page",
  "open_review",
  "desk",
  "desk_item",
  "desk_wanted",
  "outcome_opened",
  "ask_provider",
  "open_answer",
  "open_enrolment",
  "open_keys",
  "settings",
  "save_settings",
  "pause_notices",
];

describe("the main window decides nothing", () => {
  it("has no control that approves, denies or selects several", async () => {
    await draw(new FakeBackend(() => clock.seconds));
    for (const key of ["", "g r", "g s"]) {
      for (const part of key.split(" ").filter((entry) => entry !== "")) await press(part);
      const names = all("button, a, input, select, [role=button]").map(
        (control) => `${control.getAttribute("aria-label") ?? ""} ${control.textContent}`,
      );
      // The rows tell how many approvals there are, and one view lists what is decided.
      const own = names.filter((name) => !/approvals|^ Decided \d+$/.test(name.replace(/\s+/g, " ").trimEnd()));
      expect(own.length).toBeGreaterThan(5);
      for (const name of own) expect(name).not.toMatch(/approve|deny|decide|sign|confirm|retry|select all/i);
      // What is checked is a setting, never a request.
      const checked = all("input[type=checkbox]").filter((box) => box.closest('[data-part="quiet-hours"], [data-part="autostart"]') === null);
      expect(checked).toHaveLength(0);
    }
  });

  it("does nothing on the keys that decide elsewhere", async () => {
    const backend = new FakeBackend(() => clock.seconds);
    await draw(backend);
    row("01JD8V41ZM").focus();
    for (const key of ["a", "d", "e", "y", "1", " "]) await press(key);
    await press("Enter", { ctrlKey: true });
    expect(backend.opened).toEqual([]);
  });

  it("asks the core for nothing but its own commands", async () => {
    const asked: [string, unknown][] = [];
    mockIPC((command, parameters) => {
      asked.push([command, parameters]);
      return null;
    });
    const query = { view: "waiting", search: "x", sort: "expires" } as const;
    const settings = { theme: "dark", notification_privacy: "count", quiet_hours: null, autostart: false, version: "1", build: "2" } as const;
    await tauri.consoleState();
    await tauri.openInbox(query);
    await tauri.inboxPage("7", ["r"]);
    await tauri.openReview("r");
    await tauri.desk();
    await tauri.deskItem("o");
    await tauri.deskWanted();
    await tauri.outcomeOpened("o");
    await tauri.askProvider("o");
    await tauri.openAnswer("o");
    await tauri.openEnrolment();
    await tauri.openKeys();
    await tauri.settings();
    await tauri.saveSettings(settings);
    await tauri.pauseNotices("hour");
    expect(asked.map(([command]) => command)).toEqual(commands);
    expect(asked[1]?.[1]).toEqual({ query });
    expect(asked[2]?.[1]).toEqual({ list: "7", requests: ["r"] });
    expect(asked[3]?.[1]).toEqual({ request: "r" });
    expect(asked[9]?.[1]).toEqual({ operation: "o" });
    expect(asked[11]?.[1]).toEqual({ stop: false });
    expect(asked[13]?.[1]).toEqual({ settings });
  });

  it("passes a refusal on as it is, and names a silent core", async () => {
    mockIPC((command) => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw command === "open_review" ? { id: "E-REQ-11", text: "gone" } : "command not allowed";
    });
    await expect(tauri.openReview("r")).rejects.toEqual({ id: "E-REQ-11", text: "gone" });
    await expect(tauri.openInbox({ view: "mine", search: "", sort: "newest" })).rejects.toEqual({
      id: "E-UI-2",
      text: en.errors.coreSilent,
    });
  });
});

describe("the source", () => {
  const source = join(import.meta.dirname, "../src");
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => /\.(svelte|ts)$/.test(file));

  it("meets Tauri in one file", () => {
    const meeting = files.filter((file) => readFileSync(join(source, file), "utf8").includes("@tauri-apps/"));
    expect(meeting).toEqual(["backend/tauri.ts"]);
  });

  it.each(["{@html", "innerHTML", "eval(", "fetch(", "XMLHttpRequest", "WebSocket", "localStorage", "document.write"])(
    "has no %s",
    (word) => {
      for (const file of files) expect(readFileSync(join(source, file), "utf8"), file).not.toContain(word);
    },
  );
});
