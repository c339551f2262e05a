let open = false, receiptShown = false;

/* What the core says. */
const apply = (state) => {
  latest = state;
  nonce = state.nonce;
  reportAgain(state.unseen);
  for (const name of ["gate", "clock", "key", "age", "seen", "why", "too_early", "warning"]) write(name, state[name]);
  if (page.contentVersion !== state.content_version && !typed() && !state.receipt) { location.reload(); return; }
  one("#why").classList.toggle("hard", state.why_is_hard);
  lines("#locks", state.hard_locks.length > 0 || !moves() ? [] : state.soft_locks);
  lines("#hard-locks", state.hard_locks);
  lines("#progress", state.progress);
  lines("#files", state.files);
  // What was typed stays readable, to be copied.
  one("#answer-form").hidden = state.hard_locks.length > 0 && !typed();
  one("#hard-locks").hidden = state.hard_locks.length === 0;
  all("[data-pin]").forEach((node) => { node.hidden = !state.pin_needed; });
  all("[data-moves]").forEach((node) => disable(node, !state.can_move));
  disable(one("#sign"), !(moves() ? state.can_move && !state.holds : state.can_note));
  disable(one("#start-answering"), state.ended);
  rows();
  if (state.receipt) receipt(state.receipt);
};
const chosen = () => picked("answer");
const moves = () => ["happened", "not_happened", "partly"].includes(chosen());
/* Which fields an answer has, and whether it is pressed or held. */
const rows = () => {
  const answer = chosen();
  const shown = { "#reference-field": answer === "happened" || answer === "", "#amount-field": answer === "partly", "#look-again-field": answer === "still_unknown" };
  for (const [selector, on] of Object.entries(shown)) { const field = one(selector); if (field) field.hidden = !on; }
  const holds = latest && latest.holds && moves();
  if (!holds) { one("#hold-row").hidden = true; one("#two-row").hidden = true; }
  else if (one("#two-row").hidden) one("#hold-row").hidden = false;
  one("#sign").hidden = Boolean(holds);
};
const receipt = (received) => {
  lines("#receipt-lines", received.lines);
  write("receipt_heading", received.heading);
  if (receiptShown) return;
  receiptShown = true;
  show("receipt");
  open = false;
  say(received.heading);
};
const refresh = () => call("answer_state", { focused: document.hasFocus() }).then(apply, () => { write("why", page.silent); one("#why").classList.add("hard"); });
const tick = () => refresh().finally(() => setTimeout(tick, inFlight ? 150 : 500));

const typed = () => all("#answer-panel input[type=text], #answer-panel input[type=password]").some((field) => field.value !== "") || chosen() !== "";
const show = (name) => {
  all(".panel").forEach((node) => { node.hidden = node.id !== name; });
  one("#bar").hidden = name !== null;
  (name === null ? one("#title") : one(`#${name} h2`)).focus();
};
const toggle = (on) => {
  if (receiptShown || (on && latest && latest.ended)) return;
  open = on;
  message("");
  show(on ? "answer-panel" : null);
  call("answer_form", { nonce, open: on }).then(apply, () => {});
};
const close = () => {
  all("#answer-panel input").forEach((field) => { if (field.type === "radio") field.checked = false; else field.value = ""; });
  one("#discard").hidden = true;
  toggle(false);
};
const leave = () => { if (typed()) { one("#discard").hidden = false; one("#keep").focus(); } else close(); };
const reasonsOf = () => latest.hard_locks.concat(moves() ? latest.soft_locks : []).join(" ");

const sign = (heldMs, twoPresses) => {
  if (inFlight || receiptShown) return;
  inFlight = true;
  message("");
  const answer = chosen();
  const form = {
    nonce, answer, reference: answer === "happened" ? value("#reference") : "", evidence: value("#evidence"),
    amount: answer === "partly" ? value("#amount") : "", lookAgain: answer === "still_unknown" ? value("#look-again") : "",
    pin: value("#pin"), heldMs, twoPresses,
  };
  call("answer_sign", { form }).then((outcome) => {
    message(outcome.message);
    one("#pin").value = "";
  }, () => message(page.silent)).finally(() => { inFlight = false; refresh(); });
};

on("#start-answering", () => toggle(true));
on("#original", () => call("answer_original", { nonce }).catch(() => say(page.silent)));
on("#sign", () => sign(0, false));
on("#discard-yes", close);
on("#keep", () => { one("#discard").hidden = true; });
on("#close", () => call("answer_close", { nonce }));
on("#copy-hash", () => copyText(page.hash));
all("[data-cancel]").forEach((control) => press(control, leave));
holdable("#hold", () => !latest.can_move, (held) => sign(held, false));
on("#two-presses", () => { one("#hold-row").hidden = true; one("#two-row").hidden = false; });
pressable("#two-commit", () => !latest.can_move, (held) => sign(held, true));
all("input[name=answer]").forEach((radio) => radio.addEventListener("change", own(() => { rows(); if (latest) apply(latest); })));

/* A file crosses as text; the core takes its digest. */
one("#file").addEventListener("change", own(() => {
  const file = one("#file").files[0];
  if (!file) return;
  if (file.size > Number(page.fileBytes)) { message(page.tooLarge); one("#file").value = ""; return; }
  const reader = new FileReader();
  reader.onload = () => {
    const text = String(reader.result), content = text.slice(text.indexOf(",") + 1);
    call("answer_attach", { nonce, name: file.name, content: text.includes(",") ? content : "" }).then((outcome) => { message(outcome.message); one("#file").value = ""; refresh(); }, () => message(page.silent));
  };
  reader.readAsDataURL(file);
}));

document.addEventListener("keydown", own((event) => {
  if (event.isComposing || event.altKey || event.metaKey) return;
  const inText = event.target.matches("input[type=text], input[type=password], textarea");
  if (event.key === "Escape") {
    event.preventDefault();
    if (open) leave(); else if (receiptShown || !inText) call("answer_close", { nonce });
    return;
  }
  // Enter in a field signs nothing.
  if (event.key === "Enter" && event.target.matches("input[type=text], input[type=password], input[type=radio]")) { event.preventDefault(); return; }
  if (inText || event.ctrlKey || event.repeat) return;
  if (event.target.matches("button, a, input") && (event.key === " " || event.key === "Enter")) return;
  if (event.key === " ") { event.preventDefault(); toUnseen(event.shiftKey); return; }
  if (event.shiftKey || open) return;
  if (event.key === "a") { event.preventDefault(); toggle(true); }
  else if (event.key === "o" && one("#original")) { event.preventDefault(); call("answer_original", { nonce }).catch(() => say(page.silent)); }
  else if (event.key === "c" && page.hash) copyText(page.hash);
  else if (/^[123]$/.test(event.key)) location.href = `?view=${["rendered", "raw", "hex"][Number(event.key) - 1]}&page=1`;
}));
document.addEventListener("click", (event) => { if (event.target.closest("a[href]") && open && typed()) event.preventDefault(); }, true);
tick();
