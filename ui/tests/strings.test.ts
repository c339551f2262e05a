import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { parse, type AST } from "svelte/compiler";
import { describe, expect, it } from "vitest";

import { en } from "../src/strings/en";

const source = join(import.meta.dirname, "../src");
const components = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".svelte"));
const sources = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => /\.(svelte|ts)$/.test(file));

const spoken = new Set(["aria-label", "title", "placeholder", "alt", "aria-description", "label"]);

type Node = { type: string; name?: string; data?: string } & Record<string, unknown>;

/** Words that stand in a template, or in an attribute that is read out. */
function words(node: unknown, found: string[] = []): string[] {
  if (Array.isArray(node)) {
    for (const entry of node) words(entry, found);
  } else if (typeof node === "object" && node !== null && "type" in node) {
    const entry = node as Node;
    if (entry.type === "Text" && /\p{L}/u.test(entry.data ?? "")) found.push(entry.data ?? "");
    if (entry.type === "Attribute" && !spoken.has(entry.name ?? "")) return found;
    for (const value of Object.values(entry)) words(value, found);
  }
  return found;
}

/** Every sentence of the catalogue; a function is asked with a stand-in. */
function sentences(value: unknown, path: string): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  if (typeof value === "function") return [[path, (value as (...parts: string[]) => string)("2", "2")]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, entry]) => sentences(entry, `${path}.${key}`));
}

describe("the catalogue", () => {
  it.each(components)("holds every word of %s", (file) => {
    const tree: AST.Root = parse(readFileSync(join(source, file), "utf8"), { modern: true });
    expect(words(tree.fragment)).toEqual([]);
  });

  it("finds a word that is written into a component", () => {
    expect(words(parse('<p>{x}</p><b aria-label="Close" class="y">Now</b>', { modern: true }).fragment)).toEqual(["Close", "Now"]);
  });

  it("has no empty and no unfinished sentence", () => {
    const all = sentences(en, "en");
    expect(all.length).toBeGreaterThan(100);
    for (const [path, sentence] of all) {
      expect(sentence.trim(), path).not.toBe("");
      expect(sentence, path).not.toMatch(/undefined|\bTODO\b|\bOops\b|\.\.\.|…/);
    }
  });

  it("has no sentence that nothing uses", () => {
    const code = sources
      .filter((file) => !file.endsWith("en.ts"))
      .map((file) => readFileSync(join(source, file), "utf8"))
      .join("\n");
    const unused = Object.entries(en)
      .filter(([, entries]) => typeof entries === "object")
      .flatMap(([group, entries]) => Object.keys(entries).map((key) => `en.${group}.${key}`))
      // The two words of the environment are picked by its name.
      .filter((path) => !path.startsWith("en.environment.") && !code.includes(path));
    expect(unused).toEqual([]);
  });
});
