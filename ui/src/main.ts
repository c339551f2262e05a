import { mount } from "svelte";

import "./app.css";
import App from "./App.svelte";
import { tauri } from "./backend/tauri";

async function chooseBackend(): Promise<typeof tauri> {
  // A production build knows no other backend; in development a plain browser gets the invented one.
  if (import.meta.env.PROD || "__TAURI_INTERNALS__" in window) return tauri;
  const { fromAddress } = await import("./backend/fake");
  return fromAddress(new URL(location.href));
}

const target = document.getElementById("app");
if (target !== null) mount(App, { target, props: { backend: await chooseBackend() } });
