// Loader for Cloudflare's agents/x402, which knows EVM alone: where it imports @x402/evm it gets @x402/svm's mechanism.
// All of its own code (how it asks, pays and answers over MCP) stays as it is.
import { register } from "node:module";
register(`data:text/javascript,${encodeURIComponent(`
  const here = ${JSON.stringify(import.meta.url)};
  export function resolve(specifier, context, next) {
    const swapped = { "@x402/evm/exact/client": "./agents_svm_client.mjs", "@x402/evm/exact/server": "./agents_svm_server.mjs" }[specifier];
    return swapped ? { url: new URL(swapped, here).href, shortCircuit: true } : next(specifier, context);
  }
`)}`);
