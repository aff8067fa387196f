/** Instructions from tools: the accounts that a caller gives, those that follow from the tool, and the data. */

import { base58Text, hexText, joined, sameBytes } from "./bytes.js";
import { encodeArguments, encodeValue, isRecord } from "./encode.js";
import { AccountError, EncodeError, NotUsableError, UnknownNameError } from "./errors.js";
import type { FieldNode, PdaNode, SeedNode, TypeNode, ValueNode } from "./nodes.js";
import { addressBytes, findProgramAddress } from "./pda.js";
import type { RemainingAccounts, Tool, ToolAccount } from "./program.js";
import { letters, nameMeant, shown } from "./text.js";
import { isBytes } from "./type_table.js";

/** As in @solana/kit: what a transaction may do with an account. */
export const AccountRole = { READONLY: 0, WRITABLE: 1, READONLY_SIGNER: 2, WRITABLE_SIGNER: 3 } as const;
export type AccountRole = (typeof AccountRole)[keyof typeof AccountRole];

export interface AccountMeta {
  address: string;
  role: AccountRole;
}

/** An instruction in the shape that @solana/kit takes. */
export interface Instruction {
  programAddress: string;
  accounts: AccountMeta[];
  data: Uint8Array;
}

/** An address. An account that may sign also says whether it does. */
export type GivenAccount = string | { address: string; isSigner?: boolean; isWritable?: boolean };
/** Accounts by name; null: the optional account is absent. A group is an object. The rest is a list. */
export interface GivenAccounts {
  [name: string]: GivenAccount | null | undefined | readonly GivenAccount[] | GivenAccounts;
}

export interface BuildOptions {
  /** The program to call. The default is the address that the stream names. */
  programAddress?: string;
  /** The acting wallet, for values that name it. */
  wallet?: string;
  /** The paying wallet; the default is the acting one. */
  payer?: string;
  /** Code for values that only a client can find, by the name that the tool gives it. */
  resolvers?: Record<string, (argument: (name: string) => unknown) => unknown>;
}

/** The instruction of `tool` with these arguments and accounts. What follows from the tool may be left out. */
export function buildInstruction(
  tool: Tool,
  args: Record<string, unknown> = {},
  accounts: GivenAccounts = {},
  options: BuildOptions = {},
): Instruction {
  if (tool.off) throw new NotUsableError(tool.name, tool.off);
  return new Call(tool, args, accounts, options).build();
}

type State = { address: string | null };

class Call {
  private readonly programAddress: string;
  private readonly place: string;
  private readonly args: Map<string, unknown>;
  private readonly given = new Map<ToolAccount, GivenAccount | null>();
  private readonly rest = new Map<RemainingAccounts, readonly GivenAccount[]>();
  private readonly found = new Map<ToolAccount, State>();
  private readonly open: string[] = [];

  constructor(
    private readonly tool: Tool,
    args: Record<string, unknown>,
    accounts: GivenAccounts,
    private readonly options: BuildOptions,
  ) {
    this.place = tool.name;
    const address = options.programAddress ?? tool.program.address;
    if (!address) throw new AccountError(tool.name, "expected options.programAddress: pages do not name the program's address");
    addressBytes(address, `${tool.name}, the program`);
    this.programAddress = address;
    this.args = this.argumentsByName(args);
    this.collect(accounts, []);
  }

  build(): Instruction {
    const accounts = this.tool.accounts.flatMap((account) => this.metaOf(account));
    const rest = this.tool.rest.flatMap((each) => this.restOf(each));
    return { programAddress: this.programAddress, accounts: [...accounts, ...rest], data: this.data() };
  }

  // --- data -----------------------------------------------------------------------------------------------------------

