/** The errors of this package. Each has the place that it is about: a page, an argument or an account. */

import { shown } from "./text.js";

/** The base of all errors that this package throws on purpose. */
export class ReaderError extends Error {
  /** The page, argument or account that the error is about, such as `deposit.amount`. */
  readonly place: string;

  constructor(place: string, why: string) {
    super(place ? `${place}: ${why}` : why);
    this.name = new.target.name;
    this.place = place;
  }
}

/** A page, or the stream, breaks docs/wire.md. */
export class PageError extends ReaderError {}

/** A value does not fit its type. */
export class EncodeError extends ReaderError {}

/** An account is missing, unknown or cannot be derived. */
export class AccountError extends ReaderError {}

/** The tool or type cannot be used at all, with the reason. */
export class NotUsableError extends ReaderError {}

/** The program has no such tool, argument, account or type. */
export class UnknownNameError extends ReaderError {
  constructor(place: string, kind: string, name: string, known: readonly string[]) {
    super(place, `unknown ${kind} ${shown(name)}. ${listed(known)}`);
  }
}

/** The names that a caller may use, as a sentence. */
export function listed(known: readonly string[]): string {
  if (known.length === 0) return "There are none.";
  const more = known.length > 20 ? ", …" : "";
  return `Known: ${known.slice(0, 20).map((name) => shown(name)).join(", ")}${more}.`;
}
