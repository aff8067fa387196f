/**
 * JSON from a stranger's program.
 *
 * `JSON.parse` refuses the control characters that mcpsol's writer leaves in strings, forgets repeated keys, and has no
 * limit of depth. Objects here have no prototype, so that no key of theirs means something to JavaScript.
 */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** How deep values may nest. */
export const DEEPEST = 96;

/** Thrown by `parseJson`; its caller names the place. */
export class JsonError extends Error {}

const repeats = new WeakMap<JsonObject, [string, Json][]>();

/** The members of an object in order, with each of those that share a key. */
export function members(object: JsonObject): [string, Json][] {
  return repeats.get(object) ?? Object.entries(object);
}

/** Is this an object, and no list? */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const BLANKS = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\]*/y;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORDS: [string, Json][] = [["true", true], ["false", false], ["null", null]];

class Parser {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value(0);
    if (this.peek() !== "") throw this.error("the end");
    return value;
  }

  private error(expected: string): JsonError {
    return new JsonError(`expected ${expected} at character ${this.at}`);
  }

  private matched(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** The next character that is not blank. */
  private peek(): string {
    this.matched(BLANKS);
    return this.text.charAt(this.at);
  }

  private take(char: string): void {
    if (this.peek() !== char) throw this.error(`"${char}"`);
    this.at += 1;
  }

  private value(depth: number): Json {
    if (depth > DEEPEST) throw new JsonError(`values nest deeper than ${DEEPEST} levels`);
    const next = this.peek();
    if (next === "{") return this.object(depth);
    if (next === "[") return this.list(depth);
    if (next === '"') return this.string();
    const word = WORDS.find(([text]) => this.text.startsWith(text, this.at));
    if (word) {
      this.at += word[0].length;
      return word[1];
    }
    const number = this.matched(NUMBER);
    if (!number) throw this.error("a value");
    return Number(number);
  }

  /** Calls `read` for each item up to the character that closes the list or object. */
  private items(close: string, read: () => void): void {
    this.at += 1;
    if (this.peek() === close) {
      this.at += 1;
      return;
    }
    for (;;) {
      read();
      if (this.peek() === close) break;
      this.take(",");
    }
    this.at += 1;
  }

  private list(depth: number): Json[] {
    const found: Json[] = [];
    this.items("]", () => found.push(this.value(depth + 1)));
    return found;
  }

  private object(depth: number): JsonObject {
    const found: JsonObject = Object.create(null) as JsonObject;
    const pairs: [string, Json][] = [];
    this.items("}", () => {
      if (this.peek() !== '"') throw this.error("a key");
      const key = this.string();
      this.take(":");
      const value = this.value(depth + 1);
      pairs.push([key, value]);
      found[key] = value;
    });
    // Object.entries puts keys like "1" first, so their order is kept too.
    const isInOrder = Object.keys(found).every((key, i) => key === pairs[i]?.[0]);
    if (pairs.length !== Object.keys(found).length || !isInOrder) repeats.set(found, pairs);
    return found;
  }

  private string(): string {
    const parts: string[] = [];
    this.at += 1;
    for (;;) {
      parts.push(this.matched(PLAIN));
      const stop = this.text.charAt(this.at);
      if (stop === "") throw this.error("the end of a string");
      this.at += 1;
      if (stop === '"') return parts.join("");
      parts.push(this.escape());
    }
  }

  private escape(): string {
    const letter = this.text.charAt(this.at);
    const code = this.text.slice(this.at + 1, this.at + 5);
    this.at += 1;
    if (letter === "u" && /^[0-9a-fA-F]{4}$/.test(code)) {
      this.at += 4;
      return String.fromCharCode(Number.parseInt(code, 16));
    }
    const meant = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (meant === undefined) throw this.error("an escape");
    return meant;
  }
}

/** The value in JSON text. Throws JsonError. */
export function parseJson(text: string): Json {
  return new Parser(text).whole();
}
