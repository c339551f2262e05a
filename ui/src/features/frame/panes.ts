/** Moves the focus to the next region of the window, or back to the one before it. */
export function nextPane(frame: HTMLElement, backwards: boolean): void {
  const panes = [...frame.querySelectorAll<HTMLElement>("[data-pane]")];
  const current = panes.findIndex((pane) => pane.contains(document.activeElement));
  const step = backwards ? -1 : 1;
  const start = current === -1 && backwards ? 0 : current;
  panes[(start + step + panes.length) % panes.length]?.focus();
}
