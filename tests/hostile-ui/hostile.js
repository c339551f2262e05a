/**
 * Hostile code inside the main window's own bundle. It listens from the first moment on, and tries the rest when a test tells it to:
 * so the test can be sure what was tried, and compare what came of it.
 */

const core = () => window.__TAURI_INTERNALS__;

/** Whatever reached this window while it had no business to know: keys, input, messages, events of the core, storage. */
const heard = [];
const hear = (from, what) => heard.push(`${from}: ${what}`);

/** Everything on a page that could carry a character that a person types, or a message of another window. */
for (const name of ["keydown", "keypress", "keyup", "beforeinput", "input", "change", "paste", "copy", "cut", "compositionend", "textInput"]) {
  window.addEventListener(name, (event) => hear("key", `${name} ${event.key ?? event.data ?? event.target?.value ?? ""}`), true);
}
for (const name of ["message", "messageerror", "storage"]) {
  window.addEventListener(name, (event) => hear("message", `${name} ${JSON.stringify(event.data ?? event.newValue ?? "")}`), true);
}
for (const name of ["vidimus", "vidimus-review", "review", "tauri", "default"]) {
  try {
    new BroadcastChannel(name).onmessage = (event) => hear("channel", `${name} ${JSON.stringify(event.data)}`);
  } catch {
    // No such channel is as good as a silent one.
  }
}

const silent = Symbol("no answer");

/** One call of the core, with what came of it: `refused` or `answered`, and the words. */
const call = async (command, parameters) => {
  try {
    const silence = new Promise((done) => setTimeout(() => done(silent), 2000));
    const answer = await Promise.race([core().invoke(command, parameters), silence]);
    if (answer === silent) return { command, refused: "silence" };
    return { command, answered: JSON.stringify(answer ?? null) };
  } catch (error) {
    return { command, refused: typeof error === "string" ? error : JSON.stringify(error) ?? String(error) };
  }
};

/** What a trusted window's own page would send, and what would make, move, script or close a window. */
const parameters = ({ request, nonce, url }) => {
  const label = `review-${request}`;
  const options = { label, url, title: "Review", x: 0, y: 0, width: 1200, height: 900, alwaysOnTop: true, focus: true };
  const decision = {
    kind: "approve", nonce, answer: "", reasonKind: "other", reason: "a reason that is long enough", pin: "480216", heldMs: 5000, twoPresses: false,
  };
  return {
    request, nonce, label, options, decision, window: label, windowLabel: label, webviewLabel: label,
    focused: true, parts: [0, 1, 2, 3, 4, 5, 6, 7], panel: "approve", answer: "x", action: "discard", fields: {}, open: true,
    form: { nonce, answer: "happened", reference: "r", evidence: "e", amount: "", lookAgain: "", pin: "480216", heldMs: 5000, twoPresses: false },
    name: "x.txt", content: "", stop: false, operation: "0".repeat(64), value: true, event: "tauri://focus", payload: null,
    target: { kind: "AnyLabel", label }, handler: core().transformCallback(() => undefined), eventId: 1, path: "index.html", rid: 0,
    id: "x", code: 0, position: { Physical: { x: 0, y: 0 } }, size: { Physical: { width: 1200, height: 900 } },
  };
};

/** The same call as the core's own bridge would make it, without the bridge: by the scheme, and under another window's name. */
const around = async ({ request, nonce }) => {
  const outcomes = [];
  const body = JSON.stringify(parameters({ request, nonce, url: "" }));
  for (const address of ["ipc://localhost/review_decide", "ipc://localhost/review_state", "http://ipc.localhost/review_decide"]) {
    for (const origin of [`vidimus-review://localhost/${request}`, "tauri://localhost"]) {
      const headers = { "Content-Type": "application/json", "Tauri-Callback": "1", "Tauri-Error": "2", "Tauri-Invoke-Key": "x", "X-Origin": origin };
      const answer = await fetch(address, { method: "POST", body, headers, signal: AbortSignal.timeout(800) }).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        (error) => ({ status: 0, text: `refused: ${String(error)}` }),
      );
      outcomes.push({ command: `${address} as ${origin}`, ...(answer.status === 200 ? { answered: answer.text } : { refused: answer.text }) });
    }
  }
  const metadata = core().metadata;
  for (const name of ["currentWindow", "currentWebview"]) {
    try {
      metadata[name].label = `review-${request}`;
    } catch {
      // Frozen is fine.
    }
  }
  outcomes.push({ ...(await call("review_decide", parameters({ request, nonce, url: "" }))), command: "review_decide under a review window's label" });
  for (const name of ["currentWindow", "currentWebview"]) {
    try {
      metadata[name].label = "main";
    } catch {
      // As above.
    }
  }
  return outcomes;
};

