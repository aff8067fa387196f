/** What a program says of itself: its tools and types, read from pages or from the stream. */

import { UnknownNameError } from "./errors.js";
import type { Default, Discriminator, PdaNode, TypeDefinition, TypeNode, ValueNode } from "./nodes.js";
import { nameMeant } from "./text.js";
import { TypeTable } from "./type_table.js";

/** An account of a tool. `path`: the groups around it and its own name; `name`: the same with dots. */
export interface ToolAccount {
  name: string;
  path: string[];
  writable: boolean;
  signer: boolean | "either";
  optional: boolean;
  address: string | null;
  pda: PdaNode | null;
  value: ValueNode | null;
  description: string;
}

/** An argument of a tool. `type` null: the page names no type that can be encoded. `isExact` false: it is likely only. */
export interface ToolArgument {
  name: string;
  type: TypeNode | null;
  word: string;
  isExact: boolean;
  default: Default | null;
  description: string;
}

/** Accounts after the named ones, given as a list under `name`. */
export interface RemainingAccounts {
  name: string;
  writable: boolean;
  signer: boolean | "either";
  optional: boolean;
}

/** One instruction. */
export interface Tool {
  name: string;
  description: string;
  discriminator: Discriminator;
  also: Discriminator[];
  accounts: ToolAccount[];
  args: ToolArgument[];
  rest: RemainingAccounts[];
  returns: TypeNode | null;
  /** How an absent optional account is written: the program's id in its place, or nothing. */
  absent: "program_id" | "omitted";
  /** How a client fills in arguments that are left out. */
  fill: [string, ValueNode][];
  /** Why the tool cannot be called. */
  off: string | null;
  /** Parameters that may be accounts or arguments, since mcpsol's own pages do not distinguish them. */
  ambiguous: string[];
  /** The program that the tool belongs to. It is not enumerable, so that a tool can be written as JSON. */
  readonly program: Program;
}

/** Data of an account or event, by its discriminator. */
export interface DataType {
  name: string;
  discriminator: Discriminator;
  type: TypeNode;
  docs: string[];
  size: number | null;
}

export interface ErrorCode {
  code: number;
  name: string;
  message: string;
}

export interface Constant {
  name: string;
  type: TypeNode;
  value: string;
  docs: string[];
}

/** The parts of a program. Those from `accounts` on are in the stream only. */
export interface ProgramParts {
  name: string;
  tools: Omit<Tool, "program">[];
  types: TypeDefinition[];
  facade?: string | null;
  address?: string | null;
  version?: string;
  accounts?: DataType[];
  events?: DataType[];
  errors?: ErrorCode[];
  constants?: Constant[];
}

export class Program {
  readonly name: string;
  readonly tools: Tool[];
  readonly types: TypeDefinition[];
  /** The program behind a facade: accounts, logs and errors are those of that program. */
  readonly facade: string | null;
  /** The address that the program's source names. The caller's address counts: see `buildInstruction`. */
  readonly address: string | null;
  readonly version: string;
  readonly accounts: DataType[];
  readonly events: DataType[];
  readonly errors: ErrorCode[];
  readonly constants: Constant[];
  /** The types by name, for the encoder. */
  readonly table: TypeTable;

  constructor(parts: ProgramParts) {
    this.name = parts.name;
    this.types = parts.types;
    this.facade = parts.facade ?? null;
    this.address = parts.address ?? null;
    this.version = parts.version ?? "";
    this.accounts = parts.accounts ?? [];
    this.events = parts.events ?? [];
    this.errors = parts.errors ?? [];
    this.constants = parts.constants ?? [];
    this.table = new TypeTable(parts.types);
    this.tools = parts.tools.map((tool) => Object.defineProperty({ ...tool }, "program", { value: this }) as Tool);
  }

  /** The tool of that name, in any case style. */
  tool(name: string): Tool {
    return named(this.tools, name, "tool", this.name);
  }

  /** The size of an account's data, if it is fixed, and the offset of each field, discriminator included. */
  accountLayout(name: string): { discriminator: Uint8Array; size: number | null; offsets: Map<string, number> } {
    const account = named(this.accounts, name, "account type", this.name);
    const { bytes, consumed } = account.discriminator;
    const skipped = consumed ? bytes.length : 0;
    const size = this.table.fixedSize(this.table.root(account.type));
    const offsets = new Map([...this.table.offsets(account.type)].map(([field, at]) => [field, at + skipped]));
    return { discriminator: bytes, size: size === null ? null : size + skipped, offsets };
  }

  /** The error of a code, such as the one in a failed simulation. */
  error(code: number): ErrorCode | undefined {
    return this.errors.find((error) => error.code === code);
  }
}

function named<T extends { name: string }>(items: readonly T[], name: string, kind: string, place: string): T {
  const names = items.map((item) => item.name);
  const meant = nameMeant(name, names);
  const found = items.find((item) => item.name === meant);
  if (!found) throw new UnknownNameError(place, kind, name, names);
  return found;
}
