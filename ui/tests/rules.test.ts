import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ESLint } from "eslint";
import { beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..");

/** The import rules are the architecture; each is shown to bite. */
describe("the rules of this folder", () => {
  let eslint: ESLint;

  beforeAll(() => {
    eslint = new ESLint({ cwd: root, overrideConfig: { languageOptions: { parserOptions: { projectService: false } } }, ruleFilter: ({ ruleId }) => /^no-restricted/.test(ruleId) });
  });

  async function complaints(file: string, code: string): Promise<number> {
    const [result] = await eslint.lintText(code, { filePath: join(root, file) });
    expect(result?.messages.filter((message) => message.fatal)).toEqual([]);
    return result?.messages.length ?? 0;
  }

  it.each([
    ["src/features/inbox/order.ts", 'import { invoke } from "@tauri-apps/api/core"; invoke("x");', 1],
    ["src/components/keys.ts", 'import "@tauri-apps/api/event";', 1],
    ["src/backend/tauri.ts", 'import "@tauri-apps/api/event";', 0],
    ["src/features/inbox/order.ts", 'import "../settings/readings";', 1],
    ["src/features/inbox/order.ts", 'import "../../features/settings/readings";', 1],
    ["src/features/inbox/order.ts", 'import "../../components/keys"; import "./news";', 0],
    ["src/components/keys.ts", 'import "../features/inbox/order";', 1],
    ["src/backend/backend.ts", 'import "../features/inbox/order";', 1],
    ["src/features/inbox/order.ts", "new Date();", 1],
    ["src/features/inbox/order.ts", 'void fetch("https://sample.example");', 1],
  ])("%s: %s has %i complaints", async (file, code, count) => {
    expect(await complaints(file, code)).toBe(count);
  });
});

describe("the lock file", () => {
  it("names no download address", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(lock).not.toContain('"resolved"');
    expect(lock).toContain('"integrity"');
  });
});