/** Listens to every event there is, of every window, and says which subscriptions were taken. */
const eavesdrop = async (events, labels) => {
  const targets = [{ kind: "Any" }, { kind: "App" }, ...labels.flatMap((label) => ["AnyLabel", "Window", "Webview", "WebviewWindow"].map((kind) => ({ kind, label })))];
  let taken = 0;
  for (const event of events) {
    for (const target of targets) {
      const handler = core().transformCallback((told) => hear("event", `${event} ${JSON.stringify(told.payload ?? null)}`));
      const answer = await call("plugin:event|listen", { event, target, handler });
      if ("answered" in answer) taken += 1;
    }
  }
  return taken;
};

/** Tries one thing in the page and says what it gave. */
const attempt = async (name, act) => {
  const given = await Promise.race([
    Promise.resolve().then(act).catch((error) => `refused: ${String(error)}`),
    new Promise((done) => setTimeout(() => done("silence"), 700)),
  ]);
  return { name, given: String(given ?? "") };
};

const added = (tag, properties, act) => {
  const element = Object.assign(document.createElement(tag), properties);
  document.body.append(element);
  act?.(element);
  return new Promise((done) => {
    element.onload = () => done("loaded");
    element.onerror = () => done("refused");
    setTimeout(() => {
      element.remove();
      done("silence");
    }, 500);
  });
};

/** Navigation and windows: nothing of this leads anywhere. */
const wander = (addresses) =>
  addresses.flatMap((address) => [
    ["location", () => void (location.href = address)],
    ["replace", () => location.replace(address)],
    ["open", () => String(window.open(address, "_blank", "width=1200,height=900,left=0,top=0"))],
    ["open over", () => String(window.open(address, "_top"))],
    ["link", () => added("a", { href: address, target: "_blank", textContent: "x" }, (link) => link.click())],
    ["download", () => added("a", { href: address, download: "x", textContent: "x" }, (link) => link.click())],
    ["form", () => added("form", { action: address, method: "post", target: "_blank" }, (form) => form.submit())],
    ["refresh", () => added("meta", { httpEquiv: "refresh", content: `0; url=${address}` })],
    ["history", () => void history.pushState(null, "", address)],
  ].map(([name, act]) => [`${name} ${address}`, act]));

/** Every way in which a page takes something from an address, or sends something to it. */
const reach = (addresses) =>
  addresses.flatMap((address) => [
    ["fetch", () => fetch(address, { method: "POST", mode: "no-cors", body: "x" }).then((answer) => answer.text())],
    ["fetch again", () => fetch(address).then((answer) => answer.text())],
    ["request", () => new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      request.onload = () => done(request.responseText);
      request.onerror = () => fail(new Error("refused"));
      request.open("GET", address);
      request.send();
    })],
    ["beacon", () => navigator.sendBeacon(address, "x")],
    ["image", () => added("img", { src: address })],
    ["style", () => added("link", { rel: "stylesheet", href: address })],
    ["prefetch", () => added("link", { rel: "prefetch", href: address })],
    ["preconnect", () => added("link", { rel: "preconnect", href: address })],
    ["font", () => new FontFace("x", `url(${address})`).load().then(() => "loaded")],
    ["script", () => added("script", { src: address })],
    ["module", () => import(/* @vite-ignore */ address).then(() => "loaded")],
    ["frame", async () => {
      const frame = document.createElement("iframe");
      frame.src = address;
      document.body.append(frame);
      await new Promise((done) => setTimeout(done, 400));
      let text = "";
      try {
        text = frame.contentDocument?.documentElement.textContent ?? "";
      } catch (error) {
        text = `refused: ${String(error)}`;
      }
      frame.remove();
      return text;
    }],
    ["object", () => added("object", { data: address })],
    ["embed", () => added("embed", { src: address })],
    ["video", () => added("video", { src: address })],
    ["worker", () => String(new Worker(address))],
    ["socket", () => String(new WebSocket(address.replace(/^[a-z-]+:/, "ws:")))],
    ["events", () => String(new EventSource(address))],
  ].map(([name, act]) => [`${name} ${address}`, act]));

