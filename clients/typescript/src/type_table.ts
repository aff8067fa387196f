/** The defined types of a program: links, generics, sizes, and whether a type can be used. */

import { NotUsableError } from "./errors.js";
import { children, fieldKeys, isU8, type LinkNode, mapChildren, type TypeDefinition, type TypeNode, typeText } from "./nodes.js";
import { type LaidOut, lowered } from "./c_layout.js";

/** How deep types and values may nest, and how many types one may be made of. */
export const DEEPEST_VALUE = 64;
const MOST_LINKS = 4096;
/** The most bytes that one value may take. */
export const MOST_BYTES = 16 * 1024 * 1024;
const LAYOUTS = new Set(["borsh", "c", "packed", "transparent"]);

type Arguments = ReadonlyMap<string, TypeNode | number>;

export class TypeTable {
  private readonly definitions = new Map<string, TypeDefinition>();
  private readonly ambiguous = new Set<string>();
  private readonly expanded = new Map<string, TypeNode>();
  private readonly fixed = new Map<TypeNode, number | null>();
  private readonly nullables = new Map<TypeNode, boolean>();
  private readonly movers = new Map<TypeNode, boolean>();
  private readonly usable = new Set<TypeNode>();
  /** Links as a C layout has them, by their text and the layout around them. */
  readonly laidOut = new Map<string, LaidOut>();

  constructor(definitions: readonly TypeDefinition[]) {
    for (const definition of definitions) {
      const known = this.definitions.get(definition.name);
      if (known && keyOf(known) !== keyOf(definition)) this.ambiguous.add(definition.name);
      this.definitions.set(definition.name, known ?? definition);
    }
  }

  /** The definition that a link names. */
  definition(link: LinkNode): TypeDefinition {
    const found = this.definitions.get(link.name);
    if (!found) throw new NotUsableError(link.name, "the type is not defined");
    return found;
  }

  /** The type that a link names, with its arguments filled in. */
  expand(link: LinkNode): TypeNode {
    const definition = this.definition(link);
    if (definition.generics.length !== link.arguments.length) {
      const wanted = `it takes ${definition.generics.length} generic arguments`;
      throw new NotUsableError(link.name, `${wanted}, got ${link.arguments.length}`);
    }
    checkArguments(link);
    const key = link.arguments.length ? keyOf(link) : link.name;
    let found = this.expanded.get(key);
    if (!found) {
      const pairs = definition.generics.map((generic, i) => [generic.name, link.arguments[i]] as const);
      found = substitute(definition.type, new Map(pairs) as Arguments);
      this.expanded.set(key, found);
    }
    return found;
  }

  /** The type at the end of links. */
  target(node: TypeNode): TypeNode {
    let found = node;
    for (let i = 0; found.kind === "link"; i += 1) {
      if (i === DEEPEST_VALUE) throw new NotUsableError(found.name, "its links never end");
      found = this.expand(found);
    }
    return found;
  }

  /** The type as it is encoded on its own: a link to a C layout gets its padding. Throws NotUsableError. */
  root(node: TypeNode): TypeNode {
    this.check(node);
    if (node.kind !== "link") return node;
    const { layout } = this.definition(node);
    if (layout === "transparent") return this.transparent(node.name, this.expand(node));
    return layout === "borsh" ? node : lowered(this, node, layout).node;
  }

  private transparent(name: string, body: TypeNode): TypeNode {
    const [only, ...others] = children(body);
    if (body.kind !== "struct" && body.kind !== "tuple") return body;
    if (only === undefined || others.length > 0) {
      throw new NotUsableError(name, "layout transparent is for types of one field");
    }
    const inner = this.root(only);
    return mapChildren(body, () => inner);
  }

  /** Throws NotUsableError, with the reason, for a type that cannot be encoded. */
  check(node: TypeNode): void {
    if (this.usable.has(node)) return;
    const parts = new Set<TypeNode>();
    this.checkWithin(node, 0, new Set(), parts);
    // Sizes come last: the walk has shown that the type is made of few others.
    for (const part of parts) {
      if ((this.fixedSize(part) ?? 0) > MOST_BYTES) throw new NotUsableError(typeText(part), `it takes over ${MOST_BYTES} bytes`);
    }
    this.usable.add(node);
  }

