import { fileURLToPath } from "node:url";

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The real main window with hostile code built into it, for a test. Nothing ships from here. */
export default defineConfig({
  root: here("../tests/hostile-ui"),
  plugins: [svelte({ configFile: here("svelte.config.js") })],
  base: "./",
  build: {
    outDir: here("../target/hostile-ui"),
    emptyOutDir: true,
    target: ["es2022", "safari16.4"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
