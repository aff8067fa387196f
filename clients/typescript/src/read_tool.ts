/** A tool from its row on a page: compact, verbose, or a mixture. */

import { hexBytes } from "./bytes.js";
import { PageError } from "./errors.js";
import { isObject, type Json, type JsonObject, members } from "./json.js";
import { type TypeNode, U64 } from "./nodes.js";
import type { Tool, ToolAccount, ToolArgument } from "./program.js";
import { Budget, flag, listOf, orNull, pairOf, type Read, readDefault, readDiscriminator, readPda, readType, readValue, record, text, word } from "./read_nodes.js";
import { cleanText, shown } from "./text.js";

const LONGEST_NAME = 256;
const LONGEST_DESCRIPTION = 4096;
const MOST_PARAMETERS = 1024;
/** A parameter that no caller gives: mcpsol's own clients stop at it. */
const GUARD = "read x";
const SUFFIXES = ["_sw", "_s", "_w"];
const ACCOUNT_WORDS = new Set(["pubkey", "publicKey"]);
/** The details of a parameter: their verbose name, and the key under `x` in the compact form. */
const TABLES: [string, string][] = [
  ["exact", "t"],
  ["name", "k"],
  ["address", "a"],
  ["seeds", "s"],
  ["value", "v"],
  ["default", "f"],
];
const FLAGS: [string, string][] = [
  ["optional", "o"],
  ["maySign", "e"],
];
/** Words that mean another type than the same word among types. */
const OWN_WORDS: Record<string, string> = { str: "string", Pubkey: "pubkey" };

/** How a reader names signers: true, false or "either". */
export const signs: Read<boolean | "either"> = word<boolean | "either">(true, false, "either");
const readRest = record<Tool["rest"][number]>([
  ["name", text],
  ["writable", flag, false],
  ["signer", signs, false],
  ["optional", flag, true],
  ["docs", listOf(text), []],
]);
const readFill = listOf(pairOf(text, readValue));

/** The tool in `row`, which is on page `cursor`. `isOurs`: the page follows docs/wire.md. */
export function readTool(row: JsonObject, cursor: number, isOurs: boolean): Omit<Tool, "program"> {
  return new RowReader(row, cursor, isOurs).tool();
}

interface Parameter {
  key: string;
  isVerbose: boolean;
  word: string;
  details: JsonObject;
}

class RowReader {
  private readonly place: string;
  private readonly name: string;
  private readonly x: JsonObject;

  constructor(
    private readonly row: JsonObject,
    cursor: number,
    private readonly isOurs: boolean,
  ) {
    this.place = `page ${cursor}`;
    const name = this.first("n", "name");
    if (typeof name !== "string") throw this.bad("a tool has no name");
    this.name = cleanText(name, LONGEST_NAME);
    this.place = `page ${cursor}, tool ${this.name}`;
    this.x = this.object(row.x, "x");
  }

  tool(): Omit<Tool, "program"> {
    const accounts: ToolAccount[] = [];
    const args: ToolArgument[] = [];
    const ambiguous: string[] = [];
    for (const parameter of this.parameters()) {
      if (!this.isAccount(parameter, args)) {
        args.push(this.argument(parameter));
        continue;
      }
      const account = this.account(parameter);
      accounts.push(account);
      if (account.signer || account.writable) ambiguous.length = 0;
      else ambiguous.push(account.name);
    }
    return {
      name: this.name,
      description: this.text(this.first("i", "description"), LONGEST_DESCRIPTION),
      discriminator: this.extra("disc", readDiscriminator, this.plainDiscriminator()),
      also: this.extra("also", listOf(readDiscriminator), []),
      accounts,
      args,
      rest: this.extra("rest", listOf(readRest), []),
      returns: this.extra("ret", orNull(readType), null),
      absent: this.x.absent === "omitted" ? "omitted" : "program_id",
      fill: this.extra("fill", readFill, []),
      off: this.extra("off", orNull(text), null),
      ambiguous: this.isOurs ? [] : ambiguous,
    };
  }

  // --- the row's members ----------------------------------------------------------------------------------------------

  private bad(why: string): PageError {
    return new PageError(this.place, why);
  }

  /** The first of the keys that has a value. */
  private first(...keys: string[]): Json | undefined {
    return keys.map((key) => this.row[key]).find((value) => value !== undefined && value !== null);
  }

  private text(value: Json | undefined, limit: number): string {
    return typeof value === "string" ? cleanText(value, limit) : "";
  }

  private object(value: Json | undefined, what: string): JsonObject {
    if (value === undefined || value === null) return Object.create(null) as JsonObject;
    if (!isObject(value)) throw this.bad(`${what} is not an object`);
    return value;
  }

  private read<T>(read: Read<T>, value: Json | undefined, what: string): T {
    return read(value, new Budget(`${this.place}, ${what}`));
  }

  private extra<T>(key: string, read: Read<T>, fallback: T): T {
    const value = this.x[key];
    return value === undefined ? fallback : this.read(read, value, `x.${key}`);
  }

