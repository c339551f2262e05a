import { describe, expect, it } from "vitest";

import { FakeBackend } from "../src/backend/fake";
import { en } from "../src/strings/en";
import { all, button, clock, click, draw, one, pass, press, text } from "./screen";

async function drawn(): Promise<FakeBackend> {
  const backend = new FakeBackend(() => clock.seconds);
  await draw(backend);
  await press("g");
  await press("s");
  return backend;
}

const choice = (value: string): HTMLInputElement => one(`input[value="${value}"]`) as HTMLInputElement;

async function choose(value: string): Promise<void> {
  choice(value).checked = true;
  choice(value).dispatchEvent(new Event("change", { bubbles: true }));
  await press("Shift");
}

describe("settings", () => {
  it("applies colours at once and keeps them", async () => {
    const backend = await drawn();
    expect(choice("system").checked).toBe(true);
    await choose("dark");
    expect(backend.kept.theme).toBe("dark");
    expect(document.documentElement.dataset["theme"]).toBe("dark");
    expect(text('[data-part="log"]')).toBe(en.settings.saved);
  });

  it("keeps what a notification may show, and the rest as it was", async () => {
    const backend = await drawn();
    await choose("count");
    expect(backend.kept).toMatchObject({ notification_privacy: "count", theme: "system" });
  });

  it("shows what the core holds when a change was not taken", async () => {
    const backend = await drawn();
    backend.saveSettings = () => {
      backend.failing = { id: "E-UI-2", text: "The settings file cannot be written." };
      const refused = backend.openKeys();
      backend.failing = null;
      return refused;
    };
    await choose("light");
    expect(choice("system").checked).toBe(true);
    expect(choice("light").checked).toBe(false);
    expect(text('[data-part="log"]')).toContain("The settings file cannot be written.");
  });

  it("shows nothing that the settings would push down when they come", async () => {
    const backend = new FakeBackend(() => clock.seconds);
    const settings = await backend.settings();
    let come: () => void = () => undefined;
    backend.settings = () => new Promise((resolve) => { come = () => { resolve(settings); }; });
    await draw(backend);
    await press("g");
    await press("s");
    expect(all('[data-part="open-keys"]')).toHaveLength(0);
    come();
    await press("Shift");
    expect(all('[data-part="open-keys"]')).toHaveLength(1);
  });

  it("pauses for a while, says until when and what may expire, and resumes", async () => {
    const backend = await drawn();
    const part = '[data-part="pause-settings"]';
    expect(text(part)).toContain(en.settings.pauseText);
    await click(button(en.settings.pauses.hour));
    const sentence = "Notifications paused until 15:27. 2 irreversible requests may expire while paused.";
    expect(text(part)).toContain(sentence);
    expect(text('nav [data-part="pause"]')).toContain(sentence);
    expect(text('[data-part="log"]')).toBe(sentence);
    await click(button(en.frame.resume));
    expect(backend.state.paused).toBeNull();
    expect(text('[data-part="log"] > :last-child')).toBe(en.frame.resumed);
  });

  it("pauses by Ctrl+Shift+P from anywhere, also while text is typed, and not again while the key is held", async () => {
    const backend = await drawn();
    const keys = { ctrlKey: true, shiftKey: true };
    await press("P", keys);
    expect(backend.state.paused?.text).toContain("14:57");
    await press("P", { ...keys, repeat: true });
    expect(backend.state.paused).not.toBeNull();
    await press("Escape");
    one("input[type=search]").focus();
    await press("P", keys);
    expect(backend.state.paused).toBeNull();
  });

  it("keeps quiet hours and whether it starts with the desktop, each when the core has taken it", async () => {
    const backend = await drawn();
    const check = async (part: string): Promise<void> => {
      one(`[data-part="${part}"] input`).click();
      await pass(0);
    };
    expect(all('[data-part="quiet-hours"] select')).toHaveLength(0);
    await check("quiet-hours");
    expect(backend.kept.quiet_hours).toEqual({ from: "22:00", until: "07:00" });
    const until = all('[data-part="quiet-hours"] select')[1] as HTMLSelectElement;
    until.value = "06:00";
    until.dispatchEvent(new Event("change", { bubbles: true }));
    await pass(0);
    expect(backend.kept.quiet_hours).toEqual({ from: "22:00", until: "06:00" });
    await check("autostart");
    expect(backend.kept.autostart).toBe(true);
    backend.saveSettings = () => {
      backend.failing = { id: "E-AUD-3", text: "It cannot be written." };
      const refused = backend.openKeys();
      backend.failing = null;
      return refused;
    };
    await check("autostart");
    expect((one('[data-part="autostart"] input') as HTMLInputElement).checked).toBe(true);
    expect(text('[data-part="log"] > :last-child')).toBe("It cannot be written.");
  });

  it("opens the keys in their own window", async () => {
    const backend = await drawn();
    await click(one('[data-part="open-keys"]'));
    expect(backend.opened).toEqual(["keys"]);
  });

  it("leads to the stop of this computer's key in one press, as long as the key counts", async () => {
    const backend = await drawn();
    await click(one('[data-part="open-stop"]'));
    expect(backend.opened).toEqual(["keys to stop"]);
    backend.become({ key: { state: "stopped", label: "laptop-7", text: "", error_id: null } });
    await pass(0);
    expect(all('[data-part="open-stop"]')).toHaveLength(0);
  });

  it("tells version, build and the state of this console", async () => {
    await drawn();
    const words = text(".page");
    for (const part of ["0.1.0", "3f9a1c07", "Ada Example (support-lead, billing-approver)", "verified (4,182 records)", "connected 10:41:07"]) {
      expect(words).toContain(part);
    }
  });
});
