/** The focus among the rows of the list, by request: only those near the screen are drawn, and rows are renewed under it. */

/** Frames for which a row that is scrolled to is waited for: it is drawn, measured and shown in the first few. */
const framesMax = 20;

export function rowOf(list: HTMLElement, request: string): HTMLElement | null {
  return list.querySelector<HTMLElement>(`[data-request="${CSS.escape(request)}"]`);
}

export function focusedRequest(list: HTMLElement): string | null {
  const focused = document.activeElement;
  return focused instanceof HTMLElement && list.contains(focused) ? (focused.dataset["request"] ?? null) : null;
}

/** Where a key leads from a place in a list; null where the key is none of the list's. */
export function target(key: string, current: number, count: number, page: number): number | null {
  const last = count - 1;
  switch (key) {
    case "j":
    case "arrowdown":
      return Math.min(last, current + 1);
    case "k":
    case "arrowup":
      return Math.max(0, current - 1);
    case "home":
      return 0;
    case "end":
      return last;
    case "pagedown":
      return Math.min(last, current + page);
    case "pageup":
      return Math.max(0, current - page);
    default:
      return null;
  }
}

function isShown(row: HTMLElement): boolean {
  return row.checkVisibility({ visibilityProperty: true });
}

/**
 * Gives the focus to a row, at once where it is drawn; else `bring` scrolls to it, and it gets the focus when it is shown.
 * `isStill` says whether the person has not gone elsewhere meanwhile.
 */
export function focusRow(list: HTMLElement, request: string, bring: () => void, isStill: () => boolean): void {
  const row = rowOf(list, request);
  if (row !== null && isShown(row)) {
    row.focus();
    return;
  }
  bring();
  let frames = 0;
  const look = (): void => {
    if (!isStill()) return;
    const found = rowOf(list, request);
    frames += 1;
    if (found !== null && isShown(found)) found.focus();
    else if (frames < framesMax) requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
