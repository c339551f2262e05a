/** The focus among the rows of the list, by request: rows are moved, renewed and removed under it. */

function rowsOf(list: HTMLElement): HTMLElement[] {
  return [...list.querySelectorAll<HTMLElement>("[data-request]")];
}

function focusedIndex(rows: HTMLElement[]): number {
  return rows.findIndex((row) => row === document.activeElement);
}

export function focusedRequest(list: HTMLElement): string | null {
  const rows = rowsOf(list);
  return rows[focusedIndex(rows)]?.dataset["request"] ?? null;
}

/** How far a key moves the focus in the list; null where the key is none of the list's. */
function target(key: string, current: number, count: number, page: number): number | null {
  switch (key) {
    case "j":
    case "arrowdown":
      return current + 1;
    case "k":
    case "arrowup":
      return current - 1;
    case "home":
      return 0;
    case "end":
      return count - 1;
    case "pagedown":
      return current + page;
    case "pageup":
      return current - page;
    default:
      return null;
  }
}

/** Moves the focus for a key of the list; `resume` is the request that had it last. */
export function moveFocus(list: HTMLElement, scroller: HTMLElement, key: string, resume: string | null): boolean {
  const rows = rowsOf(list);
  const first = rows[0];
  if (first === undefined) return false;
  const current = focusedIndex(rows);
  const page = Math.max(1, Math.floor(scroller.clientHeight / Math.max(1, first.offsetHeight)) - 1);
  const index = target(key, current, rows.length, page);
  if (index === null) return false;
  const remembered = rows.find((row) => row.dataset["request"] === resume);
  // From outside the list the first press returns to where the person was, or to the first row.
  const outside = current === -1 && key !== "home" && key !== "end";
  const next = outside ? (remembered ?? first) : rows[Math.min(rows.length - 1, Math.max(0, index))];
  next?.focus();
  return true;
}

/**
 * Runs a change of order and leaves the focused request focused, at the same height on the screen. WebKitGTK has no
 * scroll anchoring, and a node that is moved loses its focus in every engine.
 */
export function keepingFocus(list: HTMLElement, scroller: HTMLElement, change: () => void): void {
  const before = rowsOf(list);
  const index = focusedIndex(before);
  const held = before[index];
  if (held === undefined) {
    change();
    return;
  }
  const request = held.dataset["request"];
  const top = held.getBoundingClientRect().top;
  change();
  const after = rowsOf(list);
  const same = after.find((row) => row.dataset["request"] === request);
  if (same === undefined) {
    after[Math.min(index, after.length - 1)]?.focus({ preventScroll: true });
    return;
  }
  same.focus({ preventScroll: true });
  scroller.scrollTop += same.getBoundingClientRect().top - top;
}
