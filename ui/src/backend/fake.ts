import type { Backend, PauseLength } from "./backend";
import { invented, inventedRows, rowName, type InventedRequest } from "./fake-requests";
import type {
  BackendError,
  ConsoleState,
  DeskDetail,
  DeskItem,
  DeskPage,
  InboxChanged,
  InboxList,
  InboxPage,
  InboxQuery,
  InboxRow,
  Settings,
} from "./types";

/** Seconds since some fixed moment; the invented gate's clock. */
export type Seconds = () => number;

const startOfDay = 14 * 3600 + 27 * 60;

function timeOfDay(seconds: number, withSeconds: boolean): string {
  const whole = Math.floor(startOfDay + seconds) % 86_400;
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts
    .slice(0, withSeconds ? 3 : 2)
    .map((part) => part.toString().padStart(2, "0"))
    .join(":");
}

function remaining(seconds: number): string {
  const left = Math.max(0, Math.floor(seconds));
  if (left < 300) return `${Math.floor(left / 60).toString()}:${(left % 60).toString().padStart(2, "0")}`;
  const minutes = Math.floor(left / 60);
  if (minutes < 60) return `${minutes.toString()} min`;
  return `${Math.floor(minutes / 60).toString()} h ${(minutes % 60).toString().padStart(2, "0")}`;
}

export const enrolledState: ConsoleState = {
  environment: "test",
  gate: { state: "connected", since_text: "10:41:07", detail: "" },
  clock: { state: "ok", text: "ok" },
  key: { state: "active", label: "laptop-7", text: "", error_id: null },
  person: { name: "Ada Example", roles: ["support-lead", "billing-approver"] },
  automated: false,
  mirror: { state: "verified", size: "4,182", text: "", error_id: null },
  notifications: { available: true, error_id: null },
  paused: null,
  reconcile: { count: "0", late: false },
  recoveries: [],
  theme: "system",
  waiting: "7",
  window_title: "TEST - 7 waiting - Vidimus",
};

export const notEnrolledState: ConsoleState = {
  ...enrolledState,
  environment: null,
  gate: { state: "none", since_text: "", detail: "" },
  key: { state: "none", label: "", text: "", error_id: null },
  person: null,
  mirror: { state: "empty", size: "", text: "", error_id: null },
  window_title: "Vidimus",
};

/** An invented core with the behaviour that the real one promises: for tests, and for drawing without a gate. */
export class FakeBackend implements Backend {
  state: ConsoleState;
  kept: Settings = { theme: "system", notification_privacy: "guarded", quiet_hours: null, autostart: false, version: "0.1.0", build: "3f9a1c07" };
  requests: InventedRequest[];
  /** What the page asked to be opened, in order. */
  readonly opened: string[] = [];
  readonly asked: InboxQuery[] = [];
  /** What is in doubt; the desk is asked for it. */
  outcomes: DeskDetail[] = [];
  lastOutcome: string | null = null;
  wanted = false;
  failing: BackendError | null = null;
  listMax = 500;

  /** The lists that were opened: what each was asked, and what it holds. */
  readonly #lists: { query: InboxQuery; requests: string[] }[] = [];
  readonly #now: Seconds;
  readonly #inboxListeners = new Set<(change: InboxChanged) => void>();
  readonly #stateListeners = new Set<() => void>();
  readonly #deskListeners = new Set<() => void>();

  constructor(now: Seconds, requests: InventedRequest[] = inventedRows(), state: ConsoleState = enrolledState) {
    this.#now = now;
    this.requests = requests;
    this.state = state;
  }

  async consoleState(): Promise<ConsoleState> {
    return this.#answer({ ...this.state, waiting: this.#count((request) => request.ended === null) });
  }

