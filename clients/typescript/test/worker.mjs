// Answers questions line by line, for the Python tests: {"ask": "encode" | "load" | "build" | "layout" | "simulate", …}.
// Prints {"hex"}, {"accounts", "hex"}, …, or {"refused"}. Any error that is not of the package ends the worker.
import readline from "node:readline";

const load = (name) => import(new URL(name, process.env.MCPSOL_READER));
const reader = await load("index.js");
const { Budget, readDefinition, readType } = await load("read_nodes.js");
const { TypeTable } = await load("type_table.js");
const { hexBytes, hexText } = await load("bytes.js");

const programs = new Map();
const read = (how, value) => how(value, new Budget("worker"));
const ASKED = {
  encode({ types, type, value }) {
    const table = new TypeTable(types.map((each) => read(readDefinition, each)));
    return { hex: hexText(reader.encodeValue(table, read(readType, type), value)) };
  },
  async load({ program, pages, stream, base }) {
    const fetchPage = (cursor) => hexBytes((cursor < base ? pages[cursor] : stream[cursor - base]) ?? "");
    programs.set(program, { pages: await reader.listTools(fetchPage), stream: await reader.readStream(fetchPage) });
    return { tools: programs.get(program).stream.tools.map((tool) => tool.name) };
  },
  async discover({ program, url, feePayer, address }) {
    const fetchPage = reader.pagesOverRpc({ url, feePayer }, address);
    programs.set(program, { pages: await reader.listTools(fetchPage), stream: await reader.readStream(fetchPage) });
    return { tools: programs.get(program).stream.tools.map((tool) => tool.name) };
  },
  build({ program, from, tool, args, accounts, options }) {
    const built = reader.buildInstruction(programs.get(program)[from].tools[tool], args, accounts, options);
    return { accounts: built.accounts.map(({ address, role }) => [address, role]), hex: hexText(built.data) };
  },
  async simulate({ program, from, tool, args, accounts, options, url, feePayer }) {
    const built = reader.buildInstruction(programs.get(program)[from].tool(tool), args, accounts, options);
    const { error, logs, returnData } = await reader.simulate({ url, feePayer }, [built]);
    return { error, logs, returned: returnData && hexText(returnData.data) };
  },
  layout({ program, account }) {
    const { size, offsets } = programs.get(program).stream.accountLayout(account);
    return { size, offsets: Object.fromEntries(offsets) };
  },
};

for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = await ASKED[asked.ask](asked);
  } catch (error) {
    if (!(error instanceof reader.ReaderError)) throw error;
    answer = { refused: error.message, kind: error.name };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
