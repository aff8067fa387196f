/** Untrusted text, cut and cleaned; and names, in any case style. */

const LINE_BREAK = /\r\n|[\r\u0085\u2028\u2029]/g;
/** Control and invisible characters, and those that change the direction of text. */
const INVISIBLE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/** Text of a stranger, safe to print: at most `limit` characters, and none that is invisible. */
export function cleanText(text: string, limit: number): string {
  const cut = text.length > limit ? cutText(text, limit) : text;
  return cut.replace(LINE_BREAK, "\n").replace(INVISIBLE, "");
}

function cutText(text: string, limit: number): string {
  const characters = Array.from(text.slice(0, 2 * limit));
  return characters.length > limit ? `${characters.slice(0, limit - 1).join("")}…` : text;
}

/** A value for an error message: its kind and its start. */
export function described(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "string") return `text ${shown(value)}`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === "object") return `an object with ${Object.keys(value).length} keys`;
  return shown(value);
}

/** A value in quotes if it is text, cut to 60 characters. */
export function shown(value: unknown): string {
  const text = cleanText(String(value), 60);
  return typeof value === "string" ? `"${text}"` : text;
}

/** The words of an identifier in any case style, in lower case: `openPositionV2` has open, position, v2. */
function words(name: string): string[] {
  const parts = name.replace(/^r#/, "").split(/[^0-9A-Za-z\u0080-\uffff]+/);
  return parts.flatMap(splitAtCase).map((word) => word.toLowerCase());
}

function splitAtCase(part: string): string[] {
  const found: string[] = [];
  let start = 0;
  let current = "";
  for (let i = 0; i + 1 < part.length; i += 1) {
    const now = caseOf(part.charAt(i)) || current;
    const next = caseOf(part.charAt(i + 1));
    let boundary = -1;
    if (now === "lower" && next === "upper") boundary = i + 1;
    else if (current === "upper" && now === "upper" && caseOf(part.charAt(i)) && next === "lower") boundary = i;
    current = boundary < 0 ? now : "";
    if (boundary < 0) continue;
    found.push(part.slice(start, boundary));
    start = boundary;
  }
  return part ? [...found, part.slice(start)] : found;
}

function caseOf(char: string): "lower" | "upper" | "" {
  if (char.toLowerCase() === char.toUpperCase()) return "";
  return char === char.toLowerCase() ? "lower" : "upper";
}

/** The letters and digits of a name in lower case, which it shares in every case style. */
export function letters(name: string): string {
  return words(name).join("");
}

/**
 * The one of `names` that `given` means: the name itself, else the only one with the same words, else the only one with
 * the same letters.
 */
export function nameMeant(given: string, names: readonly string[]): string | undefined {
  if (names.includes(given)) return given;
  for (const key of [(name: string) => words(name).join("_"), letters]) {
    const wanted = key(given);
    const found = wanted ? new Set(names.filter((name) => key(name) === wanted)) : new Set<string>();
    if (found.size > 0) return found.size === 1 ? [...found][0] : undefined;
  }
  return undefined;
}
