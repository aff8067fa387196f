/** Values as bytes. The JSON forms of docs/values.md are read, and bigint, Uint8Array and Map too. */

import { base58Bytes, base64Bytes, compactU16, hexBytes, hexText, indexOfBytes, utf8Bytes } from "./bytes.js";
import { EncodeError, listed } from "./errors.js";
import { parseJson } from "./json.js";
import { type Count, type Encoding, type EnumNode, fieldKeys, type FieldNode, type IntNode, type OffsetNode, type ShortU16Node, type TypeNode, typeText } from "./nodes.js";
import { described, nameMeant, shown } from "./text.js";
import { DEEPEST_VALUE, isBytes, MOST_BYTES, type TypeTable } from "./type_table.js";

/** The bytes of `value`, a value of `node`. `place`: the start of the path in errors. */
export function encodeValue(types: TypeTable, node: TypeNode, value: unknown, place = ""): Uint8Array {
  return encodedAlone(types, types.root(node), value, [place], 0);
}

/** The bytes of an instruction's arguments. */
export function encodeArguments(types: TypeTable, fields: FieldNode[], values: unknown, place: string): Uint8Array {
  const node: TypeNode = { kind: "struct", fields };
  types.check(node);
  return encodedAlone(types, node, values, [place], 0);
}

/** A value in a buffer of its own. Absolute offsets may count from its end, so it is written twice if one moves. */
function encodedAlone(types: TypeTable, node: TypeNode, value: unknown, path: string[], depth: number): Uint8Array {
  const writer = new Writer(types, path, depth, null);
  writer.write(node, value);
  if (!types.movesCursor(node)) return writer.bytes();
  const length = writer.size;
  const again = new Writer(types, path, depth, length);
  again.write(node, value);
  if (again.bytes().length > length) throw again.refuse(node, `an offset moves past the end of the ${length} bytes`);
  again.fill(length);
  return again.bytes();
}

class Writer {
  /** How many bytes were written, wherever they went. */
  size = 0;
  private at = 0;
  private end = 0;
  private data = new Uint8Array(64);

  constructor(
    private readonly types: TypeTable,
    private readonly path: string[],
    private depth: number,
    private readonly length: number | null,
  ) {}

  bytes(): Uint8Array {
    return this.data.slice(0, this.end);
  }

  refuse(node: TypeNode, why: string): EncodeError {
    return new EncodeError(placeOf(this.path), `${typeText(node)}: ${why}`);
  }

  // --- the buffer -----------------------------------------------------------------------------------------------------

  private put(bytes: Uint8Array): void {
    this.fill(this.at + bytes.length);
    this.data.set(bytes, this.at);
    this.at += bytes.length;
    this.size += bytes.length;
  }

