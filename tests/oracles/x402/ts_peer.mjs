// The official TypeScript SDK: @x402/core and @x402/svm. One JSON request a line on stdin, one JSON answer a line.
//
// {"op": "build", "scheme", "requirements"}            -> the inner payload that its client signs (env SEED pays)
// {"op": "verify" | "settle", "payload", "requirements"} -> its facilitator's answer (env SPONSOR pays the fees)
// {"op": "supported"}                                   -> what its facilitator offers
// {"op": "call", "server", "tool", "arguments"}         -> calls a tool of an MCP server over stdio and pays for it
import { createInterface } from "node:readline";
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { x402Client } from "@x402/core/client";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorSvmSigner } from "@x402/svm";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { ExactSvmScheme as ExactSvmFacilitator } from "@x402/svm/exact/facilitator";
import { UptoSvmScheme } from "@x402/svm/upto/client";
import { UptoSvmScheme as UptoSvmFacilitator } from "@x402/svm/upto/facilitator";

const NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const rpcUrl = process.env.RPC_URL;
const signer = (seed) => createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(Buffer.from(seed, "hex")));
const payer = await signer(process.env.SEED);
const clients = { exact: new ExactSvmScheme(payer, { rpcUrl }), upto: new UptoSvmScheme(payer, { rpcUrl }) };
const paying = new x402Client();
for (const scheme of Object.values(clients)) paying.register(NETWORK, scheme);
paying.setSpendControls?.(false);
const sponsor = toFacilitatorSvmSigner(await signer(process.env.SPONSOR), { defaultRpcUrl: rpcUrl });
const facilitator = new x402Facilitator();
facilitator.register([NETWORK], new ExactSvmFacilitator(sponsor));
facilitator.register([NETWORK], new UptoSvmFacilitator(sponsor));

const META = "x402/payment";
const ops = {
  build: async ({ scheme, requirements }) => (await clients[scheme].createPaymentPayload(2, requirements)).payload,
  verify: ({ payload, requirements }) => facilitator.verify(payload, requirements),
  settle: ({ payload, requirements }) => facilitator.settle(payload, requirements),
  supported: () => facilitator.getSupported(),
  call: async ({ server, tool, arguments: args }) => {
    const client = new Client({ name: "ts-peer", version: "1" });
    await client.connect(new StdioClientTransport({ ...server, stderr: "ignore" }));
    const first = await client.callTool({ name: tool, arguments: args });
    const required = first.structuredContent;
    const payment = await paying.createPaymentPayload(required);
    const paid = await client.callTool({ name: tool, arguments: args, _meta: { [META]: payment } });
    const again = await client.callTool({ name: tool, arguments: args, _meta: { [META]: payment } });
    await client.close();
    return { first, paid, again };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await ops[request.op](request) };
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer, (_, v) => (typeof v === "bigint" ? v.toString() : v)) + "\n");
}
process.exit(0);
