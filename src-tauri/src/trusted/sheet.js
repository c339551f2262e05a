"use strict";
(() => {
  const page = document.documentElement.dataset;
  const call = (command, parameters) => window.__TAURI_INTERNALS__.invoke(command, parameters);
  const one = (selector) => document.querySelector(selector);
  let inFlight = false, leaving = false;
  /* By script and at once: an autofocus attribute takes the focus later, out of a field that is being typed into. */
  one("#title").focus();
  const reload = () => { if (!leaving) { leaving = true; location.reload(); } };
  const typed = () => [...document.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
  const message = (text) => {
    const line = one("#message");
    line.textContent = text;
    if (text === "") return;
    const spoken = document.createElement("div");
    spoken.textContent = text;
    one("#log").replaceChildren(spoken);
  };
  const act = (action, fields) => {
    if (inFlight) return;
    inFlight = true;
    message(page.working);
    call(page.actCommand, { nonce: page.nonce, action, fields }).then(
      (outcome) => { if (outcome.reload) reload(); else message(outcome.message); },
      () => message(page.silent),
    ).finally(() => { inFlight = false; });
  };
  for (const form of document.querySelectorAll("form")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!event.isTrusted) return;
      const fields = {};
      for (const field of form.querySelectorAll("input, textarea")) if (field.type !== "radio" || field.checked) fields[field.name] = field.value;
      act(form.dataset.action, fields);
    });
  }
  for (const control of document.querySelectorAll("button[data-action]")) {
    control.addEventListener("click", (event) => { event.preventDefault(); if (event.isTrusted) act(control.dataset.action, {}); });
  }
  for (const control of document.querySelectorAll("button[data-copy]")) {
    control.addEventListener("click", (event) => {
      event.preventDefault();
      const field = document.createElement("textarea");
      field.value = control.dataset.copy; document.body.append(field); field.select(); document.execCommand("copy"); field.remove();
      message(page.copied);
    });
  }
  document.addEventListener("keydown", (event) => { if (event.isTrusted && event.key === "Escape" && !event.target.matches("input, textarea")) act("close", {}); });
  /* What is typed is not lost to a change of state: the act that follows draws the page anew. */
  const tick = () => call(page.stateCommand, {}).then((state) => {
    if (state.version !== page.version && !inFlight && !typed()) reload();
    for (const name of ["gate", "clock", "key"]) { const line = one(`[data-live=${name}]`); if (line && line.textContent !== state[name]) line.textContent = state[name]; }
    if (inFlight && state.note !== "" && one("#message").textContent !== state.note) message(state.note);
  }, () => {}).finally(() => setTimeout(tick, 1000));
  tick();
})();
