/** The nodes of docs/wire.md: types, seeds, values and definitions, as objects with all defaults filled in. */

/** A little-endian integer unless `bigEndian`. */
export interface IntNode {
  kind: "int";
  bits: number;
  signed: boolean;
  bigEndian: boolean;
}

export interface ShortU16Node {
  kind: "shortU16";
}

export interface GenericNode {
  kind: "generic";
  name: string;
}

/** A fixed number, the type of a prefix, null for "to the end", or a const parameter. */
export type Count = number | IntNode | ShortU16Node | GenericNode | null;
export type Encoding = "utf8" | "base16" | "base58" | "base64";

export interface FieldNode {
  name: string;
  type: TypeNode;
  docs: string[];
  default: Default | null;
}

export interface VariantNode {
  name: string;
  payload: TypeNode | null;
  value: number | null;
  docs: string[];
}

/** A value for a field or argument that is not given. `omitted`: callers never give it. */
export interface Default {
  value: unknown;
  omitted: boolean;
}

export type TypeNode =
  | IntNode
  | ShortU16Node
  | GenericNode
  | { kind: "float"; bits: number; bigEndian: boolean }
  | { kind: "bool"; size: IntNode }
  | { kind: "pubkey" }
  | { kind: "text"; encoding: Encoding }
  | { kind: "raw" }
  | { kind: "sized"; item: TypeNode; prefix: IntNode | ShortU16Node }
  | { kind: "fixed"; item: TypeNode; size: number }
  | { kind: "until"; item: TypeNode; mark: Uint8Array }
  | { kind: "before"; item: TypeNode; data: Uint8Array }
  | { kind: "after"; item: TypeNode; data: Uint8Array }
  | OffsetNode
  | { kind: "option"; item: TypeNode; prefix: IntNode; fixed: boolean }
  | { kind: "zeroable"; item: TypeNode; zero: Uint8Array | null }
  | { kind: "remainder"; item: TypeNode }
  | { kind: "array"; item: TypeNode; count: Count }
  | { kind: "set"; item: TypeNode; count: Count }
  | { kind: "map"; key: TypeNode; value: TypeNode; count: Count }
  | { kind: "tuple"; items: TypeNode[] }
  | { kind: "struct"; fields: FieldNode[] }
  | EnumNode
  | LinkNode
  | { kind: "amount"; number: IntNode; decimals: number; unit: string | null }
  | { kind: "time"; number: IntNode }
  | { kind: "unsupported"; text: string; why: string };

export interface OffsetNode {
  kind: "offset";
  item: TypeNode;
  amount: number;
  when: "pre" | "post";
  strategy: "relative" | "absolute" | "padded" | "preOffset";
}

export interface EnumNode {
  kind: "enum";
  variants: VariantNode[];
  tag: IntNode | ShortU16Node;
}

export interface LinkNode {
  kind: "link";
  name: string;
  arguments: (TypeNode | number)[];
}

export interface TypeDefinition {
  name: string;
  type: TypeNode;
  docs: string[];
  generics: { name: string; const: string | null }[];
  layout: string;
  align: number | null;
  shape: string;
}

export interface Discriminator {
  bytes: Uint8Array;
  origin: string;
  offset: number;
  consumed: boolean;
  size: number | null;
}

export type SeedNode =
  | { kind: "const"; value: Uint8Array }
  | { kind: "arg"; path: string[]; type: TypeNode | null; encoding: "be" | "utf8" | null }
  | {
      kind: "account";
      account: string[];
      field: string[];
      accountType: string | null;
      type: TypeNode | null;
      encoding: "be" | "utf8" | null;
      sort: "min" | "max" | null;
      other: string[];
    }
  | { kind: "program" }
  | { kind: "unknown"; why: string };

export interface PdaNode {
  seeds: SeedNode[];
  program: ValueNode | null;
  name: string;
  bump: string | null;
}

export type ValueNode =
  | { kind: "const"; value: unknown; type: TypeNode | null }
  | { kind: "arg"; path: string[] }
  | { kind: "account"; account: string[]; field: string[]; accountType: string | null }
  | { kind: "bump"; account: string[] }
  | { kind: "program" }
  | { kind: "identity" }
  | { kind: "payer" }
  | { kind: "pda"; pda: PdaNode }
  | { kind: "resolver"; name: string; depends: string[] }
  | { kind: "if"; condition: ValueNode; equals: unknown; then: ValueNode | null; otherwise: ValueNode | null };

export const U8: IntNode = { kind: "int", bits: 8, signed: false, bigEndian: false };
export const U32: IntNode = { kind: "int", bits: 32, signed: false, bigEndian: false };
export const U64: IntNode = { kind: "int", bits: 64, signed: false, bigEndian: false };

/** Is this an integer of one unsigned byte? Arrays of it are bytes. */
export function isU8(node: TypeNode): boolean {
  return node.kind === "int" && node.bits === 8 && !node.signed && !node.bigEndian;
}

/** The types that a node holds directly. */
export function children(node: TypeNode): TypeNode[] {
  switch (node.kind) {
    case "map":
      return [node.key, node.value];
    case "tuple":
      return node.items;
    case "struct":
      return node.fields.map((field) => field.type);
    case "enum":
      return node.variants.flatMap((variant) => (variant.payload ? [variant.payload] : []));
    default:
      return "item" in node ? [node.item] : [];
  }
}

/** The node with each child replaced. */
export function mapChildren(node: TypeNode, change: (child: TypeNode) => TypeNode): TypeNode {
  switch (node.kind) {
    case "map":
      return { ...node, key: change(node.key), value: change(node.value) };
    case "tuple":
      return { ...node, items: node.items.map(change) };
    case "struct":
      return { ...node, fields: node.fields.map((field) => ({ ...field, type: change(field.type) })) };
    case "enum":
      return {
        ...node,
        variants: node.variants.map((variant) => ({
          ...variant,
          payload: variant.payload && change(variant.payload),
        })),
      };
    default:
      return "item" in node ? { ...node, item: change(node.item) } : node;
  }
}

/** The type in words for messages, such as `u64` or `Option<…>`. */
export function typeText(node: TypeNode): string {
  switch (node.kind) {
    case "int":
      return `${node.signed ? "i" : "u"}${node.bits}${node.bigEndian ? "be" : ""}`;
    case "float":
      return `f${node.bits}${node.bigEndian ? "be" : ""}`;
    case "link":
      return node.name;
    case "amount":
    case "time":
      return typeText(node.number);
    case "text":
      return node.encoding === "utf8" ? "text" : `${node.encoding} text`;
    default:
      return node.kind;
  }
}

/** The keys of fields in a value: their names, with `_2`, `_3` at those that repeat. */
export function fieldKeys(fields: readonly FieldNode[]): string[] {
  const names = fields.map((field) => field.name);
  const taken = new Set(names);
  const used = new Set<string>();
  return names.map((name) => {
    let key = name;
    for (let n = 2; used.has(key) || (key !== name && taken.has(key)); n += 1) key = `${name}_${n}`;
    used.add(key);
    return key;
  });
}
