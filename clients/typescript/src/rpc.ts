/** Pages over JSON-RPC, and unsigned transactions: what a client without another Solana library needs. */

import { base58Bytes, base64Bytes, base64Text, compactU16, joined } from "./bytes.js";
import { PageError, ReaderError } from "./errors.js";
import { type Instruction } from "./instruction.js";
import { type FetchPage, listToolsData } from "./pages.js";
import { addressBytes } from "./pda.js";
import { cleanText } from "./text.js";

/** How a node is asked: its URL and who would pay. The payer signs nothing, but the account must exist. */
export interface Node {
  url: string;
  feePayer: string;
  commitment?: "processed" | "confirmed" | "finalized";
  /** For tests, and for headers of one's own. */
  fetch?: typeof fetch;
}

/** What a simulation says. */
export interface Simulation {
  /** The node's error, as it wrote it; null if the transaction would succeed. */
  error: unknown;
  logs: string[];
  returnData: { programAddress: string; data: Uint8Array } | null;
  unitsConsumed: number | null;
}

const BLOCKHASH = new Uint8Array(32);

/**
 * A legacy transaction of the instructions, with zeros for signatures, in base64. The order of accounts is the fee payer,
 * signers that are written, other signers, accounts that are written, others.
 */
export function unsignedTransaction(instructions: readonly Instruction[], feePayer: string, blockhash?: string): string {
  const roles = new Map<string, number>([[feePayer, 3]]);
  const add = (address: string, role: number): void => void roles.set(address, (roles.get(address) ?? 0) | role);
  for (const { accounts } of instructions) for (const { address, role } of accounts) add(address, role);
  for (const { programAddress } of instructions) add(programAddress, 0);
  const order = [3, 2, 1, 0].flatMap((role) => [...roles.keys()].filter((key) => roles.get(key) === role));
  if (order.length > 256) throw new ReaderError("", `expected at most 256 accounts in a transaction, got ${order.length}`);
  const countOf = (...wanted: number[]): number => order.filter((key) => wanted.includes(roles.get(key) as number)).length;
  const hash = blockhash === undefined ? BLOCKHASH : base58Bytes(blockhash) ?? BLOCKHASH;
  const signatures = countOf(2, 3);
  return base64Text(
    joined([
      compactU16(signatures),
      new Uint8Array(64 * signatures),
      Uint8Array.of(signatures, countOf(2), countOf(0)),
      compactU16(order.length),
      ...order.map((key) => addressBytes(key, "an account of the transaction")),
      hash,
      compactU16(instructions.length),
      ...instructions.flatMap(({ programAddress, accounts, data }) => [
        Uint8Array.of(order.indexOf(programAddress)),
        compactU16(accounts.length),
        Uint8Array.from(accounts, ({ address }) => order.indexOf(address)),
        compactU16(data.length),
        data,
      ]),
    ]),
  );
}

/** Simulates the instructions on a node, without signatures and with its newest blockhash. */
export async function simulate(node: Node, instructions: readonly Instruction[]): Promise<Simulation> {
  const settings = { encoding: "base64", sigVerify: false, replaceRecentBlockhash: true, commitment: node.commitment ?? "confirmed" };
  const params = [unsignedTransaction(instructions, node.feePayer), settings];
  const answer = await ask(node, "simulateTransaction", params);
  const value = member(member(answer, "result"), "value");
  if (typeof value !== "object" || value === null) {
    throw new ReaderError("simulateTransaction", `the node answered ${cleanText(JSON.stringify(member(answer, "error") ?? answer) ?? "", 300)}`);
  }
  const logs = member(value, "logs");
  const units = member(value, "unitsConsumed");
  return {
    error: member(value, "err") ?? null,
    logs: Array.isArray(logs) ? logs.map((line) => cleanText(String(line), 10_000)) : [],
    returnData: returnDataOf(member(value, "returnData")),
    unitsConsumed: typeof units === "number" ? units : null,
  };
}

async function ask(node: Node, method: string, params: unknown): Promise<unknown> {
  try {
    const response = await (node.fetch ?? fetch)(node.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return await response.json();
  } catch (error) {
    throw new ReaderError(method, `the node cannot be reached, or does not answer in JSON: ${cleanText(String(error), 200)}`);
  }
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function returnDataOf(value: unknown): Simulation["returnData"] {
  const [programAddress, data] = [member(value, "programId"), member(value, "data")];
  const bytes = Array.isArray(data) && typeof data[0] === "string" ? base64Bytes(data[0]) : undefined;
  return typeof programAddress === "string" && bytes ? { programAddress, data: bytes } : null;
}

/** A `FetchPage` that simulates `list_tools` of the program on a node. */
export function pagesOverRpc(node: Node, programAddress: string): FetchPage {
  return async (cursor) => {
    const found = await simulate(node, [{ programAddress, accounts: [], data: listToolsData(cursor) }]);
    if (found.error !== null) {
      throw new PageError(`page ${cursor}`, `the program failed: ${cleanText(JSON.stringify(found.error) ?? "", 200)} ${found.logs.slice(-1).join("")}`);
    }
    const returned = found.returnData;
    return returned && returned.programAddress === programAddress ? returned.data : null;
  };
}

