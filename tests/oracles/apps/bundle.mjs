// Bundles host.mjs for a browser. Prints the script.
import { build } from "esbuild";

const { outputFiles } = await build({
  entryPoints: [new URL("host.mjs", import.meta.url).pathname],
  bundle: true,
  write: false,
  format: "iife",
  platform: "browser",
});
process.stdout.write(outputFiles[0].text);
