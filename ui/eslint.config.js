import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";

import svelteConfig from "./svelte.config.js";

const tauriOnlyThere = {
  group: ["@tauri-apps/*"],
  message: "only src/backend/tauri.ts meets Tauri; everything else uses the Backend interface",
};

/** Features are siblings in `src/features`: one step up and down again is another feature. */
const noOtherFeature = {
  regex: "^\\.\\./(?!\\.\\./)|/features/",
  message: "a feature imports no other feature; what two need belongs into components, what joins them into App.svelte",
};

const noFeatures = {
  regex: "features/",
  message: "this tier lies below the features and must not know them",
};

const restrict = (...patterns) => ({ "no-restricted-imports": ["error", { patterns }] });

export default ts.config(
  { ignores: ["dist/", "node_modules/"] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...svelte.configs.recommended,
  {
    languageOptions: {
      globals: { ...globals.browser, ...globals.node },
      parserOptions: { projectService: true, extraFileExtensions: [".svelte"] },
    },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", 70],
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "no-restricted-globals": [
        "error",
        { name: "Date", message: "the core makes every time and its text; no time is read or computed here" },
        { name: "fetch", message: "the page asks the core and nothing else" },
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: "the core makes every time" },
        { property: "innerHTML", message: "text nodes only" },
      ],
      "svelte/no-at-html-tags": "error",
      "svelte/no-inline-styles": ["error", { allowTransitions: false }],
      ...restrict(tauriOnlyThere),
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
    rules: {
      // The rules of types do not see through the compiler's own types for snippets and attachments.
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-confusing-void-expression": "off",
      "prefer-const": "off",
    },
  },
  { files: ["src/features/**"], rules: restrict(tauriOnlyThere, noOtherFeature) },
  { files: ["src/components/**", "src/backend/**", "src/strings/**"], rules: restrict(tauriOnlyThere, noFeatures) },
  { files: ["src/backend/tauri.ts"], rules: restrict(noFeatures) },
  {
    files: ["tests/**"],
    rules: {
      "max-lines-per-function": "off",
      "no-restricted-imports": "off",
    },
  },
  { files: ["*.config.ts", "*.config.js"], extends: [ts.configs.disableTypeChecked] },
);