/** What a page may do with its own window, the clipboard, storage and its neighbours. */
const tricks = (label) => [
  ["focus", () => window.focus()],
  ["blur", () => window.blur()],
  ["move", () => window.moveTo(0, 0)],
  ["resize", () => window.resizeTo(1600, 1200)],
  ["grow", () => window.resizeBy(400, 400)],
  ["title", () => void (document.title = "Review")],
  ["whole screen", () => document.documentElement.requestFullscreen?.()],
  ["pointer", () => document.documentElement.requestPointerLock?.()],
  ["keyboard", () => navigator.keyboard?.lock?.()],
  ["read clipboard", () => navigator.clipboard.readText()],
  ["paste", () => {
    const field = document.createElement("textarea");
    document.body.append(field);
    field.focus();
    const pasted = document.execCommand("paste");
    const text = field.value;
    field.remove();
    return pasted ? text : "";
  }],
  ["parent", () => (window.parent === window ? "" : String(window.parent))],
  ["opener", () => (window.opener === null ? "" : String(window.opener))],
  ["frames", () => (window.frames.length === 0 ? "" : String(window.frames.length))],
  ["named window", () => String(window.open("", label) ?? "null")],
  ["post", () => window.postMessage({ type: "approve", command: "review_decide" }, "*")],
  ["channel", () => new BroadcastChannel("vidimus-review").postMessage("approve")],
  ["storage", () => void localStorage.setItem("hostile", "planted")],
  ["session", () => void sessionStorage.setItem("hostile", "planted")],
  ["cookie", () => void (document.cookie = "hostile=planted")],
  ["service worker", () => navigator.serviceWorker?.register("/x.js").then(() => "registered")],
  ["evaluate", () => String(new Function("return 'evaluated'")())],
  ["inline script", () => {
    const script = document.createElement("script");
    script.textContent = "window.inlined = true";
    document.body.append(script);
    script.remove();
    return window.inlined === true ? "ran" : "";
  }],
  ["inline handler", () => {
    document.body.setAttribute("onclick", "window.handled = true");
    document.body.click();
    return window.handled === true ? "ran" : "";
  }],
  ["notification", () => Notification.requestPermission()],
  ["camera", () => navigator.mediaDevices?.getUserMedia({ video: true }).then(() => "granted")],
  ["files", () => window.showOpenFilePicker?.().then(() => "granted")],
];

/** Tries a list one after the other. */
const all = async (list) => {
  const outcomes = [];
  for (const [name, act] of list) outcomes.push(await attempt(name, act));
  return outcomes;
};

/** Goes on while a person types elsewhere: takes the focus, raises what is open, sends what can be sent. */
let harassment = null;
const harass = (request) => {
  let rounds = 0;
  const field = document.createElement("input");
  document.body.append(field);
  const inner = setInterval(() => {
    rounds += 1;
    window.focus();
    field.focus();
    window.postMessage("typed?", "*");
    void call("plugin:window|set_focus", { label: "main" });
    void call("plugin:window|set_always_on_top", { label: "main", value: true });
    void call("plugin:event|emit", { event: "console_state_changed", payload: null });
    void call("open_review", { request });
    void call("console_state", {});
  }, 60);
  harassment = () => {
    clearInterval(inner);
    const typed = field.value;
    field.remove();
    return { rounds, typed };
  };
};

window.hostile = {
  heard: () => [...heard],
  forget: () => void (heard.length = 0),
  eavesdrop,
  commands: async (names, aim) => {
    const outcomes = [];
    for (const name of names) outcomes.push(await call(name, parameters(aim)));
    return outcomes;
  },
  around,
  wander: (addresses) => all(wander(addresses)),
  // At once: nothing of it is seen, and one after the other it would take long.
  reach: (addresses) => Promise.all(reach(addresses).map(([name, act]) => attempt(name, act))),
  names: () => tricks("").map(([name]) => name),
  trick: (wanted, label) => all(tricks(label).filter(([name]) => name === wanted)),
  harass,
  close: () => window.close(),
  rest: () => harassment?.() ?? null,
};