  private data(): Uint8Array {
    const { bytes, consumed, offset } = this.tool.discriminator;
    if (consumed && offset) throw new NotUsableError(this.place, `its discriminator is at offset ${offset}, and no argument holds it`);
    const fields = this.tool.args.map((arg): FieldNode => {
      if (!arg.type) throw new NotUsableError(`${this.place}.${arg.name}`, `the page gives the type ${shown(arg.word)}, which cannot be encoded`);
      return { name: arg.name, type: arg.type, docs: [], default: arg.default };
    });
    const values = Object.create(null) as Record<string, unknown>;
    for (const [name, value] of this.args) values[name] = value;
    for (const [name] of this.tool.fill) if (values[name] === undefined) values[name] = this.filled(name);
    const data = joined([consumed ? bytes : new Uint8Array(), encodeArguments(this.tool.program.table, fields, values, this.place)]);
    this.checkDiscriminator(data);
    return data;
  }

  /** A discriminator that is an argument too, or the length of the data, depends on what the caller gives. */
  private checkDiscriminator(data: Uint8Array): void {
    const { bytes, offset, size } = this.tool.discriminator;
    if (size !== null && size !== data.length) {
      throw new EncodeError(this.place, `these arguments do not make this instruction: expected ${size} bytes of data, got ${data.length}`);
    }
    const found = data.subarray(offset, offset + bytes.length);
    if (sameBytes(found, bytes)) return;
    const wanted = `expected the discriminator 0x${hexText(bytes)} at offset ${offset}`;
    throw new EncodeError(this.place, `these arguments do not make this instruction: ${wanted}, got 0x${hexText(found)}`);
  }

  // --- arguments ------------------------------------------------------------------------------------------------------

  private argumentsByName(given: Record<string, unknown>): Map<string, unknown> {
    const names = this.tool.args.map((arg) => arg.name);
    const found = new Map<string, unknown>();
    for (const [key, value] of Object.entries(given)) {
      if (value === undefined) continue;
      const name = nameMeant(key, names) ?? key;
      if (found.has(name)) throw new EncodeError(this.place, `${shown(name)} is given twice, in two spellings`);
      found.set(name, value);
    }
    return found;
  }

  /** The value of an argument that the tool fills in, or undefined. */
  private filled(name: string): unknown {
    const value = this.tool.fill.find(([known]) => known === name)?.[1];
    if (!value || this.open.includes(`argument ${name}`)) return undefined;
    this.open.push(`argument ${name}`);
    try {
      return this.value(value, null, `${this.place}.${name}`) ?? undefined;
    } catch (error) {
      if (error instanceof AccountError) return undefined; // the encoder then asks for it by name
      throw error;
    } finally {
      this.open.pop();
    }
  }

  /** The argument at a path, or the part of one; and its type, if it is known. */
  private argument(path: readonly string[]): { value: unknown; type: TypeNode | null } {
    const [first, ...inner] = path;
    const arg = this.tool.args.find(({ name }) => name === nameMeant(first ?? "", this.tool.args.map((each) => each.name)));
    if (first === undefined || !arg) return { value: this.args.get(first ?? ""), type: null };
    let value = this.args.get(arg.name) ?? arg.default?.value ?? this.filled(arg.name);
    let type = arg.type;
    for (const step of inner) {
      value = memberOf(value, step);
      type = type && this.memberType(type, step);
    }
    return { value, type };
  }

  private memberType(type: TypeNode, step: string): TypeNode | null {
    const body = this.tool.program.table.target(type);
    if (body.kind === "tuple") return body.items[Number(step)] ?? null;
    if (body.kind !== "struct") return null;
    const meant = nameMeant(step, body.fields.map((field) => field.name));
    return body.fields.find((field) => field.name === meant)?.type ?? null;
  }

  // --- given accounts -------------------------------------------------------------------------------------------------

  private collect(given: GivenAccounts, above: readonly string[]): void {
    for (const [key, value] of Object.entries(given)) {
      if (value === undefined) continue;
      const path = [...above, ...key.split(".")];
      const account = this.accountAt(path) ?? (above.length === 0 ? this.accountOf(key) : undefined);
      const rest = above.length === 0 ? this.restNamed(key) : undefined;
      if (account) this.take(account, value);
      else if (rest) this.rest.set(rest, Array.isArray(value) ? value : []);
      else if (isRecord(value) && this.isGroup(path)) this.collect(value as GivenAccounts, path);
      else throw new UnknownNameError(this.place, "account", path.join("."), this.names());
    }
  }