  private plainDiscriminator(): Tool["discriminator"] {
    const given = this.first("d", "discriminator");
    const bytes = typeof given === "string" && given.length <= 2048 ? hexBytes(given.replace(/^0x/, "")) : undefined;
    if (!bytes) throw this.bad("its discriminator is not hex");
    return { bytes, origin: "given", offset: 0, consumed: true, size: null };
  }

  // --- parameters -----------------------------------------------------------------------------------------------------

  /** The parameters in the order of `r`. Those that `r` leaves out follow in their own order. */
  private parameters(): Parameter[] {
    const rest = [...members(this.object(this.first("p", "parameters", "params"), "p"))];
    const order = this.first("r", "required") ?? [];
    if (!Array.isArray(order) || !order.every((key) => typeof key === "string")) throw this.bad("r is not a list of names");
    if (Math.max(rest.length, order.length) > MOST_PARAMETERS) throw this.bad(`it has more than ${MOST_PARAMETERS} parameters`);
    const ordered = order.map((key): [string, Json] => {
      const place = rest.findIndex(([name]) => name === key);
      return place < 0 ? [key as string, "?"] : (rest.splice(place, 1)[0] as [string, Json]);
    });
    return [...ordered, ...rest].filter(([key]) => key !== GUARD).map(([key, value]) => this.parameter(key, value));
  }

  private parameter(key: string, value: Json): Parameter {
    const isVerbose = isObject(value);
    const details: JsonObject = Object.assign(Object.create(null) as JsonObject, isVerbose ? value : { type: value });
    for (const [long, short] of TABLES) {
      const found = this.object(this.x[short], `x.${short}`)[key];
      if (found !== undefined) details[long] = found;
    }
    for (const [long, short] of FLAGS) {
      const keys = this.x[short] ?? [];
      if (!Array.isArray(keys)) throw this.bad(`x.${short} is not a list of names`);
      if (keys.includes(key)) details[long] = true;
    }
    if (typeof details.type !== "string") throw this.bad(`parameter ${shown(key)} has no type`);
    return { key, isVerbose, word: details.type, details };
  }

  /** Accounts come first on all pages, so a pubkey after an argument is an argument on pages of mcpsol. */
  private isAccount({ word: given, details }: Parameter, before: readonly ToolArgument[]): boolean {
    return ACCOUNT_WORDS.has(given) && details.exact === undefined && (this.isOurs || before.length === 0);
  }

  private account({ key, isVerbose, details }: Parameter): ToolAccount {
    const suffix = isVerbose ? "" : SUFFIXES.find((end) => key.endsWith(end)) ?? "";
    const base = cleanText(key.slice(0, key.length - suffix.length), LONGEST_NAME);
    const path = this.accountPath(base, details.name);
    const isSigner = isVerbose ? details.signer === true : suffix.includes("s");
    return {
      name: path.join("."),
      path,
      writable: isVerbose ? details.writable === true : suffix.includes("w"),
      signer: details.maySign === true ? "either" : isSigner,
      optional: details.optional === true,
      address: this.detail(details.address, orNull(text), `address of ${key}`),
      pda: this.detail(details.seeds, readPda, `seeds of ${key}`),
      value: this.detail(details.value, readValue, `value of ${key}`),
      description: this.text(details.description, LONGEST_DESCRIPTION),
    };
  }

  private accountPath(base: string, name: Json | undefined): string[] {
    const names = typeof name === "string" ? [name] : name;
    if (Array.isArray(names) && names.length > 0 && names.every((step) => typeof step === "string")) {
      return names.map((step) => cleanText(step as string, LONGEST_NAME));
    }
    return this.isOurs ? base.split(".") : [base];
  }

  private detail<T>(value: Json | undefined, read: Read<T>, what: string): T | null {
    return value === undefined || value === null ? null : this.read(read, value, what);
  }

  private argument({ key, word: given, details }: Parameter): ToolArgument {
    const name = typeof details.name === "string" ? details.name : key;
    return {
      name: cleanText(name, LONGEST_NAME),
      type: this.argumentType(key, given, details.exact),
      word: cleanText(given, 64),
      isExact: details.exact !== undefined || given !== "int",
      default: this.detail(details.default, readDefault, `default of ${key}`),
      description: this.text(details.description, LONGEST_DESCRIPTION),
    };
  }

  private argumentType(key: string, given: string, exact: Json | undefined): TypeNode | null {
    if (exact !== undefined) return this.read(readType, exact, `type of ${key}`);
    if (given === "int") return U64; // as mcpsol's clients write it
    if (ACCOUNT_WORDS.has(given)) return { kind: "pubkey" };
    try {
      const named = OWN_WORDS[given] ?? given;
      return named.startsWith("@") ? null : this.read(readType, named, `type of ${key}`);
    } catch (error) {
      if (error instanceof PageError) return null; // a label for people
      throw error;
    }
  }
}