  /** `seen`: the links so far; `parts`: all types so far. */
  private checkWithin(node: TypeNode, depth: number, seen: Set<string>, parts: Set<TypeNode>): void {
    parts.add(node);
    const refuse = (why: string): never => {
      throw new NotUsableError(typeText(node), why);
    };
    if (depth > DEEPEST_VALUE) refuse(`types nest deeper than ${DEEPEST_VALUE} levels`);
    if (node.kind === "unsupported") refuse(`${node.text}: ${node.why}`);
    if (node.kind === "generic") refuse("the generic parameter has no argument here");
    if ("count" in node && typeof node.count === "object" && node.count?.kind === "generic") {
      refuse(`the const parameter ${node.count.name} has no argument here`);
    }
    if (node.kind !== "link") {
      for (const child of children(node)) this.checkWithin(child, depth + 1, seen, parts);
      return;
    }
    const key = keyOf(node);
    if (seen.has(key)) return;
    seen.add(key);
    if (seen.size > MOST_LINKS) refuse(`it is made of more than ${MOST_LINKS} types`);
    const { layout } = this.definition(node);
    if (this.ambiguous.has(node.name)) refuse("two different types have this name");
    if (!LAYOUTS.has(layout)) refuse(`it has the layout ${layout}, which only the program knows`);
    this.checkWithin(this.expand(node), depth + 1, seen, parts);
  }

  /** The bytes that every value takes, or null if values differ. */
  fixedSize(node: TypeNode): number | null {
    let found = this.fixed.get(node);
    if (found === undefined) {
      this.fixed.set(node, null); // the answer for a type inside itself
      found = this.findFixedSize(node);
      this.fixed.set(node, found);
    }
    return found;
  }

  private findFixedSize(node: TypeNode): number | null {
    switch (node.kind) {
      case "int":
      case "float":
        return node.bits / 8;
      case "bool":
        return node.size.bits / 8;
      case "amount":
      case "time":
        return node.number.bits / 8;
      case "pubkey":
        return 32;
      case "fixed":
        return node.size;
      case "before":
      case "after":
        return plus(this.fixedSize(node.item), node.data.length);
      case "offset":
        return isPadding(node) ? plus(this.fixedSize(node.item), node.amount) : null;
      case "option":
        return node.fixed ? plus(this.fixedSize(node.item), node.prefix.bits / 8) : null;
      case "zeroable": {
        const size = this.fixedSize(node.item);
        return node.zero === null || node.zero.length === size ? size : null;
      }
      case "array":
      case "set":
      case "map":
        if (typeof node.count !== "number") return null;
        return node.count === 0 ? 0 : times(this.sizeOf(children(node)), node.count);
      case "tuple":
      case "struct":
        return this.sizeOf(children(node));
      case "enum": {
        if (node.tag.kind !== "int") return null;
        const sizes = new Set(node.variants.map(({ payload }) => (payload ? this.fixedSize(payload) : 0)));
        return sizes.size === 1 ? plus([...sizes][0] as number | null, node.tag.bits / 8) : null;
      }
      case "link":
        return this.definitions.has(node.name) ? this.fixedSize(this.expand(node)) : null;
      default:
        return null;
    }
  }

  private sizeOf(nodes: readonly TypeNode[]): number | null {
    return nodes.reduce<number | null>((sum, node) => (sum === null ? null : plus(this.fixedSize(node), sum)), 0);
  }

  /** Is null a value of the type? An option of it then takes `{"some": value}`. */
  nullable(node: TypeNode): boolean {
    return this.remembered(this.nullables, node, () => {
      if (node.kind === "option" || node.kind === "zeroable" || node.kind === "remainder") return true;
      if (node.kind === "link") return this.nullable(this.expand(node));
      const isWrapper = ["sized", "fixed", "until", "before", "after", "offset"].includes(node.kind);
      return isWrapper && children(node).some((child) => this.nullable(child));
    });
  }

