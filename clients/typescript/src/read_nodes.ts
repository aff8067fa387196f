/** Readers of the nodes, rows and records of docs/wire.md. They refuse everything that the page does not define. */

import { hexBytes } from "./bytes.js";
import { PageError } from "./errors.js";
import { DEEPEST, isObject, type Json, type JsonObject } from "./json.js";
import type { Default, Discriminator, FieldNode, IntNode, PdaNode, SeedNode, TypeDefinition, TypeNode, ValueNode, VariantNode } from "./nodes.js";
import { cleanText, described } from "./text.js";

const MOST_ITEMS = 1_000_000;
const LONGEST_TEXT = 65_536;

/** How deep a reader is, and how many values it has read. */
export class Budget {
  private depth = 0;
  private items = 0;

  constructor(readonly place: string) {}

  refuse(expected: string, value: Json | undefined): PageError {
    return new PageError(this.place, `expected ${expected}, got ${described(value)}`);
  }

  within<T>(read: () => T): T {
    this.depth += 1;
    this.items += 1;
    if (this.depth > DEEPEST) throw new PageError(this.place, `values nest deeper than ${DEEPEST} levels`);
    if (this.items > MOST_ITEMS) throw new PageError(this.place, `it has more than ${MOST_ITEMS} values`);
    const found = read();
    this.depth -= 1;
    return found;
  }
}

/** Turns JSON into a part of the model. Throws PageError. */
export type Read<T> = (value: Json | undefined, budget: Budget) => T;

/** The parts of a row or record, in order: name, reader and default. Without a default it must be there. */
export type Parts = readonly (readonly [string, Read<unknown>, unknown?])[];

// --- scalars ----------------------------------------------------------------------------------------------------------

export const text: Read<string> = (value, budget) => {
  if (typeof value !== "string") throw budget.refuse("text", value);
  return cleanText(value, LONGEST_TEXT);
};

const flag: Read<boolean> = (value, budget) => {
  if (typeof value !== "boolean") throw budget.refuse("true or false", value);
  return value;
};

export const whole: Read<number> = (value, budget) => {
  if (!Number.isSafeInteger(value)) throw budget.refuse("a whole number", value);
  return value as number;
};

const size: Read<number> = (value, budget) => {
  if (whole(value, budget) < 0) throw budget.refuse("a number from 0 on", value);
  return value as number;
};

const hex: Read<Uint8Array> = (value, budget) => {
  const found = typeof value === "string" ? hexBytes(value) : undefined;
  if (!found) throw budget.refuse("bytes in hex", value);
  return found;
};

const word =
  <W extends string | number | boolean>(...words: W[]): Read<W> =>
  (value, budget) => {
    if (!words.includes(value as W)) throw budget.refuse(words.map(String).join(" or "), value);
    return value as W;
  };

// --- combinations -----------------------------------------------------------------------------------------------------

export const orNull =
  <T>(read: Read<T>): Read<T | null> =>
  (value, budget) =>
    value === null ? null : read(value, budget);

export const listOf =
  <T>(read: Read<T>): Read<T[]> =>
  (value, budget) => {
    if (!Array.isArray(value)) throw budget.refuse("a list", value);
    return budget.within(() => value.map((item) => read(item, budget)));
  };

/** A list of exactly these. */
export const pairOf =
  <A, B>(first: Read<A>, second: Read<B>): Read<[A, B]> =>
  (value, budget) => {
    if (!Array.isArray(value) || value.length !== 2) throw budget.refuse("a list of two", value);
    return budget.within(() => [first(value[0], budget), second(value[1], budget)]);
  };

function partsOf(parts: Parts, get: (i: number, name: string) => Json | undefined, budget: Budget): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  parts.forEach(([name, read, ...fallback], i) => {
    const value = get(i, name);
    if (value !== undefined) out[name] = read(value, budget);
    else if (fallback.length > 0) out[name] = fallback[0];
    else throw budget.refuse(`"${name}"`, value);
  });
  return out;
}

/** A list of parts, of which the last may be missing. */
export const row =
  <T>(parts: Parts): Read<T> =>
  (value, budget) => {
    if (!Array.isArray(value) || value.length > parts.length) {
      throw budget.refuse(`a list of at most ${parts.length}`, value);
    }
    return budget.within(() => partsOf(parts, (i) => value[i], budget) as T);
  };

/** An object of parts. A key that is not one of them is refused. */
export const record =
  <T>(parts: Parts): Read<T> =>
  (value, budget) => {
    if (!isObject(value)) throw budget.refuse("an object", value);
    const unknown = Object.keys(value).find((key) => !parts.some(([name]) => name === key));
    if (unknown !== undefined) throw budget.refuse("only keys that docs/wire.md names", unknown);
    return budget.within(() => partsOf(parts, (_, name) => value[name], budget) as T);
  };