  /** Adds zeros up to `length` bytes. */
  fill(length: number): void {
    if (length > MOST_BYTES) throw new EncodeError(placeOf(this.path), `the value takes over ${MOST_BYTES} bytes`);
    if (length > this.data.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.data.length));
      larger.set(this.data.subarray(0, this.end));
      this.data = larger;
    }
    this.end = Math.max(this.end, length);
  }

  private alone(node: TypeNode, value: unknown): Uint8Array {
    return encodedAlone(this.types, node, value, this.path, this.depth);
  }

  private writeAt(step: string, node: TypeNode, value: unknown): void {
    this.path.push(step);
    this.write(node, value);
    this.path.pop();
  }

  // --- every kind of type ---------------------------------------------------------------------------------------------

  write(node: TypeNode, value: unknown): void {
    switch (node.kind) {
      case "int":
      case "shortU16":
        return this.put(this.integer(node, value));
      case "amount":
      case "time":
        return this.put(this.integer(node.number, value));
      case "float":
        return this.put(this.float(node, value));
      case "bool":
        return this.put(intBytes(node.size, this.bool(node, value) ? 1n : 0n));
      case "pubkey":
        return this.put(this.address(node, value));
      case "text":
        return this.put(this.text(node, node.encoding, value));
      case "raw":
        return this.put(this.rawBytes(node, value));
      case "sized": {
        const data = this.alone(node.item, value);
        this.writeLength(node, node.prefix, data.length, "bytes");
        return this.put(data);
      }
      case "fixed": {
        const data = this.alone(node.item, value);
        if (data.length > node.size) throw this.refuse(node, `expected at most ${node.size} bytes, got ${data.length}`);
        this.put(data);
        return this.put(this.zeros(node.size - data.length));
      }
      case "until":
        return this.writeUntil(node, node.mark, this.alone(node.item, value));
      case "before":
        this.put(node.data);
        return this.write(node.item, value);
      case "after":
        this.write(node.item, value);
        return this.put(node.data);
      case "offset":
        return this.writeOffset(node, value);
      case "option":
        if (isAbsent(value)) return this.put(this.zeros(node.prefix.bits / 8 + this.absentRoom(node)));
        this.put(intBytes(node.prefix, 1n));
        return this.write(node.item, this.some(node.item, value));
      case "zeroable":
        return this.writeZeroable(node, value);
      case "remainder":
        return isAbsent(value) ? undefined : this.write(node.item, this.some(node.item, value));
      case "array":
        if (isBytes(node)) return this.writeBytes(node, value);
        return this.writeItems(node, node.count, this.list(node, value), [node.item], false);
      case "set": {
        const isText = node.item.kind === "int" && node.item.bits === 8 && !isList(value);
        const items = isText ? Array.from(this.rawBytes(node, value)) : this.list(node, value);
        return this.writeItems(node, node.count, items, [node.item], true);
      }
      case "map":
        return this.writeItems(node, node.count, this.entries(node, value), [node.key, node.value], true);
      case "tuple": {
        const items = this.list(node, value);
        if (items.length !== node.items.length) throw this.refuse(node, `expected a list of ${node.items.length}, got ${items.length}`);
        return node.items.forEach((item, i) => this.writeAt(`[${i}]`, item, items[i]));
      }
      case "struct":
        return this.writeFields(node.fields, value);
      case "enum":
        return this.writeEnum(node, value);
      case "link":
        if (this.depth >= DEEPEST_VALUE) throw this.refuse(node, `the value nests deeper than ${DEEPEST_VALUE} levels`);
        this.depth += 1;
        this.write(this.types.expand(node), value);
        this.depth -= 1;
        return undefined;
      case "generic":
      case "unsupported":
        throw this.refuse(node, "the type cannot be encoded");
    }
  }

  // --- scalars --------------------------------------------------------------------------------------------------------

  private integer(node: IntNode | ShortU16Node, value: unknown): Uint8Array {
    const number = this.wholeNumber(node, value);
    const [low, high] = rangeOf(node);
    if (number < low || number > high) throw this.refuse(node, `${shown(number)} is out of range (${low} to ${high})`);
    return intBytes(node, number);
  }

  private wholeNumber(node: TypeNode, value: unknown): bigint {
    if (typeof value === "bigint") return value;
    if (typeof value === "string" && /^-?[0-9]{1,80}$/.test(value)) return BigInt(value);
    if (typeof value !== "number" || !Number.isInteger(value)) throw this.refuse(node, `expected an integer or its decimal text, got ${described(value)}`);
    if (!Number.isSafeInteger(value)) throw this.refuse(node, `the number ${shown(value)} may have lost digits: it is over 2^53-1. Give a bigint or decimal text`);
    return BigInt(value);
  }

  private float(node: TypeNode & { kind: "float" }, value: unknown): Uint8Array {
    const number = floatOf(value);
    if (number === undefined) throw this.refuse(node, `expected a number, "NaN", "Infinity" or "-Infinity", got ${described(value)}`);
    const isLost = typeof value === "bigint" || Number.isFinite(number) ? !Number.isFinite(node.bits === 32 ? Math.fround(number) : number) : false;
    if (isLost) throw this.refuse(node, `${shown(value)} is out of range`);
    const view = new DataView(new ArrayBuffer(node.bits / 8));
    if (node.bits === 32) view.setFloat32(0, number, !node.bigEndian);
    else view.setFloat64(0, number, !node.bigEndian);
    return new Uint8Array(view.buffer);
  }

  private bool(node: TypeNode, value: unknown): boolean {
    const known = [true, false, "true", "false"].indexOf(value as string);
    if (known < 0) throw this.refuse(node, `expected true or false, got ${described(value)}`);
    return known % 2 === 0;
  }

  private address(node: TypeNode, value: unknown): Uint8Array {
    const bytes = typeof value === "string" ? base58Bytes(value) : value;
    if (bytes instanceof Uint8Array && bytes.length === 32) return bytes;
    throw this.refuse(node, `expected a base58 address or 32 bytes, got ${described(value)}`);
  }

  private text(node: TypeNode, encoding: Encoding, value: unknown): Uint8Array {
    const bytes = typeof value === "string" ? TEXT_BYTES[encoding](value) : undefined;
    if (!bytes) throw this.refuse(node, `expected ${encoding} text, got ${described(value)}`);
    return bytes;
  }

  private rawBytes(node: TypeNode, value: unknown): Uint8Array {
    const given = typeof value === "string" ? bytesOfText(value) : value;
    if (given instanceof Uint8Array) return given;
    if (isList(given) && given.every(isByte)) return Uint8Array.from(given as number[]);
    const forms = '"0x" and hex, "base64:…", "base58:…", a list of numbers from 0 to 255 or a Uint8Array';
    throw this.refuse(node, `expected ${forms}, got ${described(value)}`);
  }

  // --- wrappers and optional values -----------------------------------------------------------------------------------

  private zeros(size: number): Uint8Array {
    if (size > MOST_BYTES) throw new EncodeError(placeOf(this.path), `the value takes over ${MOST_BYTES} bytes`);
    return new Uint8Array(size);
  }

  private writeUntil(node: TypeNode, mark: Uint8Array, data: Uint8Array): void {
    const whole = new Uint8Array(data.length + mark.length);
    whole.set(data);
    whole.set(mark, data.length);
    if (indexOfBytes(whole, mark) !== data.length) throw this.refuse(node, `the value contains its end mark, the bytes 0x${hexText(mark)}`);
    this.put(whole);
  }

  private writeOffset(node: OffsetNode, value: unknown): void {
    const before = this.at;
    if (node.when === "pre") this.move(node, before);
    this.write(node.item, value);
    if (node.when === "post") this.move(node, before);
    if (this.length !== null && this.at > this.length) throw this.refuse(node, `it moves to ${this.at}, outside the ${this.length} bytes`);
    if (node.strategy === "padded") this.fill(this.at);
  }

  private move(node: OffsetNode, before: number): void {
    this.at = movedTo(node, this.at, before, this.length);
    if (node.strategy === "padded") this.size += node.amount;
    if (this.at < 0) throw this.refuse(node, `it moves to ${this.at}, before the start`);
  }

  private absentRoom(node: TypeNode & { kind: "option" }): number {
    return node.fixed ? this.types.fixedSize(node.item) ?? 0 : 0;
  }

  private writeZeroable(node: TypeNode & { kind: "zeroable" }, value: unknown): void {
    const zero = node.zero ?? this.zeros(this.types.fixedSize(node.item) ?? 0);
    if (isAbsent(value)) return this.put(zero);
    const data = this.alone(node.item, this.some(node.item, value));
    if (indexOfBytes(data.subarray(0, zero.length), zero) === 0) {
      throw this.refuse(node, "the bytes of this value mean absent; give null for absent");
    }
    return this.put(data);
  }

  /** The inner value of `{"some": value}`, if the item needs that form. It may be bare. */
  private some(item: TypeNode, value: unknown): unknown {
    if (!this.types.nullable(item)) return value;
    const given = container(value);
    return isRecord(given) && Object.keys(given).join() === "some" ? given.some : value;
  }

  // --- lists ----------------------------------------------------------------------------------------------------------

  private list(node: TypeNode, value: unknown): readonly unknown[] {
    const given = container(value);
    if (!isList(given)) throw this.refuse(node, `expected a list, got ${described(value)}`);
    return given;
  }

  private entries(node: TypeNode, value: unknown): readonly unknown[] {
    const given = container(value);
    if (given instanceof Map) return [...given];
    return isRecord(given) ? Object.entries(given) : this.list(node, given);
  }

  private writeBytes(node: TypeNode & { count: Count }, value: unknown): void {
    const data = this.rawBytes(node, value);
    this.writeCount(node, node.count, data.length);
    this.put(data);
  }

  /** `parts`: the type of an item, or those of a key and a value. `isUnique`: each item or key may come once. */
  private writeItems(node: TypeNode, count: Count, items: readonly unknown[], parts: TypeNode[], isUnique: boolean): void {
    this.writeCount(node, count, items.length);
    const seen = new Set<string>();
    items.forEach((item, i) => {
      this.path.push(`[${i}]`);
      const values = parts.length === 1 ? [item] : this.pair(node, item);
      if (isUnique) {
        const key = hexText(this.alone(parts[0] as TypeNode, values[0]));
        if (seen.has(key)) throw this.refuse(node, `${described(values[0])} is there already`);
        seen.add(key);
      }
      parts.forEach((part, j) => (parts.length === 1 ? this.write(part, item) : this.writeAt(`[${j}]`, part, values[j])));
      this.path.pop();
    });
  }

  private pair(node: TypeNode, entry: unknown): readonly unknown[] {
    if (isList(entry) && entry.length === 2) return entry;
    throw this.refuse(node, `expected [key, value], got ${described(entry)}`);
  }

  private writeCount(node: TypeNode, count: Count, length: number): void {
    if (typeof count === "number") {
      if (length !== count) throw this.refuse(node, `expected exactly ${count} items, got ${length}`);
    } else if (count !== null && count.kind !== "generic") {
      this.writeLength(node, count, length, "items");
    }
  }

  private writeLength(node: TypeNode, prefix: IntNode | ShortU16Node, length: number, what: string): void {
    const most = rangeOf(prefix)[1];
    if (BigInt(length) > most) throw this.refuse(node, `expected at most ${most} ${what}, which its ${typeText(prefix)} prefix counts, got ${length}`);
    this.put(intBytes(prefix, BigInt(length)));
  }

  // --- structs and enums ----------------------------------------------------------------------------------------------

  private writeFields(fields: readonly FieldNode[], value: unknown): void {
    const given = container(value);
    if (!isRecord(given)) throw new EncodeError(placeOf(this.path), `expected an object with values by name, got ${described(value)}`);
    const keys = fieldKeys(fields);
    const shownKeys = keys.filter((_, i) => !fields[i]?.default?.omitted);
    const found = this.matched(shownKeys, given);
    const missing = keys.filter((key, i) => !found.has(key) && !fields[i]?.default);
    if (missing.length > 0) throw new EncodeError(placeOf(this.path), `missing ${missing.map(shown).join(", ")}. ${listed(shownKeys)}`);
    keys.forEach((key, i) => {
      const { type, default: fallback } = fields[i] as FieldNode;
      this.writeAt(key, type, found.has(key) ? found.get(key) : fallback?.value);
    });
  }

  /** The given values by the keys that they mean. */
  private matched(keys: readonly string[], given: Record<string, unknown>): Map<string, unknown> {
    const found = new Map<string, unknown>();
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) continue;
      const key = nameMeant(name, keys);
      if (key === undefined) throw new EncodeError(placeOf(this.path), `unknown name ${shown(name)}. ${listed(keys)}`);
      if (found.has(key)) throw new EncodeError(placeOf(this.path), `${shown(key)} is given twice, in two spellings`);
      found.set(key, value);
    }
    return found;
  }

  private writeEnum(node: EnumNode, value: unknown): void {
    const given = container(value);
    const names = node.variants.map((variant) => variant.name);
    const keys = isRecord(given) ? Object.keys(given) : [];
    const name = typeof given === "string" ? given : keys[0];
    if (name === undefined || keys.length > 1) throw this.refuse(node, `expected one variant by name, got ${described(value)}. ${listed(names)}`);
    const meant = nameMeant(name, names);
    if (meant === undefined) throw this.refuse(node, `unknown variant ${shown(name)}. ${listed(names)}`);
    const index = names.indexOf(meant);
    const variant = node.variants[index] as EnumNode["variants"][number];
    this.put(this.integer(node.tag, variant.value ?? index));
    const payload = isRecord(given) ? given[name] : undefined;
    if (variant.payload) this.writeAt(meant, variant.payload, this.payloadOf(variant.payload, payload, meant));
    else if (!isEmpty(payload)) throw this.refuse(node, `variant ${shown(meant)} holds nothing, got ${described(payload)}`);
  }

  /** The payload that is given. One that takes no bytes may be left out. */
  private payloadOf(node: TypeNode, payload: unknown, variant: string): unknown {
    if (payload !== undefined) return payload;
    if (this.types.fixedSize(node) === 0) return node.kind === "tuple" ? [] : {};
    throw this.refuse(node, `variant ${shown(variant)} holds a value: give {${shown(variant)}: …}`);
  }
}

