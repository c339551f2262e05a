let panel = null, under = null, receiptShown = false, closingSaid = false, noticeSaid = "";

/* What the core says. */
const apply = (state) => {
  latest = state;
  nonce = state.nonce;
  reportAgain(state.unseen);
  for (const name of ["gate", "clock", "key", "left", "expires", "approvals", "why", "seen", "pin_note", "approve_label", "deny_note", "standing", "closing", "notice", "more_time", "kept"]) write(name, state[name]);
  if (page.contentVersion !== state.content_version && !typed()) { location.reload(); return; }
  one("#why").classList.toggle("hard", state.why_is_hard);
  lines("#locks", state.hard_locks.length > 0 ? [] : state.soft_locks);
  lines("#hard-locks", state.hard_locks);
  lines("#progress", state.progress);
  // What was typed stays readable, to be copied.
  one("#approve-form").hidden = state.hard_locks.length > 0 && !(panel === "approve" && typed());
  one("#hard-locks").hidden = state.hard_locks.length === 0;
  all("[data-pin=approve]").forEach((node) => { node.hidden = !state.pin_needed; });
  all("[data-pin=other]").forEach((node) => { node.hidden = !state.deny_pin_needed; });
  all("[data-approve]").forEach((node) => disable(node, !state.can_approve));
  all("[data-deny]").forEach((node) => disable(node, !state.can_deny));
  const may = { retract: state.can_retract, revoke: state.can_revoke, more_time: state.can_more_time };
  all("[data-act]").forEach((node) => disable(node, !may[node.dataset.act]));
  disable(one("#start-approving"), state.ended);
  disable(one("#start-denying"), state.ended);
  disable(one("#start-more-time"), state.ended);
  for (const selector of ["#start-retracting", "#retract-mine"]) one(selector).hidden = !state.can_retract;
  // Who approved approves no more: what can be done instead stands there.
  one("#start-approving").hidden = state.can_retract;
  for (const selector of ["#start-revoking", "#stop-it"]) one(selector).hidden = !state.can_revoke;
  for (const selector of ["#desk", "#to-desk"]) one(selector).hidden = !state.in_doubt;
  one("#closing-row").hidden = state.closing === "";
  disable(one("#more-time-here"), !state.can_more_time);
  if (state.closing !== "" && !closingSaid) { closingSaid = true; say(state.closing); }
  if (state.closing === "") closingSaid = false;
  question(state.question);
  keep(state.kept);
  if (state.notice !== noticeSaid) { noticeSaid = state.notice; back(); say(state.notice); }
  if (state.receipt) receipt(state.receipt);
};
/* What was typed about a request that ended meanwhile. Never a PIN, nor an answer. */
const keep = (words) => {
  const texts = all("#approve-form input[type=text], #note").filter((field) => field.id !== "answer" && field.value !== "").map((field) => field.value);
  if (words === "" || texts.length === 0 || receiptShown) return;
  const kept = one("#kept-text");
  if (kept.textContent !== texts.join("\n")) kept.textContent = texts.join("\n");
  if (one("#kept").hidden) { one("#kept").hidden = false; say(words); }
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
  const isNews = one("[data-live=receipt_heading]").textContent !== received.heading;
  write("receipt_heading", received.heading);
  one("#next").hidden = !received.has_next;
  if (receiptShown && !isNews) return;
  receiptShown = true;
  show("receipt");
  panel = null;
  under = null;
  one("#kept").hidden = true;
  say(received.heading);
};
const refresh = () => call("review_state", { focused: document.hasFocus() }).then(apply, () => { write("why", page.silent); one("#why").classList.add("hard"); });
const tick = () => refresh().finally(() => setTimeout(tick, inFlight ? 150 : 500));

