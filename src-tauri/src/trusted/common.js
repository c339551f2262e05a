const page = document.documentElement.dataset;
const HOLD_MS = Number(page.holdMs), SEEN_MS = Number(page.seenMs), PRESS_MS = Number(page.twoPressMs);
let nonce = page.nonce, latest = null, inFlight = false;
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
const value = (selector) => { const field = one(selector); return field ? field.value : ""; };
const picked = (name) => { const field = one(`input[name="${name}"]:checked`); return field ? field.value : ""; };
const message = (text) => { write("message", text); if (text) say(text); };
const disable = (node, off) => node.setAttribute("aria-disabled", String(off));

/* By script and at once: an autofocus attribute takes the focus later, out of a field that is being typed into. */
one("#title").focus();

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
  if (done.length > 0) call(page.seenCommand, { nonce, parts: done }).then(apply, () => done.forEach((number) => reported.delete(number)));
};
setInterval(look, 100);
/* What the core does not count, since the window was not in front yet, is told again. */
const reportAgain = (unseen) => unseen.forEach(({ number }) => { if (reported.delete(number)) since.delete(number); });
const toUnseen = (backwards) => {
  const unseen = latest ? latest.unseen : [];
  if (unseen.length === 0) return;
  const target = backwards ? unseen[unseen.length - 1] : unseen[0];
  const part = one(`[data-part-number="${target.number}"]`);
  if (part) part.scrollIntoView({ block: "center" });
  else if (!typed()) location.href = `?view=rendered&page=${target.page}#part-${target.number}`;
};

/* A press counts when it began and ended on the control. A repeated key is no press. */
const press = (control, commit) => {
  let began = null;
  // A press that begins on a locked control never counts, also when it ends on an open one.
  const locked = () => control.getAttribute("aria-disabled") === "true";
  const reasons = () => { if (latest) message(reasonsOf(control)); };
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

/* Held for its time, and let go on the control. */
const holdable = (selector, isLocked, commit) => {
  const hold = one(selector);
  if (!hold) return;
  let from = null, key = null, timer = null;
  const bar = hold.querySelector("progress");
  const stop = () => { from = null; key = null; clearInterval(timer); bar.value = 0; write("hold_note", ""); };
  const start = () => {
    if (from !== null || inFlight) return;
    if (latest && isLocked()) { message(reasonsOf(hold)); return; }
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
    if (held >= HOLD_MS) commit(held);
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
};
/* The same for hands that cannot hold: a second press, not sooner than a hold would have lasted. */
const pressable = (selector, isLocked, commit) => {
  let armed = null;
  on(selector, () => {
    const now = performance.now();
    if (armed === null || now - armed > PRESS_MS) {
      if (latest && isLocked()) { message(reasonsOf(one(selector))); return; }
      armed = now; write("two_note", page.pressAgain); return;
    }
    if (now - armed < HOLD_MS) { write("two_note", page.pressLater); return; }
    const held = Math.floor(now - armed);
    armed = null; write("two_note", "");
    commit(held);
  });
};

const copyText = (text) => {
  const focused = document.activeElement, field = document.createElement("textarea");
  field.value = text; field.className = "mono"; document.body.append(field); field.select(); document.execCommand("copy"); field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  say(page.copied);
};
if (/^#part-\d+$/.test(location.hash)) { const part = one(`[data-part-number="${location.hash.slice(6)}"]`); if (part) part.scrollIntoView({ block: "center" }); }