  async openInbox(query: InboxQuery): Promise<InboxList> {
    this.asked.push(query);
    const requests = this.#matching(query).map((request) => request.request);
    this.#lists.push({ query, requests: requests.slice(0, this.listMax) });
    const list = (this.#lists.length - 1).toString();
    const listed = requests.slice(0, this.listMax);
    return this.#answer({ list, requests: listed, total: requests.length.toString(), page: this.#page(list, listed) });
  }

  async inboxPage(list: string, requests: readonly string[]): Promise<InboxPage> {
    return this.#answer(this.#page(list, requests));
  }

  #page(list: string, requests: readonly string[]): InboxPage {
    const opened = this.#lists[Number(list)];
    if (opened === undefined) throw new Error(`no list ${list}`);
    const fresh = this.#matching(opened.query).filter(({ request }) => !opened.requests.includes(request));
    const soonest = Math.min(...fresh.map(({ expires_s }) => expires_s));
    const told = requests.map((request) => this.requests.find((entry) => entry.request === request));
    return {
      rows: told.filter((request) => request !== undefined).map((request) => this.#row(request)),
      fresh: fresh.length === 0 ? null : { count: fresh.length.toString(), expires_in_text: remaining(soonest - this.#now()) },
      counts: {
        waiting: this.#count((request) => request.ended === null),
        mine: this.#count((request) => request.ended === null && request.eligible),
        decided: this.#count((request) => request.ended !== null),
      },
      taken_at_text: timeOfDay(this.#now(), true),
      stays_ms: 1000,
    };
  }

  #matching(query: InboxQuery): InventedRequest[] {
    const words = query.search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    return this.requests
      .filter((request) => this.#inView(request, query))
      .filter((request) => words.every((word) => rowName(request).toLowerCase().includes(word)))
      .sort((one, other) => this.#compare(one, other, query));
  }

  async openReview(request: string): Promise<void> {
    this.opened.push(request);
    return this.#answer(undefined);
  }

  async desk(): Promise<DeskPage> {
    const all = this.outcomes.map((outcome) => outcome.item);
    const isOpen = (item: DeskItem): boolean => item.state === "unknown" || item.state === "needs_reconciliation";
    const items = all.filter(isOpen);
    const count = items.filter((item) => item.state === "needs_reconciliation").length.toString();
    return this.#answer({ items, settled: all.filter((item) => !isOpen(item)), count, last_text: this.lastOutcome, taken_at_text: timeOfDay(this.#now(), true) });
  }

  async deskItem(operation: string): Promise<DeskDetail | null> {
    return this.#answer(this.outcomes.find((outcome) => outcome.item.operation === operation) ?? null);
  }

  async deskWanted(): Promise<boolean> {
    const wanted = this.wanted;
    this.wanted = false;
    return this.#answer(wanted);
  }

  async outcomeOpened(operation: string): Promise<void> {
    this.opened.push(`looked at ${operation}`);
    return this.#answer(undefined);
  }

  async askProvider(operation: string): Promise<string> {
    this.opened.push(`asked about ${operation}`);
    return this.#answer("The provider does not know it, which proves nothing.");
  }

  async openAnswer(operation: string): Promise<void> {
    this.opened.push(`answer ${operation}`);
    return this.#answer(undefined);
  }

  async openEnrolment(): Promise<void> {
    this.opened.push("enrolment");
    return this.#answer(undefined);
  }

  async openKeys(stop = false): Promise<void> {
    this.opened.push(stop ? "keys to stop" : "keys");
    return this.#answer(undefined);
  }

  async settings(): Promise<Settings> {
    return this.#answer({ ...this.kept });
  }

  async saveSettings(settings: Settings): Promise<void> {
    await this.#answer(undefined);
    this.kept = settings;
    this.become({ theme: settings.theme });
  }

  async pauseNotices(length: PauseLength): Promise<void> {
    await this.#answer(undefined);
    const until = { half_hour: "14:57", hour: "15:27", until_tomorrow: "1 Dec 08:00" };
    const warning = "2 irreversible requests may expire while paused";
    this.become({ paused: length === "resume" ? null : { text: `Notifications paused until ${until[length]}`, warning, chosen: true } });
  }

  onInboxChanged(listener: (change: InboxChanged) => void): () => void {
    this.#inboxListeners.add(listener);
    return () => this.#inboxListeners.delete(listener);
  }

  onConsoleStateChanged(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  onDeskWanted(listener: () => void): () => void {
    this.#deskListeners.add(listener);
    return () => this.#deskListeners.delete(listener);
  }

  /** A notification or the tray asks for the reconcile desk. */
  want(): void {
    this.wanted = true;
    for (const listener of this.#deskListeners) listener();
  }

  /** Outcomes come into doubt, or leave it. */
  doubt(outcomes: DeskDetail[]): void {
    this.outcomes = outcomes;
    const waiting = outcomes.map((outcome) => outcome.item).filter((item) => item.state === "needs_reconciliation");
    this.become({ reconcile: { count: waiting.length.toString(), late: waiting.some((item) => item.late) } });
  }

  /** A request arrives. */
  add(request: InventedRequest): void {
    this.requests = [...this.requests, request];
    this.#tell("1", `1 new request: ${request.effect}, ${request.reversibility}.`);
  }

  /** A request ends elsewhere. */
  end(request: string, state: string, tombstone: string): void {
    this.requests = this.requests.map((entry) =>
      entry.request === request ? { ...entry, state, ended: tombstone } : entry,
    );
    this.#tell("0", "");
  }

  become(change: Partial<ConsoleState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.#stateListeners) listener();
  }

  #tell(added: string, announcement: string): void {
    const waiting = this.#count((request) => request.ended === null);
    this.become({});
    const sentence = announcement === "" ? "" : `${announcement} ${waiting} waiting.`;
    for (const listener of this.#inboxListeners) listener({ waiting, added, announcement: sentence });
  }

  #answer<Answer>(answer: Answer): Promise<Answer> {
    // The core rejects with a plain tagged value, not with an Error.
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    return this.failing === null ? Promise.resolve(answer) : Promise.reject(this.failing);
  }

  #count(counted: (request: InventedRequest) => boolean): string {
    return this.requests.filter(counted).length.toString();
  }

  #inView(request: InventedRequest, { view }: InboxQuery): boolean {
    if (view === "decided") return request.ended !== null;
    return request.ended === null && (view === "waiting" || request.eligible);
  }

  #compare(one: InventedRequest, other: InventedRequest, { sort }: InboxQuery): number {
    return sort === "newest"
      ? other.received_s - one.received_s
      : one.expires_s - other.expires_s || one.request.localeCompare(other.request);
  }

  #row(request: InventedRequest): InboxRow {
    const left = request.expires_s - this.#now();
    const { ended, received_s, expires_s, ...rest } = request;
    const expires_in_text = remaining(left);
    return {
      ...rest,
      expires_in_text,
      expires_soon: left < 60,
      expires_at_text: timeOfDay(expires_s, false),
      received_at_text: timeOfDay(received_s, false),
      tombstone_text: ended,
      accessible_name: ended === null ? `${rowName(request)}. Expires in ${expires_in_text}.` : `${ended}. ${rowName(request)}`,
    };
  }
}

function scenario(name: string | null): ConsoleState {
  switch (name) {
    case "not-enrolled":
      return notEnrolledState;
    case "live":
      return { ...enrolledState, environment: "live", window_title: "LIVE - 7 waiting - Vidimus" };
    case "offline":
      return {
        ...enrolledState,
        gate: { state: "offline", since_text: "14:20", detail: "" },
        notifications: { available: false, error_id: "E-NOT-1" },
        clock: { state: "off", text: "42 s behind" },
      };
    case "automated":
      return { ...enrolledState, automated: true };
    case null:
    default:
      return enrolledState;
  }
}

/** The invented core for `npm run dev`: `?scenario=offline&theme=dark&requests=none`. */
export function fromAddress(address: URL): FakeBackend {
  const requests = address.searchParams.get("requests") === "none" ? [] : inventedRows();
  const fake = new FakeBackend(() => performance.now() / 1000, requests, scenario(address.searchParams.get("scenario")));
  const theme = address.searchParams.get("theme");
  if (theme === "light" || theme === "dark") fake.state = { ...fake.state, theme };
  if (address.searchParams.get("scenario") === "busy") setTimeout(() => { beBusy(fake); }, 500);
  return fake;
}

function beBusy(fake: FakeBackend): void {
  fake.end("01JD8V4B2X", "denied", "denied by Bo Specimen 14:27");
  fake.end("01JD8V41ZM", "approved", "approved by Bo Specimen 14:27");
  fake.add(invented("01JD8W0001", { headline: "Refund EUR 300.00 to invoice 851 of Dolor Sit SA", expires_s: 600 }));
  fake.add(invented("01JD8W0002", { headline: "Refund EUR 7.50 to invoice 799 of Amet Stationery", expires_s: 1440 }));
}
