// Cloudflare's agents/x402 server: withX402 around the TypeScript MCP SDK's server, over stdio.
// usage: node --import ./agents_svm.mjs agents_server.mjs FACILITATOR_URL PAY_TO
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { withX402 } from "agents/x402";

const [url, recipient] = process.argv.slice(2);
const server = withX402(new McpServer({ name: "agents", version: "1" }), {
  network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  recipient,
  facilitator: { url },
});
let runs = 0;
server.paidTool("quote", "A quote.", 0.004, {}, {}, async () => ({
  content: [{ type: "text", text: `sunny ${++runs}` }],
}));
await server.connect(new StdioServerTransport());
