/** Reads what a Solana program says of itself through list_tools, and builds its instructions. */

export { encodeValue } from "./encode.js";
export { AccountError, EncodeError, NotUsableError, PageError, ReaderError, UnknownNameError } from "./errors.js";
export {
  type AccountMeta,
  AccountRole,
  type BuildOptions,
  buildInstruction,
  type GivenAccount,
  type GivenAccounts,
  type Instruction,
} from "./instruction.js";
export type { Default, Discriminator, PdaNode, SeedNode, TypeDefinition, TypeNode, ValueNode } from "./nodes.js";
export { type FetchPage, listTools, listToolsData } from "./pages.js";
export { findProgramAddress } from "./pda.js";
export {
  type Constant,
  type DataType,
  type ErrorCode,
  Program,
  type RemainingAccounts,
  type Tool,
  type ToolAccount,
  type ToolArgument,
} from "./program.js";
export { type Node, pagesOverRpc, simulate, type Simulation, unsignedTransaction } from "./rpc.js";
export { readStream } from "./stream.js";
