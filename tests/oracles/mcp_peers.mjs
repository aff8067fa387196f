// node mcp_peers.mjs <sdk|client> <stdio|http> <target JSON> <calls JSON>
// Lists the tools of a server with one of the TypeScript SDKs (`sdk`: v1, draft-07; `client`: v2), and calls some.
// Prints {"tools": [names], "calls": [{"isError", "text", "structured"}]}.
const [which, transport, target, calls] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4]), JSON.parse(process.argv[5])];
let Client, Stdio, Http;
if (which === "sdk") {
  ({ Client } = await import("@modelcontextprotocol/sdk/client/index.js"));
  ({ StdioClientTransport: Stdio } = await import("@modelcontextprotocol/sdk/client/stdio.js"));
  ({ StreamableHTTPClientTransport: Http } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js"));
} else {
  const v2 = await import("@modelcontextprotocol/client");
  ({ Client, StreamableHTTPClientTransport: Http } = v2);
  Stdio = v2.StdioClientTransport ?? (await import("@modelcontextprotocol/client/stdio")).StdioClientTransport;
}
const client = new Client({ name: "peer", version: "1" }, which === "client" ? { versionNegotiation: { mode: "auto" } } : {});
await client.connect(transport === "stdio" ? new Stdio(target) : new Http(new URL(target.url)));
const { tools } = await client.listTools();
const out = [];
for (const call of calls) {
  const result = await client.callTool(call);
  out.push({ isError: !!result.isError, text: result.content[0]?.text, structured: result.structuredContent });
}
console.log(JSON.stringify({ tools: tools.map((t) => t.name), calls: out }));
await client.close();
process.exit(0);