/** A word, or a list of a tag and its parts. */
const node =
  <T>(what: string, words: ReadonlyMap<string, T>, tags: () => Record<string, Parts>): Read<T> =>
  (value, budget) => {
    const found = typeof value === "string" ? words.get(value) : undefined;
    if (found !== undefined) return found;
    const [tag, ...rest] = Array.isArray(value) ? value : [];
    const known = tags();
    const parts = typeof tag === "string" && Object.hasOwn(known, tag) ? known[tag] : undefined;
    if (parts === undefined) throw budget.refuse(`a ${what}`, Array.isArray(value) ? tag : value);
    return { kind: tag, ...row<object>(parts)(rest, budget) } as T;
  };

// --- free JSON --------------------------------------------------------------------------------------------------------

const UNWRAP: Record<string, Read<unknown>> = {
  $int: (value, budget) => {
    if (typeof value !== "string" || !/^-?[0-9]{1,100}$/.test(value)) throw budget.refuse("a decimal number", value);
    return BigInt(value);
  },
  $float: (value, budget) => {
    const number = typeof value === "string" && value.length < 40 ? PYTHON_FLOATS.get(value) ?? Number(value || "?") : Number.NaN;
    if (Number.isNaN(number) && value !== "nan") throw budget.refuse("a number", value);
    return number;
  },
  $hex: hex,
  $tuple: (value, budget) => listOf(free)(value, budget),
  $: (value, budget) => freeMembers(value, budget),
};
const PYTHON_FLOATS = new Map([["nan", Number.NaN], ["inf", Infinity], ["-inf", -Infinity]]);

const freeMembers: Read<JsonObject> = (value, budget) => {
  if (!isObject(value)) throw budget.refuse("an object", value);
  const out = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of Object.entries(value)) out[key] = free(item, budget);
  return out as JsonObject;
};

/** Free JSON: constants and defaults. What JSON would lose is unwrapped: bigint for $int, Uint8Array for $hex. */
export const free: Read<unknown> = (value, budget) =>
  budget.within(() => {
    if (Array.isArray(value)) return value.map((item) => free(item, budget));
    if (!isObject(value)) return value ?? null;
    const [key, ...others] = Object.keys(value);
    if (key === undefined || others.length > 0 || !key.startsWith("$")) return freeMembers(value, budget);
    const unwrap = Object.hasOwn(UNWRAP, key) ? UNWRAP[key] : undefined;
    if (!unwrap) throw budget.refuse("a wrapped value", key);
    return unwrap(value[key], budget);
  });

// --- types ------------------------------------------------------------------------------------------------------------

const WORDS = new Map<string, TypeNode>([
  ["shortU16", { kind: "shortU16" }],
  ["bool", { kind: "bool", size: { kind: "int", bits: 8, signed: false, bigEndian: false } }],
  ["pubkey", { kind: "pubkey" }],
  ["text", { kind: "text", encoding: "utf8" }],
  ["raw", { kind: "raw" }],
]);
for (const bigEndian of [false, true]) {
  const end = bigEndian ? "be" : "";
  for (const bits of [8, 16, 32, 64, 128, 256]) {
    if (bigEndian && bits === 8) continue; // ["int",8,false,true]
    WORDS.set(`u${bits}${end}`, { kind: "int", bits, signed: false, bigEndian });
    WORDS.set(`i${bits}${end}`, { kind: "int", bits, signed: true, bigEndian });
  }
  for (const bits of [32, 64]) WORDS.set(`f${bits}${end}`, { kind: "float", bits, bigEndian });
}
const U32 = WORDS.get("u32") as IntNode;
const TEXT = WORDS.get("text") as TypeNode;
const RAW = WORDS.get("raw") as TypeNode;
WORDS.set("string", { kind: "sized", item: TEXT, prefix: U32 });
WORDS.set("bytes", { kind: "sized", item: RAW, prefix: U32 });

/** A type node. */
export const readType: Read<TypeNode> = (value, budget) => {
  if (typeof value === "string" && value.startsWith("@")) {
    return { kind: "link", name: text(value.slice(1), budget), arguments: [] };
  }
  if (Array.isArray(value) && value[0] === "vec") {
    const { item } = row<{ item: TypeNode }>([["item", readType]])(value.slice(1), budget);
    return { kind: "array", item, count: U32 };
  }
  return readTagged(value, budget);
};

const int: Read<IntNode> = (value, budget) => {
  const found = readType(value, budget);
  if (found.kind !== "int") throw budget.refuse("an integer type", value);
  return found;
};

const intOrShort: Read<TypeNode> = (value, budget) => {
  const found = readType(value, budget);
  if (found.kind !== "int" && found.kind !== "shortU16") throw budget.refuse("an integer type", value);
  return found;
};

const count: Read<unknown> = (value, budget) => {
  if (value === null) return null;
  if (typeof value === "number") return size(value, budget);
  return Array.isArray(value) && value[0] === "generic" ? readType(value, budget) : intOrShort(value, budget);
};

