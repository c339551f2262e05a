import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, it } from "vitest";

const source = join(import.meta.dirname, "../src");
const base = readFileSync(join(source, "tokens/base.css"), "utf8");

type Scheme = "light" | "dark";

function tokens(scheme: Scheme): Map<string, string> {
  const found = [...base.matchAll(/--base-([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)];
  return new Map(found.map(([, name, light, dark]) => [name ?? "", (scheme === "light" ? light : dark) ?? ""]));
}

/** Relative luminance as WCAG 2 defines it. */
function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function ratio(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const backgrounds = ["canvas", "surface", "raised"];
const classes = ["read", "write", "money", "irreversible"];
const states = ["good", "bad", "warning", "unknown", "ended"];

/** Text needs 4.5:1; what a control or a state is known by needs 3:1. */
const pairs: [string, string, number][] = [
  ...backgrounds.flatMap((ground): [string, string, number][] => [
    ["ink", ground, 4.5],
    ["ink-2", ground, 4.5],
    ["control", ground, 3],
    ["focus", ground, 3],
  ]),
  ...[...classes, ...states].map((name): [string, string, number] => [`${name}-fg`, `${name}-bg`, 4.5]),
  ...classes.map((name): [string, string, number] => [`${name}-edge`, "surface", 3]),
  // On a plain ground: without tints under `prefers-contrast: more`, in the top bar, in the tombstone.
  ...["read", "write", "money", ...states].map((name): [string, string, number] => [`${name}-fg`, "surface", 4.5]),
  ["control", "ended-bg", 3],
  ["focus", "ended-bg", 3],
  ["focus", "write-bg", 3],
  // The strong button is drawn in reverse.
  ["canvas", "ink", 4.5],
  ["canvas", "ink-2", 4.5],
];

describe.each(["light", "dark"] as const)("the %s colours", (scheme) => {
  const values = tokens(scheme);

  it("are all read by this test", () => {
    expect(values.size).toBe([...base.matchAll(/--base-[\w-]+:/g)].length);
    expect(values.size).toBeGreaterThan(30);
  });

  it.each(pairs)("%s on %s has at least %d:1", (front, ground, least) => {
    expect(ratio(values.get(front) ?? "", values.get(ground) ?? "")).toBeGreaterThanOrEqual(least);
  });
});

it("measures as the design's table does", () => {
  expect(ratio("#14181f", "#ffffff")).toBeCloseTo(17.79, 1);
  expect(ratio("#7e8a9b", "#161a21")).toBeCloseTo(4.98, 1);
});

it("no component names a colour itself", () => {
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".svelte"));
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const style = /<style>([\s\S]*)<\/style>/.exec(readFileSync(join(source, file), "utf8"))?.[1] ?? "";
    expect(style, file).not.toMatch(/#[0-9a-f]{3,8}\b|hsl|oklch|var\(--base-/i);
  }
});
