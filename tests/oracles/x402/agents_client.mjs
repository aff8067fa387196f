// Cloudflare's agents/x402 client: withX402Client around the TypeScript MCP SDK's client, paying a server over stdio.
// usage: node --import ./agents_svm.mjs agents_client.mjs <server JSON> <tool> <arguments JSON>; env RPC_URL, SEED
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { withX402Client } from "agents/x402";

const [server, tool, args] = [JSON.parse(process.argv[2]), process.argv[3], JSON.parse(process.argv[4])];
const account = await createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(Buffer.from(process.env.SEED, "hex")));
const client = new Client({ name: "agents", version: "1" });
await client.connect(new StdioClientTransport({ ...server, stderr: "ignore" }));
const paying = withX402Client(client, { account, network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" });
const asked = [];
const confirm = async (accepts) => (asked.push(...accepts), true);
const { tools } = await paying.listTools();
const result = await paying.callTool(confirm, { name: tool, arguments: args });
console.log(JSON.stringify({ tools, asked, result }));
await client.close();
process.exit(0);