const typeOrNumber: Read<TypeNode | number> = (value, budget) =>
  typeof value === "number" ? whole(value, budget) : readType(value, budget);

const texts = listOf(text);
const readDefault: Read<Default> = row([["value", free], ["omitted", flag, false]]);
const readField: Read<FieldNode> = row([
  ["name", text],
  ["type", readType],
  ["docs", texts, []],
  ["default", orNull(readDefault), null],
]);
const readVariant: Read<VariantNode> = row([
  ["name", text],
  ["payload", orNull(readType), null],
  ["value", orNull(whole), null],
  ["docs", texts, []],
]);
const item = ["item", readType] as const;
const TYPES: Record<string, Parts> = {
  int: [["bits", word(8, 16, 32, 64, 128, 256)], ["signed", flag, false], ["bigEndian", flag, false]],
  bool: [["size", int, WORDS.get("u8")]],
  text: [["encoding", word("utf8", "base16", "base58", "base64"), "utf8"]],
  sized: [item, ["prefix", intOrShort]],
  fixed: [item, ["size", size]],
  until: [item, ["mark", hex]],
  before: [item, ["data", hex]],
  after: [item, ["data", hex]],
  offset: [item, ["amount", whole], ["when", word("pre", "post")], ["strategy", word("relative", "absolute", "padded", "preOffset")]],
  option: [item, ["prefix", int, WORDS.get("u8")], ["fixed", flag, false]],
  zeroable: [item, ["zero", orNull(hex), null]],
  remainder: [item],
  generic: [["name", text]],
  array: [item, ["count", count]],
  set: [item, ["count", count]],
  map: [["key", readType], ["value", readType], ["count", count]],
  tuple: [["items", listOf(readType)]],
  struct: [["fields", listOf(readField)]],
  enum: [["variants", listOf(readVariant)], ["tag", intOrShort, WORDS.get("u8")]],
  link: [["name", text], ["arguments", listOf(typeOrNumber), []]],
  amount: [["number", int], ["decimals", whole], ["unit", orNull(text), null]],
  time: [["number", int]],
  unsupported: [["text", text], ["why", text]],
};
const readTagged = node<TypeNode>("type", WORDS, () => TYPES);

const generic = row<{ name: string; const: string | null }>([["name", text], ["const", orNull(text), null]]);

/** A type definition, as pages and the stream have it. */
export const readDefinition: Read<TypeDefinition> = record([
  ["name", text],
  ["type", readType],
  ["docs", texts, []],
  ["generics", listOf(generic), []],
  ["layout", text, "borsh"],
  ["align", orNull(size), null],
  ["shape", word("struct", "enum", "alias"), "struct"],
  ["declared", listOf(pairOf(text, text)), []],
]);

// --- discriminators, seeds and values ---------------------------------------------------------------------------------

export const readDiscriminator: Read<Discriminator> = row([
  ["bytes", hex, new Uint8Array()],
  ["origin", word("given", "anchor", "shank", "codama", "none"), "given"],
  ["offset", size, 0],
  ["consumed", flag, true],
  ["size", orNull(size), null],
]);

const encoding = orNull(word("be", "utf8"));
const SEEDS: Record<string, Parts> = {
  const: [["value", hex]],
  arg: [["path", texts], ["type", orNull(readType), null], ["encoding", encoding, null]],
  account: [
    ["account", texts],
    ["field", texts, []],
    ["accountType", orNull(text), null],
    ["type", orNull(readType), null],
    ["encoding", encoding, null],
    ["sort", orNull(word("min", "max")), null],
    ["other", texts, []],
  ],
  program: [],
  unknown: [["why", text]],
};
const readSeed = node<SeedNode>("seed", new Map(), () => SEEDS);

/** How a client fills in an account or argument. */
export const readValue: Read<ValueNode> = (value, budget) => readAnyValue(value, budget);

/** A derived address. */
export const readPda: Read<PdaNode> = row([
  ["seeds", listOf(readSeed)],
  ["program", orNull(readValue), null],
  ["name", text, ""],
  ["bump", orNull(text), null],
]);

const VALUES: Record<string, Parts> = {
  const: [["value", free], ["type", orNull(readType), null]],
  arg: [["path", texts]],
  account: [["account", texts], ["field", texts, []], ["accountType", orNull(text), null]],
  bump: [["account", texts]],
  program: [],
  identity: [],
  payer: [],
  pda: [["pda", readPda]],
  resolver: [["name", text], ["depends", texts, []]],
  if: [["condition", readValue], ["equals", free, null], ["then", orNull(readValue), null], ["otherwise", orNull(readValue), null]],
};
const readAnyValue = node<ValueNode>("value", new Map(), () => VALUES);

export { flag, hex, readDefault, readField, size, texts, word };
