// A host of MCP Apps in a page: it connects to a server as an official client, calls a tool, and shows the tool's page
// by ext-apps' own bridge. The test drives it through window.host.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

const HTML = "text/html;profile=mcp-app";
const said = { context: [] };

async function connected(url) {
  const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [HTML] } } };
  const client = new Client({ name: "panel host", version: "1" }, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

async function shown(client, name, args, theme) {
  const { tools } = await client.listTools();
  const uri = tools.find((tool) => tool.name === name)._meta.ui.resourceUri;
  const { contents } = await client.readResource({ uri });
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  frame.title = "The panel";
  frame.style.cssText = "width:100%;height:600px;border:0";
  frame.srcdoc = contents[0].text;
  document.body.append(frame);
  const capabilities = { serverTools: {}, updateModelContext: { text: {} } };
  const bridge = new AppBridge(client, { name: "panel host", version: "1" }, capabilities, { hostContext: { theme } });
  bridge.onupdatemodelcontext = async (params) => { said.context.push(params); return {}; };
  const opened = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await opened;
  await bridge.sendToolInput({ arguments: args });
  const result = await client.callTool({ name, arguments: args });
  await bridge.sendToolResult(result);
  return result;
}

window.host = { connected, shown, said };
