import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  base: "./",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    // WebKitGTK 2.40 and the WKWebView of macOS 13 are the oldest views that have to draw this.
    target: ["es2022", "safari16.4"],
    // The content security policy has no `data:`; an inlined picture would not be drawn.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  resolve: mode === "test" ? { conditions: ["browser"] } : {},
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    restoreMocks: true,
    // A busy computer is no reason to fail: axe-core reads every node of a page.
    testTimeout: 60_000,
  },
}));