  private names(): string[] {
    return [...this.tool.accounts.map(({ name }) => name), ...this.tool.rest.map(({ name }) => name)];
  }

  private take(account: ToolAccount, value: unknown): void {
    const place = `${this.place}.${account.name}`;
    if (this.given.has(account)) throw new AccountError(place, "the account is given twice, in two spellings");
    if (value !== null) addressBytes(isRecord(value) ? value.address : value, place);
    this.given.set(account, value as GivenAccount | null);
  }

  private restNamed(key: string): RemainingAccounts | undefined {
    const name = nameMeant(key, this.tool.rest.map((each) => each.name));
    return this.tool.rest.find((each) => each.name === name);
  }

  private isGroup(path: readonly string[]): boolean {
    return this.tool.accounts.some((account) => account.path.length > path.length && isSamePath(account.path.slice(0, path.length), path));
  }

  private accountAt(path: readonly string[]): ToolAccount | undefined {
    const exact = this.tool.accounts.find((account) => account.name === path.join("."));
    return exact ?? this.only((account) => isSamePath(account.path, path));
  }

  /** The account of that name in any group, if only one has it. */
  private accountOf(name: string): ToolAccount | undefined {
    return this.only((account) => isSamePath(account.path.slice(-1), [name]));
  }

  private only(fits: (account: ToolAccount) => boolean): ToolAccount | undefined {
    const found = this.tool.accounts.filter(fits);
    return found.length === 1 ? found[0] : undefined;
  }

  /** The account at a path as another account means it: in its own group first, then in those around it. */
  private located(path: readonly string[], from: ToolAccount | null): ToolAccount | undefined {
    const groups = from?.path.slice(0, -1) ?? [];
    for (let depth = groups.length; depth >= 0; depth -= 1) {
      const found = this.accountAt([...groups.slice(0, depth), ...path]);
      if (found) return found;
    }
    return path.length === 1 ? this.accountOf(path[0] as string) : undefined;
  }

  // --- the accounts of the instruction --------------------------------------------------------------------------------

  private metaOf(account: ToolAccount): AccountMeta[] {
    const address = this.address(account);
    if (address !== null) return [{ address, role: roleOf(this.signs(account, address), account.writable) }];
    return this.tool.absent === "omitted" ? [] : [{ address: this.programAddress, role: AccountRole.READONLY }];
  }

  private signs({ signer, ...account }: ToolAccount, address: string): boolean {
    if (signer !== "either") return signer;
    const given = this.given.get(this.tool.accounts.find(({ name }) => name === account.name) as ToolAccount);
    if (isRecord(given) && given.isSigner !== undefined) return given.isSigner === true;
    if ([...this.rest.values()].flat().some((each) => isRecord(each) && each.isSigner === true)) return false;
    const { wallet, payer = wallet } = this.options;
    return wallet === undefined || address === wallet || address === payer;
  }

  private restOf(each: RemainingAccounts): AccountMeta[] {
    const given = this.rest.get(each) ?? [];
    const place = `${this.place}.${each.name}`;
    return given.map((item, i) => {
      const { address, isSigner = each.signer === true, isWritable = each.writable } = isRecord(item) ? (item as { address: string; isSigner?: boolean; isWritable?: boolean }) : { address: item as string };
      addressBytes(address, `${place}[${i}]`);
      return { address, role: roleOf(isSigner, isWritable) };
    });
  }

  /** The account's address, null if it is absent. */
  private address(account: ToolAccount): string | null {
    const known = this.found.get(account);
    if (known) return known.address;
    const place = `${this.place}.${account.name}`;
    if (this.open.includes(account.name)) throw new AccountError(place, `${[...this.open, account.name].join(" -> ")} are derived from one another`);
    this.open.push(account.name);
    let address: string | null = null;
    try {
      address = this.find(account, place);
    } catch (error) {
      if (!(error instanceof AccountError) || !account.optional || this.given.has(account)) throw error;
    } finally {
      this.open.pop();
    }
    this.found.set(account, { address });
    return address;
  }

