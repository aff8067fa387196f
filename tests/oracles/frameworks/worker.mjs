// node worker.mjs FRAMEWORK TARGET CALLS: an agent framework as a client of the bridge, as worker.py is.
// The tools are listed and converted as the framework does it for its models, and the converted tools are called.
// Prints {"tools": {name: the JSON schema of its arguments that a model sees}, "calls": [text]}.
const [framework, target, calls] = [process.argv[2], JSON.parse(process.argv[3]), JSON.parse(process.argv[4])];

async function aiSdk() {
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
  const client = await createMCPClient({ transport: target.url ? { type: "http", url: target.url } : new Stdio(target) });
  const found = await client.tools();
  const schemas = {};
  for (const [name, tool] of Object.entries(found)) schemas[name] = await tool.inputSchema.jsonSchema;
  return { schemas, call: (name, args) => found[name].execute(args, { toolCallId: "1", messages: [] }), close: () => client.close() };
}

async function mastra() {
  const { MCPClient } = await import("@mastra/mcp");
  const client = new MCPClient({ servers: { bridge: target.url ? { url: new URL(target.url) } : target } });
  const found = await client.listTools();
  const schemas = {};
  for (const [name, tool] of Object.entries(found)) {
    schemas[name.replace(/^bridge_/, "")] = tool.inputSchema["~standard"].jsonSchema.input({ target: "draft-07" });
  }
  return { schemas, call: (name, args) => found[`bridge_${name}`].execute(args, {}), close: () => client.disconnect() };
}

const { schemas, call, close } = await (framework === "@mastra/mcp" ? mastra() : aiSdk());
const texts = [];
for (const { name, arguments: args } of calls) {
  try {
    texts.push(JSON.stringify(await call(name, args)));
  } catch (error) {
    texts.push(`${error.name}: ${error.message}`);
  }
}
await new Promise((done) => process.stdout.write(JSON.stringify({ tools: schemas, calls: texts }) + "\n", done));
await close();
process.exit(0);
