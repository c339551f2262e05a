/** Letters written into these fields are text, not commands. */
const textInputs = new Set(["text", "search", "password", "email", "number", "tel", "url"]);

function takesText(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return textInputs.has(target.type);
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLElement && target.isContentEditable;
}

/**
 * Whether a key press is a single-key command: no modifier but Shift (some layouts need it for `/` and `?`), no field that
 * takes text, no input method at work, no dialog in front.
 */
export function isCommand(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.isComposing) return false;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (document.querySelector("dialog[open]") !== null) return false;
  return !takesText(event.target);
}
