/** The padding of repr(C) types, made explicit as offsets, so that the writer sees packed types only. */

import { NotUsableError } from "./errors.js";
import { type TypeNode, typeText } from "./nodes.js";
import { keyOf, type TypeTable } from "./type_table.js";

/** A type with its padding, its size and its alignment in bytes. */
export interface LaidOut {
  node: TypeNode;
  size: number;
  align: number;
}

/** The SVM aligns integers of 128 bits and more like u64. */
const LARGEST_ALIGN = 8;
const aligned = (size: number): number => Math.min(size, LARGEST_ALIGN);
const roundedUp = (at: number, align: number): number => Math.ceil(at / align) * align;

function padded(node: TypeNode, before: number, after: number): TypeNode {
  const offset = (item: TypeNode, amount: number, when: "pre" | "post"): TypeNode =>
    amount ? { kind: "offset", item, amount, when, strategy: "padded" } : item;
  return offset(offset(node, before, "pre"), after, "post");
}

/** A type inside one of `layout` ("c" or "packed"). Throws NotUsableError for a type without a fixed place. */
export function lowered(types: TypeTable, node: TypeNode, layout: string): LaidOut {
  const within = (align: number): number => (layout === "packed" ? 1 : align);
  const refuse = (): never => {
    throw new NotUsableError(typeText(node), `it has no fixed place in memory, which layout ${layout} needs`);
  };
  const number = (size: number): LaidOut => ({ node, size, align: aligned(size) });
  switch (node.kind) {
    case "int":
    case "float":
      return number(node.bits / 8);
    case "bool":
      return number(node.size.bits / 8);
    case "amount":
    case "time":
      return number(node.number.bits / 8);
    case "pubkey":
      return { node, size: 32, align: 1 };
    case "array": {
      if (typeof node.count !== "number") return refuse();
      const item = lowered(types, node.item, layout);
      return { node: { ...node, item: item.node }, size: item.size * node.count, align: item.align };
    }
    case "tuple": {
      const { parts, size, align } = inOrder(types, node.items, layout);
      return { node: { ...node, items: parts }, size, align };
    }
    case "struct": {
      const { parts, size, align } = inOrder(types, node.fields.map((field) => field.type), layout);
      const fields = node.fields.map((field, i) => ({ ...field, type: parts[i] as TypeNode }));
      return { node: { ...node, fields }, size, align };
    }
    case "enum":
      return node.tag.kind === "int" ? union(types, node, node.tag.bits / 8, layout) : refuse();
    case "option": {
      if (!node.fixed) return refuse();
      const item = lowered(types, node.item, layout);
      const tag = node.prefix.bits / 8;
      const align = within(Math.max(item.align, aligned(tag)));
      const start = roundedUp(tag, align);
      const size = roundedUp(start + item.size, align);
      const inside = padded(item.node, start - tag, size - start - item.size);
      return { node: { ...node, item: inside }, size, align };
    }
    case "link": {
      const key = `${layout} ${keyOf(node)}`;
      const known = types.laidOut.get(key);
      if (known) return known;
      const definition = types.definition(node);
      const own = definition.layout === "c" || definition.layout === "packed";
      const body = lowered(types, types.expand(node), own ? definition.layout : layout);
      const align = Math.max(definition.layout === "packed" ? 1 : body.align, definition.align ?? 1);
      const size = roundedUp(body.size, align);
      const found = { node: padded(body.node, 0, size - body.size), size, align };
      types.laidOut.set(key, found);
      return found;
    }
    case "before":
    case "after":
    case "offset":
    case "zeroable":
    case "fixed": {
      const size = types.fixedSize(node);
      return size === null ? refuse() : { node, size, align: 1 };
    }
    default:
      return refuse();
  }
}

/** The parts of a struct or tuple, each at the next place of its alignment. */
function inOrder(types: TypeTable, items: readonly TypeNode[], layout: string): { parts: TypeNode[]; size: number; align: number } {
  const parts: TypeNode[] = [];
  let end = 0;
  let whole = 1;
  for (const item of items) {
    const part = lowered(types, item, layout);
    const align = layout === "packed" ? 1 : part.align;
    const start = roundedUp(end, align);
    parts.push(padded(part.node, start - end, 0));
    end = start + part.size;
    whole = Math.max(whole, align);
  }
  const size = roundedUp(end, whole);
  const last = parts.pop();
  if (last) parts.push(padded(last, 0, size - end));
  return { parts, size, align: whole };
}

/** An enum with payloads: a tag, then a union in which every variant takes the room of the largest. */
function union(types: TypeTable, node: TypeNode & { kind: "enum" }, tag: number, layout: string): LaidOut {
  const within = (align: number): number => (layout === "packed" ? 1 : align);
  const own = within(aligned(tag));
  const payloads = node.variants.map(({ payload }) => payload && lowered(types, payload, layout));
  const present = payloads.filter((payload) => payload !== null);
  if (present.length === 0) return { node, size: tag, align: own };
  const inner = within(Math.max(...present.map((payload) => payload.align)));
  const align = Math.max(own, inner);
  const start = roundedUp(tag, inner);
  const size = roundedUp(start + Math.max(...present.map((payload) => payload.size)), align);
  const variants = node.variants.map((variant, i) => {
    const payload = payloads[i];
    return { ...variant, payload: payload ? padded(payload.node, start - tag, 0) : null };
  });
  return { node: { kind: "fixed", item: { ...node, variants }, size }, size, align };
}