  private find(account: ToolAccount, place: string): string | null {
    const given = this.given.get(account);
    if (given === null) {
      if (account.optional) return null;
      throw new AccountError(place, "the account is required, so null cannot be given for it");
    }
    if (given !== undefined) return isRecord(given) ? given.address as string : (given as string);
    // A program may run at another address than its source names.
    if (account.address !== null && account.address === this.tool.program.address) return this.programAddress;
    if (account.address !== null) return checked(account.address, place);
    if (account.pda) return this.derive(account.pda, account, place).address;
    const value = account.value && this.value(account.value, account, place);
    if (value !== null && value !== undefined) return checked(value, place);
    if (account.optional) return null;
    throw new AccountError(place, "expected its address: nothing that the tool says decides it");
  }

  private addressAt(path: readonly string[], from: ToolAccount | null, place: string): string {
    const account = this.located(path, from);
    if (!account) throw new AccountError(place, `it depends on account ${shown(path.join("."))}, which the tool does not have`);
    const address = this.address(account);
    if (address === null) throw new AccountError(place, `it depends on account ${shown(account.name)}, which is absent`);
    return address;
  }

  // --- derived addresses ----------------------------------------------------------------------------------------------

  private derive(pda: PdaNode, account: ToolAccount | null, place: string): { address: string; bump: number } {
    const program = pda.program ? checked(this.value(pda.program, account, place), `${place}, the program of its seeds`) : this.programAddress;
    const seeds = pda.seeds.map((seed, i) => this.seed(seed, account, `${place}, seed ${i + 1}`));
    return findProgramAddress(seeds, addressBytes(program, place), place);
  }

  private seed(seed: SeedNode, account: ToolAccount | null, place: string): Uint8Array {
    switch (seed.kind) {
      case "const":
        return seed.value;
      case "program":
        return addressBytes(this.programAddress, place);
      case "unknown":
        throw new AccountError(place, seed.why);
      case "arg":
        return this.argumentSeed(seed, place);
      case "account": {
        if (seed.field.length > 0) {
          const where = `${seed.account.join(".")}.${seed.field.join(".")}`;
          throw new AccountError(place, `it is ${shown(where)}, a field of an account's data; give the derived account's address`);
        }
        const address = addressBytes(this.addressAt(seed.account, account, place), place);
        if (seed.sort === null) return address;
        const other = addressBytes(this.addressAt(seed.other, account, place), place);
        const isFirst = hexText(address) <= hexText(other);
        return isFirst === (seed.sort === "min") ? address : other;
      }
    }
  }

  private argumentSeed(seed: SeedNode & { kind: "arg" }, place: string): Uint8Array {
    const what = `argument ${shown(seed.path.join("."))}`;
    const { value, type } = this.argument(seed.path);
    if (value === undefined || value === null) throw new AccountError(place, `it is the ${what}, which is not given`);
    if (seed.encoding === "utf8") return new TextEncoder().encode(String(value));
    const { table } = this.tool.program;
    const node = seed.type ?? type;
    if (!node) throw new AccountError(place, `the type of the ${what} is not known`);
    if (!seed.type && !isPlainSeed(table.target(node))) throw new AccountError(place, `programs make different seeds of the type of the ${what}; give the address`);
    let bare = table.target(node);
    while (bare.kind === "sized") bare = table.target(bare.item);
    if (bare.kind === "array" && typeof bare.count !== "number") bare = { ...bare, count: null };
    const bytes = encodeValue(table, bare, value, place);
    if (seed.encoding === null) return bytes;
    if (bare.kind !== "int") throw new AccountError(place, `expected a number for a big-endian seed, and the ${what} is none`);
    return bare.bigEndian ? bytes : bytes.reverse();
  }

  // --- values ---------------------------------------------------------------------------------------------------------

