"use strict";
(() => {
  const page = document.documentElement.dataset;
  const HOLD_MS = Number(page.holdMs), SEEN_MS = Number(page.seenMs), PRESS_MS = Number(page.twoPressMs);
  let nonce = page.nonce, latest = null, panel = null, inFlight = false, receiptShown = false;
  const call = (command, parameters) => window.__TAURI_INTERNALS__.invoke(command, parameters);
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const own = (handler) => (event) => { if (event.isTrusted) handler(event); };
  const write = (name, text) => all(`[data-live="${name}"]`).forEach((node) => {
    if (node.textContent !== text) node.textContent = text;
    if (node.dataset.emptyHidden !== undefined) node.hidden = text === "";
  });
  const say = (text) => { const line = document.createElement("div"); line.textContent = text; const log = one("#log"); log.append(line); while (log.children.length > 1) log.firstChild.remove(); };
  const lines = (selector, texts) => {
    const list = one(selector);
    if (list.dataset.content === JSON.stringify(texts)) return;
    list.dataset.content = JSON.stringify(texts);
    list.replaceChildren(...texts.map((text) => { const item = document.createElement("li"); item.textContent = text; return item; }));
  };

  /* By script and at once: an autofocus attribute takes the focus later, out of a field that is being typed into. */
  one("#title").focus();

  /* What the core says. */
  const apply = (state) => {
    latest = state;
    nonce = state.nonce;
    for (const name of ["gate", "clock", "key", "left", "expires", "approvals", "why", "seen", "pin_note", "approve_label", "deny_note"]) write(name, state[name]);
    if (page.contentVersion !== state.content_version && !typed()) { location.reload(); return; }
    one("#why").classList.toggle("hard", state.why_is_hard);
    lines("#locks", state.hard_locks.concat(state.soft_locks));
    lines("#hard-locks", state.hard_locks);
    lines("#progress", state.progress);
    // What was typed stays readable, to be copied.
    one("#approve-form").hidden = state.hard_locks.length > 0 && !(panel === "approve" && typed());
    one("#hard-locks").hidden = state.hard_locks.length === 0;
    one("#pin-field").hidden = !state.pin_needed; one("#deny-pin-field").hidden = !state.deny_pin_needed;
    all("[data-approve]").forEach((node) => node.setAttribute("aria-disabled", String(!state.can_approve)));
    all("[data-deny]").forEach((node) => node.setAttribute("aria-disabled", String(!state.can_deny)));
    one("#start-approving").setAttribute("aria-disabled", String(state.ended));
    one("#start-denying").setAttribute("aria-disabled", String(state.ended));
    question(state.question);
    if (state.receipt) receipt(state.receipt);
  };
  const question = (asked) => {
    const box = one("#question");
    if (!box) return;
    /* None is asked while the wait after a wrong answer lasts. */
    if (!asked && box.contains(document.activeElement)) one("#approve h2").focus();
    box.hidden = !asked;
    if (!asked || box.dataset.asked === asked.id) return;
    box.dataset.asked = asked.id;
    write("question", asked.prompt);
    write("unit", asked.unit);
    one("#answer").value = "";
    one("#options").replaceChildren(...asked.options.map((option, index) => {
      const label = document.createElement("label"), radio = document.createElement("input"), text = document.createElement("span");
      label.className = "choice"; radio.type = "radio"; radio.name = "picked"; radio.value = option; radio.id = `option-${index}`; text.className = "value"; text.textContent = option;
      label.append(radio, text);
      return label;
    }));
  };
  const receipt = (received) => {
    lines("#receipt-lines", received.lines);
    write("receipt_heading", received.heading);
    if (receiptShown) return;
    receiptShown = true;
    panel = null;
    all(".panel").forEach((node) => { node.hidden = true; });
    one("#bar").hidden = true;
    one("#receipt").hidden = false;
    one("#next").hidden = !received.has_next;
    one("#receipt h2").focus();
    say(received.heading);
  };
  const refresh = () => call("review_state", { focused: document.hasFocus() }).then(apply, () => { write("why", page.silent); one("#why").classList.add("hard"); });
  const tick = () => refresh().finally(() => setTimeout(tick, inFlight ? 150 : 500));

  /* Which parts have been on screen. */
  const pane = one("main"), since = new Map(), reported = new Set();
  const look = () => {
    const view = pane.getBoundingClientRect();
    const bottom = Math.min(view.bottom, innerHeight), top = Math.max(view.top, 0), now = performance.now(), done = [];
    for (const part of all("[data-part-number]")) {
      const number = Number(part.dataset.partNumber);
      if (reported.has(number)) continue;
      const box = part.getBoundingClientRect();
      const shown = Math.min(box.bottom, bottom) - Math.max(box.top, top);
      const on = document.hasFocus() && box.bottom <= bottom + 1 && shown >= 0.9 * Math.min(box.height, bottom - top);
      if (!on) since.delete(number);
      else if (!since.has(number)) since.set(number, now);
      else if (now - since.get(number) >= SEEN_MS) { reported.add(number); part.classList.add("seen"); done.push(number); }
    }
    if (done.length > 0) call("review_seen", { nonce, parts: done }).then(apply, () => done.forEach((number) => reported.delete(number)));
  };
  setInterval(look, 100);
  const toUnseen = (backwards) => {
    const unseen = latest ? latest.unseen : [];
    if (unseen.length === 0) return;
    const target = backwards ? unseen[unseen.length - 1] : unseen[0];
    const part = one(`[data-part-number="${target.number}"]`);
    if (part) part.scrollIntoView({ block: "center" });
    else if (!typed()) location.href = `?view=rendered&page=${target.page}#part-${target.number}`;
  };

  /* Panels. */
  const typed = () => all(".panel input, .panel textarea").some((field) => field.type === "radio" ? false : field.value !== "");
  const open = (name) => {
    if (receiptShown || (latest && latest.ended)) return;
    panel = name;
    all(".panel").forEach((node) => { node.hidden = node.id !== name; });
    one("#bar").hidden = true;
    one(`#${name} h2`).focus();
    call("review_panel", { nonce, panel: name === "approve" ? "approve" : "deny" }).then(apply, () => {});
  };
  const close = () => {
    all(".panel").forEach((node) => { node.hidden = true; });
    all(".panel input, .panel textarea").forEach((field) => { if (field.type === "radio") field.checked = false; else field.value = ""; });
    panel = null;
    one("#discard").hidden = true;
    one("#bar").hidden = false;
    one("#title").focus();
    call("review_panel", { nonce, panel: "none" }).then(apply, () => {});
  };
  const leave = () => { if (typed()) { one("#discard").hidden = false; one("#keep").focus(); } else close(); };
  const value = (selector) => { const field = one(selector); return field ? field.value : ""; };
  const picked = (name) => { const field = one(`input[name="${name}"]:checked`); return field ? field.value : ""; };
  const given = () => (one("#options") && !one("#options").hidden ? picked("picked") : value("#answer"));
  const message = (text) => { write("message", text); if (text) say(text); };

  const decide = (kind, heldMs, twoPresses) => {
    if (inFlight || receiptShown) return;
    const approving = kind === "approve";
    if (latest && !(approving ? latest.can_approve : latest.can_deny)) { message(latest.hard_locks.concat(latest.soft_locks).join(" ")); return; }
    inFlight = true;
    message("");
    const reasonKind = picked("reason-kind");
    const decision = {
      kind, nonce, answer: approving ? given() : "",
      reasonKind: approving ? reasonKind : picked("denial"),
      reason: approving ? value(reasonKind ? `#reason-${reasonKind}` : "#reason") : value("#note"),
      pin: approving ? value("#pin") : value("#deny-pin"), heldMs, twoPresses,
    };
    call("review_decide", { decision }).then((outcome) => {
      message(outcome.message);
      all("input.pin").forEach((field) => { field.value = ""; });
    }, () => message(page.silent)).finally(() => { inFlight = false; refresh(); });
  };

  /* A press counts when it began and ended on the control. A repeated key is no press. */
  const press = (control, commit) => {
    let began = null;
    // A press that begins on a locked control never counts, also when it ends on an open one.
    const locked = () => control.getAttribute("aria-disabled") === "true";
    const reasons = () => { if (latest) message((control.dataset.deny === undefined ? latest.hard_locks.concat(latest.soft_locks) : [latest.deny_note]).join(" ")); };
    control.addEventListener("pointerdown", own((event) => { if (event.button === 0) { if (locked()) reasons(); else began = "pointer"; } }));
    control.addEventListener("pointerleave", () => { began = null; });
    control.addEventListener("click", own((event) => {
      event.preventDefault();
      // Without pointer and key it comes from assistive technology.
      if ((began === "pointer" || event.detail === 0) && !locked()) commit();
      began = null;
    }));
    control.addEventListener("keydown", own((event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (event.repeat) return;
      if (locked()) reasons(); else began = event.key;
    }));
    control.addEventListener("keyup", own((event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (began === event.key) commit();
      began = null;
    }));
    control.addEventListener("blur", () => { began = null; });
  };
  const on = (selector, commit) => { const control = one(selector); if (control) press(control, commit); };

  on("#start-approving", () => open("approve"));
  on("#start-denying", () => open("deny"));
  on("#approve-commit", () => decide("approve", 0, false));
  on("#deny-commit", () => decide("deny", 0, false));
  on("#discard-yes", close);
  on("#keep", () => { one("#discard").hidden = true; });
  on("#next", () => call("review_next", { nonce }));
  on("#close", () => call("review_close", { nonce }));
  on("#copy-hash", () => copy());
  on("#save-evidence", () => call("review_save_evidence", { nonce }).then((text) => say(text), () => say(page.silent)));
  all("[data-cancel]").forEach((control) => press(control, leave));

  const copy = () => {
    const field = document.createElement("textarea");
    field.value = page.hash; field.className = "mono"; document.body.append(field); field.select(); document.execCommand("copy"); field.remove();
    one("#title").focus(); say(page.copied);
  };

  /* The value question: typed, never pasted; or picked. */
  const answer = one("#answer");
  if (answer) {
    answer.addEventListener("paste", (event) => { event.preventDefault(); message(page.noPaste); });
    answer.addEventListener("drop", (event) => event.preventDefault());
    const check = own(() => { if (given() !== "") call("review_answer", { nonce, answer: given() }).then((outcome) => { message(outcome.message); refresh(); }, () => message(page.silent)); });
    answer.addEventListener("change", check);
    one("#options").addEventListener("change", check);
    on("#pick", () => { const options = one("#options"); options.hidden = !options.hidden; one("#answer-field").hidden = !options.hidden; });
  }

  /* Held for its time, and let go on the control. */
  const hold = one("#hold");
  if (hold) {
    let from = null, key = null, timer = null;
    const bar = one("#hold progress");
    const stop = () => { from = null; key = null; clearInterval(timer); bar.value = 0; write("hold_note", ""); };
    const start = () => {
      if (from !== null || inFlight) return;
      if (latest && !latest.can_approve) { message(latest.hard_locks.concat(latest.soft_locks).join(" ")); return; }
      from = performance.now();
      timer = setInterval(() => {
        const held = performance.now() - from;
        bar.value = Math.min(1, held / HOLD_MS);
        write("hold_note", held >= HOLD_MS ? page.holdReady : page.holdMore);
      }, 50);
    };
    const end = () => {
      if (from === null) return;
      const held = Math.floor(performance.now() - from);
      stop();
      if (held >= HOLD_MS) decide("approve", held, false);
    };
    hold.addEventListener("pointerdown", own((event) => { if (event.button === 0) start(); }));
    hold.addEventListener("pointerup", own(end));
    for (const name of ["pointerleave", "pointercancel", "blur"]) hold.addEventListener(name, stop);
    hold.addEventListener("click", (event) => event.preventDefault());
    hold.addEventListener("keydown", own((event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (!event.repeat && key === null) { key = event.key; start(); }
    }));
    hold.addEventListener("keyup", own((event) => { if (event.key === key) { event.preventDefault(); end(); } }));
    let armed = null;
    on("#two-presses", () => { one("#hold-row").hidden = true; one("#two-row").hidden = false; });
    on("#two-commit", () => {
      const now = performance.now();
      if (armed === null || now - armed > PRESS_MS) {
        if (latest && !latest.can_approve) { message(latest.hard_locks.concat(latest.soft_locks).join(" ")); return; }
        armed = now; write("two_note", page.pressAgain); return;
      }
      if (now - armed < HOLD_MS) { write("two_note", page.pressLater); return; }
      const held = Math.floor(now - armed);
      armed = null; write("two_note", "");
      decide("approve", held, true);
    });
  }

  document.addEventListener("keydown", own((event) => {
    if (event.isComposing || event.altKey || event.metaKey) return;
    const inText = event.target.matches("input[type=text], input[type=password], textarea");
    if (event.key === "Escape") {
      event.preventDefault();
      if (panel) leave(); else if (receiptShown || !inText) call("review_close", { nonce });
      return;
    }
    if (event.key === "Enter" && event.target.matches("input")) {
      event.preventDefault();
      if (event.ctrlKey && panel === "approve" && page.friction === "reversible" && !event.repeat) decide("approve", 0, false);
      else if (panel === "deny" && !event.repeat) decide("deny", 0, false);
      return;
    }
    if (event.key === "Enter" && event.ctrlKey && panel === "approve" && page.friction === "reversible" && !event.repeat) { event.preventDefault(); decide("approve", 0, false); return; }
    if (inText || event.ctrlKey || event.repeat) return;
    if (panel === "deny" && /^[1-6]$/.test(event.key)) { event.preventDefault(); one(`#denial-${event.key}`).checked = true; return; }
    if (panel === "deny" && event.key === "Enter" && !event.target.matches("button, a")) { event.preventDefault(); decide("deny", 0, false); return; }
    if (event.target.matches("button, a, input") && (event.key === " " || event.key === "Enter")) return;
    if (event.key === " ") { event.preventDefault(); toUnseen(event.shiftKey); return; }
    if (panel || event.shiftKey) return;
    if (event.key === "a") { event.preventDefault(); open("approve"); }
    else if (event.key === "d") { event.preventDefault(); open("deny"); }
    else if (event.key === "c") copy();
    else if (event.key === "j" && receiptShown) call("review_next", { nonce });
    else if (/^[123]$/.test(event.key)) location.href = `?view=${["rendered", "raw", "hex"][Number(event.key) - 1]}&page=1`;
  }));
  document.addEventListener("click", (event) => { if (event.target.closest("a[href]") && panel && typed()) event.preventDefault(); }, true);
  if (/^#part-\d+$/.test(location.hash)) { const part = one(`[data-part-number="${location.hash.slice(6)}"]`); if (part) part.scrollIntoView({ block: "center" }); }
  tick();
})();
