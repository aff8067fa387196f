/** The model in the stream. A key that docs/wire.md does not name is refused: a model is read whole or not at all. */

import { isObject, type Json, type JsonObject } from "./json.js";
import type { Discriminator, FieldNode, PdaNode, TypeDefinition, TypeNode, ValueNode } from "./nodes.js";
import { type Constant, type DataType, type ErrorCode, Program, type RemainingAccounts, type Tool, type ToolAccount } from "./program.js";
import { Budget, flag, free, listOf, orNull, pairOf, type Parts, type Read, readDefinition, readDiscriminator, readField, readPda, readType, readValue, record, row, size, text, texts, whole, word } from "./read_nodes.js";
import { signs } from "./read_tool.js";

interface Account {
  name: string;
  writable: boolean;
  signer: boolean | "either";
  optional: boolean;
  address: string | null;
  pda: PdaNode | null;
  default: ValueNode | null;
  docs: string[];
}

interface Group {
  name: string;
  accounts: (Account | Group)[];
}

interface Instruction {
  name: string;
  discriminator: Discriminator;
  args: FieldNode[];
  accounts: (Account | Group)[];
  remaining: RemainingAccounts[];
  returns: TypeNode | null;
  docs: string[];
  optional_accounts: "program_id" | "omitted";
  also: Discriminator[];
  disabled: string | null;
  arg_values: [string, ValueNode][];
}

interface Model {
  name: string;
  address: string | null;
  version: string;
  instructions: Instruction[];
  accounts: DataType[];
  events: DataType[];
  errors: ErrorCode[];
  types: TypeDefinition[];
  constants: Constant[];
  facade_of: string | null;
}

/** The checks of a rendered program, which a client need not know. */
const opaque: Read<JsonObject> = (value, budget) => {
  if (!isObject(value)) throw budget.refuse("an object", value);
  free(value, budget);
  return value;
};

const pairs = listOf(pairOf(text, text));
const readAccount = record<Account>([
  ["name", text],
  ["writable", flag, false],
  ["signer", signs, false],
  ["optional", flag, false],
  ["address", orNull(text), null],
  ["pda", orNull(readPda), null],
  ["relations", texts, []],
  ["default", orNull(readValue), null],
  ["docs", texts, []],
  ["constraints", orNull(opaque), null],
]);

const readItem: Read<Account | Group> = (value, budget) =>
  isObject(value) && "accounts" in value ? readGroup(value, budget) : readAccount(value, budget);
const readGroup = record<Group>([["name", text], ["accounts", listOf(readItem)], ["docs", texts, []]]);

const REMAINING: Parts = [["name", text], ["writable", flag, false], ["signer", signs, false], ["optional", flag, true], ["docs", texts, []]];
const DISPLAY: Parts = [["intent", text, ""], ["sentence", text, ""], ["labels", pairs, []]];

const readInstruction = record<Instruction>([
  ["name", text],
  ["discriminator", readDiscriminator],
  ["args", listOf(readField), []],
  ["accounts", listOf(readItem), []],
  ["remaining", listOf(record(REMAINING)), []],
  ["returns", orNull(readType), null],
  ["docs", texts, []],
  ["optional_accounts", word("program_id", "omitted"), "program_id"],
  ["also", listOf(readDiscriminator), []],
  ["disabled", orNull(text), null],
  ["hints", pairs, []],
  ["arg_values", listOf(pairOf(text, readValue)), []],
  ["display", orNull(record(DISPLAY)), null],
]);

const DATA: Parts = [["name", text], ["discriminator", readDiscriminator], ["type", readType], ["docs", texts, []]];
const readAccountType = record<DataType>([...DATA, ["size", orNull(size), null], ["pda", orNull(readPda), null], ["also", listOf(readDiscriminator), []]]);
const readEvent = record<DataType>(DATA);

const readProgram = record<Model>([
  ["name", text],
  ["instructions", listOf(readInstruction), []],
  ["accounts", listOf(readAccountType), []],
  ["events", listOf(readEvent), []],
  ["errors", listOf(row<ErrorCode>([["code", whole], ["name", text], ["message", text, ""]])), []],
  ["types", listOf(readDefinition), []],
  ["constants", listOf(record<Constant>([["name", text], ["type", readType], ["value", text], ["docs", texts, []]])), []],
  ["pdas", listOf(readPda), []],
  ["address", orNull(text), null],
  ["version", text, ""],
  ["docs", texts, []],
  ["facade_of", orNull(text), null],
]);

/** The program in the model's JSON. */
export function readModel(value: Json): Program {
  const model = readProgram(value, new Budget("the model in the stream"));
  return new Program({ ...model, facade: model.facade_of, tools: model.instructions.map(toolOf) });
}

function toolOf(instruction: Instruction): Omit<Tool, "program"> {
  return {
    name: instruction.name,
    description: instruction.docs.join("\n").trim(),
    discriminator: instruction.discriminator,
    also: instruction.also,
    accounts: leaves(instruction.accounts, []),
    args: instruction.args.map(({ name, type, docs, default: given }) => ({
      name,
      type,
      word: "",
      isExact: true,
      default: given,
      description: docs.join("\n").trim(),
    })),
    rest: instruction.remaining,
    returns: instruction.returns,
    absent: instruction.optional_accounts,
    fill: instruction.arg_values,
    off: instruction.disabled,
    ambiguous: [],
  };
}

function leaves(items: readonly (Account | Group)[], above: readonly string[]): ToolAccount[] {
  return items.flatMap((item) => {
    const path = [...above, item.name];
    return "accounts" in item ? leaves(item.accounts, path) : [leaf(item, path)];
  });
}

function leaf({ default: value, docs, name: _, ...account }: Account, path: string[]): ToolAccount {
  const { writable, signer, optional, address, pda } = account;
  return { name: path.join("."), path, writable, signer, optional, address, pda, value, description: docs.join("\n").trim() };
}