// --- helpers ----------------------------------------------------------------------------------------------------------

const TEXT_BYTES: Record<Encoding, (text: string) => Uint8Array | undefined> = {
  utf8: utf8Bytes,
  base16: hexBytes,
  base58: base58Bytes,
  base64: base64Bytes,
};
const BYTES_AFTER: [string, (text: string) => Uint8Array | undefined][] = [
  ["0x", hexBytes],
  ["0X", hexBytes],
  ["base64:", base64Bytes],
  ["base58:", base58Bytes],
];
const FLOATS = new Map([["NaN", Number.NaN], ["Infinity", Infinity], ["-Infinity", -Infinity]]);

function placeOf(path: readonly string[]): string {
  return path.filter(Boolean).join(".").replaceAll(".[", "[");
}

function isAbsent(value: unknown): boolean {
  return value === null || value === undefined;
}

function isEmpty(value: unknown): boolean {
  return isAbsent(value) || (typeof value === "object" && Object.keys(value as object).length === 0);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isByte(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}

/** Is this an object with values by name? */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !isList(value) && !(value instanceof Uint8Array) && !(value instanceof Map);
}

/** The object or list in JSON text, or the value as it is: models send nested values as text. */
function container(value: unknown): unknown {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}

function bytesOfText(text: string): unknown {
  if (text.startsWith("[")) return container(text);
  const found = BYTES_AFTER.find(([start]) => text.startsWith(start));
  return found?.[1](text.slice(found[0].length));
}