/* Panels. */
const typed = () => all(".panel input, .panel textarea").some((field) => field.type === "radio" ? false : field.value !== "");
const show = (name) => {
  all(".panel").forEach((node) => { node.hidden = node.id !== name; });
  one("#bar").hidden = name !== null;
  (name === null ? one("#title") : one(`#${name} h2`)).focus();
};
const tell = (name) => call("review_panel", { nonce, panel: name === null ? "none" : name }).then(apply, () => {});
const open = (name) => {
  if (latest && latest.can_retract && name === "approve") name = "retract";
  if (latest && latest.ended && ["approve", "deny", "more-time"].includes(name)) return;
  if (receiptShown && !["retract", "revoke"].includes(name)) return;
  // What was being decided is gone on with after more time was given.
  under = receiptShown ? "receipt" : panel === "approve" && name === "more-time" ? "approve" : null;
  panel = name;
  message("");
  show(name);
  tell(name);
};
const empty = (fields) => fields.forEach((field) => { if (field.type === "radio") field.checked = false; else field.value = ""; });
/* Leaves the panel: to what it was opened over, else to the row. */
const back = () => {
  empty(all(under === "approve" ? "#more-time input" : ".panel input, .panel textarea"));
  panel = under === "approve" ? "approve" : null;
  if (latest && !latest.receipt) { receiptShown = false; if (under === "receipt") under = null; }
  one("#discard").hidden = true;
  one("#kept").hidden = true;
  show(under);
  under = null;
  message("");
  tell(panel);
};
const fieldsHere = () => all(`#${panel} input, #${panel} textarea`).some((field) => field.type !== "radio" && field.value !== "");
const leave = () => { if (panel && fieldsHere()) { one("#discard").hidden = false; one("#keep").focus(); } else back(); };
const given = () => (one("#options") && !one("#options").hidden ? picked("picked") : value("#answer"));
const locks = () => latest.hard_locks.concat(latest.soft_locks).join(" ");
const reasonsOf = (control) => {
  if (control.dataset.deny !== undefined) return latest.deny_note;
  if (control.dataset.act !== undefined) return latest.standing || latest.more_time;
  return locks();
};

const decide = (kind, heldMs, twoPresses) => {
  if (inFlight) return;
  const approving = kind === "approve", denying = kind === "deny";
  if (receiptShown && (approving || denying)) return;
  if (latest && approving && !latest.can_approve) { message(locks()); return; }
  if (latest && denying && !latest.can_deny) { message(latest.deny_note); return; }
  inFlight = true;
  message("");
  const reasonKind = picked("reason-kind");
  const decision = {
    kind, nonce, answer: approving ? given() : "",
    reasonKind: approving ? reasonKind : denying ? picked("denial") : "",
    reason: approving ? value(reasonKind ? `#reason-${reasonKind}` : "#reason") : denying ? value("#note") : "",
    pin: approving ? value("#pin") : value(denying ? "#deny-pin" : `#${kind.replace("_", "-")}-pin`), heldMs, twoPresses,
  };
  call("review_decide", { decision }).then((outcome) => {
    message(outcome.message);
    all("input.pin").forEach((field) => { field.value = ""; });
  }, () => message(page.silent)).finally(() => { inFlight = false; refresh(); });
};

on("#start-approving", () => open("approve"));
on("#start-denying", () => open("deny"));
on("#start-more-time", () => open("more-time"));
on("#more-time-here", () => open("more-time"));
on("#start-retracting", () => open("retract"));
on("#retract-mine", () => open("retract"));
on("#start-revoking", () => open("revoke"));
on("#stop-it", () => open("revoke"));
on("#approve-commit", () => decide("approve", 0, false));
on("#deny-commit", () => decide("deny", 0, false));
all("[data-act]").forEach((control) => press(control, () => decide(control.dataset.act, 0, false)));
on("#discard-yes", back);
on("#keep", () => { one("#discard").hidden = true; });
on("#next", () => call("review_next", { nonce }));
on("#close", () => call("review_close", { nonce }));
for (const selector of ["#desk", "#to-desk"]) on(selector, () => call("review_desk"));
on("#copy-hash", () => copyText(page.hash));
on("#copy-kept", () => copyText(one("#kept-text").textContent));
on("#save-bytes", () => call("review_save_bytes", { nonce }).then((text) => { write("saved", text); say(text); }, () => say(page.silent)));
on("#save-evidence", () => call("review_save_evidence", { nonce }).then((text) => say(text), () => say(page.silent)));
all("[data-cancel]").forEach((control) => press(control, leave));

