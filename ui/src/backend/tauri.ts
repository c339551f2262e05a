import { invoke } from "@tauri-apps/api/core";
import { listen } from "@tauri-apps/api/event";

import { en } from "../strings/en";
import { backendError, type Backend } from "./backend";
import type { ConsoleState, DeskDetail, DeskPage, InboxChanged, InboxList, InboxPage, Settings } from "./types";

async function call<Answer>(command: string, parameters?: Record<string, unknown>): Promise<Answer> {
  try {
    return await invoke<Answer>(command, parameters);
  } catch (reason) {
    // The core rejects with a plain tagged value, not with an Error.
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw backendError(reason, en.errors.coreSilent);
  }
}

async function tell(command: string, parameters?: Record<string, unknown>): Promise<void> {
  await call<unknown>(command, parameters);
}

function subscribe(event: string, listener: (payload: unknown) => void): () => void {
  let ended = false;
  let end: (() => void) | null = null;
  const started = listen<unknown>(event, ({ payload }) => {
    if (!ended) listener(payload);
  });
  started.then(
    (unlisten) => {
      // The screen may be gone before the core confirmed the subscription.
      if (ended) unlisten();
      else end = unlisten;
    },
    (reason: unknown) => {
      // The lists are asked for again on a timer, so a lost subscription delays news and loses none.
      console.error(`no subscription to ${event}`, reason);
    },
  );
  return () => {
    ended = true;
    end?.();
  };
}

/** The one place where the page meets Tauri. */
export const tauri: Backend = {
  consoleState: () => call<ConsoleState>("console_state"),
  openInbox: (query) => call<InboxList>("inbox_open", { query }),
  inboxPage: (list, requests) => call<InboxPage>("inbox_page", { list, requests }),
  openReview: (request) => tell("open_review", { request }),
  desk: () => call<DeskPage>("desk"),
  deskItem: (operation) => call<DeskDetail | null>("desk_item", { operation }),
  deskWanted: () => call<boolean>("desk_wanted"),
  outcomeOpened: (operation) => tell("outcome_opened", { operation }),
  askProvider: (operation) => call<string>("ask_provider", { operation }),
  openAnswer: (operation) => tell("open_answer", { operation }),
  openEnrolment: () => tell("open_enrolment"),
  openKeys: (stop = false) => tell("open_keys", { stop }),
  settings: () => call<Settings>("settings"),
  saveSettings: (settings) => tell("save_settings", { settings }),
  pauseNotices: (length) => tell("pause_notices", { length }),
  onInboxChanged: (listener) =>
    subscribe("inbox_changed", (payload) => {
      listener(payload as InboxChanged);
    }),
  onConsoleStateChanged: (listener) =>
    subscribe("console_state_changed", () => {
      listener();
    }),
  onDeskWanted: (listener) =>
    subscribe("desk_wanted", () => {
      listener();
    }),
};