function floatOf(value: unknown): number | undefined {
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  if (typeof value !== "string") return undefined;
  const known = FLOATS.get(value);
  if (known !== undefined) return known;
  const number = /^-?[0-9.eE+-]{1,40}$/.test(value) ? Number(value) : Number.NaN;
  return Number.isNaN(number) ? undefined : number;
}

function rangeOf(node: IntNode | ShortU16Node): [bigint, bigint] {
  if (node.kind === "shortU16") return [0n, 0xffffn];
  const bits = BigInt(node.bits);
  return node.signed ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
}

/** An integer that fits, as its type encodes it. */
export function intBytes(node: IntNode | ShortU16Node, value: bigint): Uint8Array {
  if (node.kind === "shortU16") return compactU16(Number(value));
  const out = new Uint8Array(node.bits / 8);
  let rest = BigInt.asUintN(node.bits, value);
  for (let i = 0; i < out.length; i += 1) {
    out[node.bigEndian ? out.length - 1 - i : i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return out;
}

function movedTo(node: OffsetNode, at: number, before: number, length: number | null): number {
  if (node.strategy === "preOffset") return before + node.amount;
  if (node.strategy !== "absolute") return at + node.amount;
  if (node.amount >= 0) return node.amount;
  return length ? ((node.amount % length) + length) % length : 0;
}