/* The value question: typed, never pasted; or picked. */
const answer = one("#answer");
if (answer) {
  answer.addEventListener("paste", (event) => { event.preventDefault(); message(page.noPaste); });
  answer.addEventListener("drop", (event) => event.preventDefault());
  const check = own(() => { if (given() !== "") call("review_answer", { nonce, answer: given() }).then((outcome) => { message(outcome.message); refresh(); }, () => message(page.silent)); });
  answer.addEventListener("change", check);
  /* By the arrow keys every choice on the way is chosen: what counts is where one leaves, or presses Enter or Space. */
  const options = one("#options");
  let pointed = false;
  options.addEventListener("pointerdown", own(() => { pointed = true; }));
  options.addEventListener("change", own((event) => { if (pointed) check(event); pointed = false; }));
  options.addEventListener("focusout", own((event) => { if (!options.contains(event.relatedTarget)) check(event); }));
  options.addEventListener("keyup", own((event) => { if (event.key === "Enter" || event.key === " ") check(event); }));
  on("#pick", () => { const options = one("#options"); options.hidden = !options.hidden; one("#answer-field").hidden = !options.hidden; });
}
holdable("#hold", () => !latest.can_approve, (held) => decide("approve", held, false));
on("#two-presses", () => { one("#hold-row").hidden = true; one("#two-row").hidden = false; });
pressable("#two-commit", () => !latest.can_approve, (held) => decide("approve", held, true));

document.addEventListener("keydown", own((event) => {
  if (event.isComposing || event.altKey || event.metaKey) return;
  const inText = event.target.matches("input[type=text], input[type=password], textarea");
  if (event.key === "Escape") {
    event.preventDefault();
    if (panel) leave(); else if (receiptShown || !inText) call("review_close", { nonce });
    return;
  }
  const commits = () => {
    if (panel === "deny") decide("deny", 0, false);
    else if (["retract", "revoke"].includes(panel)) decide(panel, 0, false);
  };
  if (event.key === "Enter" && event.target.matches("input")) {
    event.preventDefault();
    if (event.repeat) return;
    if (event.ctrlKey && panel === "approve" && page.friction === "reversible") decide("approve", 0, false);
    else commits();
    return;
  }
  if (event.key === "Enter" && event.ctrlKey && panel === "approve" && page.friction === "reversible" && !event.repeat) { event.preventDefault(); decide("approve", 0, false); return; }
  if (inText || event.ctrlKey || event.repeat) return;
  if (panel === "deny" && /^[1-6]$/.test(event.key)) { event.preventDefault(); one(`#denial-${event.key}`).checked = true; return; }
  if (panel === "deny" && event.key === "Enter" && !event.target.matches("button, a")) { event.preventDefault(); decide("deny", 0, false); return; }
  if (event.target.matches("button, a, input") && (event.key === " " || event.key === "Enter")) return;
  if (event.key === " ") { event.preventDefault(); toUnseen(event.shiftKey); return; }
  if (event.shiftKey) return;
  if (event.key === "e" && (panel === null || panel === "approve")) { event.preventDefault(); open("more-time"); return; }
  if (panel) return;
  if (event.key === "a") { event.preventDefault(); open("approve"); }
  else if (event.key === "d") { event.preventDefault(); open("deny"); }
  else if (event.key === "c") copyText(page.hash);
  else if (event.key === "j" && receiptShown) call("review_next", { nonce });
  else if (/^[123]$/.test(event.key)) location.href = one(`[data-part=view-${["rendered", "raw", "hex"][Number(event.key) - 1]}]`).href;
}));
document.addEventListener("click", (event) => { if (event.target.closest("a[href]") && panel && typed()) event.preventDefault(); }, true);
tick();