  /** Does an offset in the type move back, or to an absolute place? Items with bounds of their own do not count. */
  movesCursor(node: TypeNode): boolean {
    return this.remembered(this.movers, node, () => {
      if (node.kind === "sized" || node.kind === "fixed" || node.kind === "until") return false;
      if (node.kind === "offset" && !isPadding(node)) return true;
      const parts = node.kind === "link" ? [this.expand(node)] : children(node);
      return parts.some((part) => this.movesCursor(part));
    });
  }

  private remembered(known: Map<TypeNode, boolean>, node: TypeNode, find: () => boolean): boolean {
    let found = known.get(node);
    if (found === undefined) {
      known.set(node, false); // the answer for a type inside itself
      found = find();
      known.set(node, found);
    }
    return found;
  }

  /** The place and size of each field of a struct whose fields all have one, in bytes from its first. */
  offsets(node: TypeNode): Map<string, number> {
    const found = new Map<string, number>();
    const body = this.target(this.root(node));
    const fields = body.kind === "struct" ? body.fields : [];
    let at: number | null = 0;
    fieldKeys(fields).forEach((key, i) => {
      const { type } = fields[i] as { type: TypeNode };
      const padding = type.kind === "offset" && type.when === "pre" ? type.amount : inner(type);
      if (at !== null) found.set(key, at + padding);
      at = plus(this.fixedSize(type), at);
    });
    return found;
  }
}

/** The padding before the item of a field that is padded after it too. */
function inner(type: TypeNode): number {
  return type.kind === "offset" && type.item.kind === "offset" && type.item.when === "pre" ? type.item.amount : 0;
}

/** Does the offset only add zeros? */
export function isPadding(node: TypeNode): boolean {
  return node.kind === "offset" && node.strategy === "padded" && node.amount >= 0;
}

/** Is the node an array of u8, whose values are bytes? */
export function isBytes(node: TypeNode): boolean {
  return node.kind === "array" && isU8(node.item);
}

function plus(size: number | null, more: number | null): number | null {
  return size === null || more === null ? null : size + more;
}

function times(size: number | null, count: number): number | null {
  return size === null ? null : size * count;
}

/** Text that equal nodes share. */
export function keyOf(value: TypeNode | TypeDefinition): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}

/** Refuses arguments that nest too deep or are too many: a type can name itself with ever larger ones. */
function checkArguments(link: LinkNode): void {
  const open: [TypeNode | number, number][] = link.arguments.map((argument) => [argument, 1]);
  for (let seen = 1; open.length > 0; seen += 1) {
    const [node, depth] = open.pop() as [TypeNode | number, number];
    if (depth > DEEPEST_VALUE || seen > MOST_LINKS) {
      throw new NotUsableError(link.name, "its generic arguments nest too deep or are too many");
    }
    if (typeof node === "number") continue;
    const parts = node.kind === "link" ? node.arguments : children(node);
    for (const part of parts) open.push([part, depth + 1]);
  }
}

/** The node with every generic parameter replaced by its argument. */
function substitute(node: TypeNode, given: Arguments): TypeNode {
  if (given.size === 0) return node;
  if (node.kind === "generic") {
    const found = given.get(node.name) ?? node;
    if (typeof found !== "number") return found;
    return { kind: "unsupported", text: node.name, why: "it is a const parameter, not a type" };
  }
  if (node.kind === "link") {
    return { ...node, arguments: node.arguments.map((argument) => substituteArgument(argument, given)) };
  }
  const changed = mapChildren(node, (child) => substitute(child, given));
  if (!("count" in changed) || typeof changed.count !== "object" || changed.count?.kind !== "generic") return changed;
  const length = given.get(changed.count.name) ?? changed.count;
  if (typeof length === "number" || length.kind === "generic") return { ...changed, count: length };
  throw new NotUsableError(typeText(node), `its length ${changed.count.name} is a type, not a number`);
}

function substituteArgument(argument: TypeNode | number, given: Arguments): TypeNode | number {
  if (typeof argument === "number") return argument;
  return argument.kind === "generic" ? given.get(argument.name) ?? argument : substitute(argument, given);
}