  private value(value: ValueNode, account: ToolAccount | null, place: string): unknown {
    switch (value.kind) {
      case "const":
        return value.value;
      case "arg":
        return this.argument(value.path).value;
      case "program":
        return this.programAddress;
      case "identity":
        return this.required(this.options.wallet, place, "it is the acting wallet: give options.wallet");
      case "payer":
        return this.required(this.options.payer ?? this.options.wallet, place, "it is the paying wallet: give options.payer or options.wallet");
      case "pda":
        return this.derive(value.pda, account, place).address;
      case "bump":
        return this.bump(value.account, account, place);
      case "account": {
        if (value.field.length > 0) throw new AccountError(place, `it is a field of the data of account ${shown(value.account.join("."))}; give it`);
        const other = this.located(value.account, account);
        return other?.optional ? this.address(other) : this.addressAt(value.account, account, place);
      }
      case "resolver": {
        const resolve = Object.hasOwn(this.options.resolvers ?? {}, value.name) ? this.options.resolvers?.[value.name] : undefined;
        const found = this.required(resolve, place, `it comes from code that the client must have: give options.resolvers.${value.name}`);
        return found((name) => this.argument(name.split(".")).value);
      }
      case "if": {
        const chosen = this.holds(value, account, place) ? value.then : value.otherwise;
        return chosen && this.value(chosen, account, place);
      }
    }
  }

  private required<T>(found: T | undefined, place: string, why: string): T {
    if (found === undefined) throw new AccountError(place, why);
    return found;
  }

  private bump(path: readonly string[], from: ToolAccount | null, place: string): number {
    const other = this.located(path, from);
    const pda = other?.pda ?? (other?.value?.kind === "pda" ? other.value.pda : null);
    if (!other || !pda) throw new AccountError(place, `it is the bump of account ${shown(path.join("."))}, which has no seeds`);
    return this.derive(pda, other, place).bump;
  }

  private holds(value: ValueNode & { kind: "if" }, account: ToolAccount | null, place: string): boolean {
    const found = this.condition(value.condition, account, place);
    if (value.equals === null) return found !== null && found !== undefined && found !== false;
    return isEqual(variantName(found), variantName(value.equals));
  }

  /** The value of a condition; null for an account that is absent or cannot be found. */
  private condition(value: ValueNode, account: ToolAccount | null, place: string): unknown {
    if (value.kind !== "account" || value.field.length > 0) return this.value(value, account, place);
    const other = this.located(value.account, account);
    if (!other || this.open.includes(other.name)) return null;
    try {
      return this.address(other);
    } catch (error) {
      if (error instanceof AccountError) return null;
      throw error;
    }
  }
}

function roleOf(isSigner: boolean, isWritable: boolean): AccountRole {
  return ((isSigner ? 2 : 0) + (isWritable ? 1 : 0)) as AccountRole;
}

function checked(address: unknown, place: string): string {
  return base58Text(addressBytes(address, place));
}

function isSamePath(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((step, i) => step === b[i] || letters(step) === letters(b[i] as string));
}

/** Is there one way to make a seed of the type? */
function isPlainSeed(node: TypeNode): boolean {
  let bare = node;
  while (bare.kind === "sized" || bare.kind === "fixed" || bare.kind === "until") bare = bare.item;
  return isBytes(bare) || ["int", "float", "bool", "pubkey", "text", "raw", "amount", "time"].includes(bare.kind);
}

function memberOf(value: unknown, step: string): unknown {
  if (Array.isArray(value)) return value[Number(step)];
  if (!isRecord(value)) return undefined;
  const key = nameMeant(step, Object.keys(value));
  return key === undefined ? undefined : value[key];
}

function variantName(value: unknown): unknown {
  const keys = isRecord(value) ? Object.keys(value) : [];
  return keys.length === 1 ? keys[0] : value;
}

/** Compares an argument with the JSON form of a constant. */
function isEqual(found: unknown, wanted: unknown): boolean {
  if (found === wanted) return true;
  const kinds = [typeof found, typeof wanted];
  if (kinds.includes("boolean") || found === null || found === undefined || wanted === null) return false;
  if (typeof found === "string" && typeof wanted === "string") return letters(found) === letters(wanted);
  return String(found) === String(wanted);
}

