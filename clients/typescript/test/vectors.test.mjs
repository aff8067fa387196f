// Every vector in tests/vectors, which the Python tests read too.
import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

const DIST = process.env.MCPSOL_READER ?? new URL("../dist/", import.meta.url).href;
const load = (name) => import(new URL(name, DIST));
const { listTools, readStream, encodeValue, Program, PageError, EncodeError, buildInstruction } = await load("index.js");
const { Budget, readType, readPda, readDefinition } = await load("read_nodes.js");
const { TypeTable } = await load("type_table.js");
const { hexText, hexBytes } = await load("bytes.js");
const vectors = (name) => JSON.parse(fs.readFileSync(new URL(`../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
const plain = (value) => JSON.parse(JSON.stringify(value, (_, v) => (v instanceof Uint8Array ? hexText(v) : v)));
const read = (reader, value) => (value === null ? null : plain(reader(value, new Budget("vector"))));
const utf8 = new TextEncoder();

function fetchOf(pages, base = 0, stream = []) {
  return (cursor) => (cursor >= base && base ? stream[cursor - base] : pages[cursor] && utf8.encode(pages[cursor]));
}
const saysOf = (program) => ({
  name: program.name,
  tools: program.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    discriminator: hexText(tool.discriminator.bytes),
    accounts: tool.accounts.map(({ path, signer, writable, optional, address, pda }) => ({ path, signer, writable, optional, address, seeds: plain(pda) })),
    args: tool.args.map(({ name, type }) => ({ name, type: plain(type) })),
    returns: plain(tool.returns),
    absent: tool.absent,
  })),
  types: Object.fromEntries(program.types.map((type) => [type.name, plain(type)])),
});

for (const vector of vectors("types").vectors) {
  test(`type ${JSON.stringify(vector.type)} of ${JSON.stringify(vector.value).slice(0, 60)}`, () => {
    const type = readType(vector.type, new Budget("vector"));
    assert.equal(hexText(encodeValue(new TypeTable([]), type, vector.value)), vector.hex);
  });
}

for (const vector of vectors("pages")) {
  const wanted = {
    name: vector.program.name,
    tools: vector.program.tools.map((tool) => ({
      ...tool,
      accounts: tool.accounts.map((account) => ({ ...account, seeds: read(readPda, account.seeds) })),
      args: tool.args.map(({ name, type }) => ({ name, type: read(readType, type) })),
      returns: read(readType, tool.returns),
    })),
    types: Object.fromEntries(Object.entries(vector.program.types).map(([name, type]) => [name, read(readDefinition, type)])),
  };
  const fetchPage = fetchOf(vector.json_pages, vector.stream_base, vector.stream_pages.map(hexBytes));

  test(`pages: ${vector.case}`, async () => {
    assert.deepEqual(saysOf(await listTools(fetchPage)), wanted);
  });

  test(`stream: ${vector.case}`, async () => {
    const program = await readStream(fetchPage);
    const model = vector.model;
    assert.equal(program.name, model.name);
    assert.equal(program.address, model.address ?? null);
    assert.deepEqual(program.tools.map((tool) => tool.name), (model.instructions ?? []).map((each) => each.name));
    assert.deepEqual(plain(program.types), (model.types ?? []).map((type) => read(readDefinition, type)));
    const fromPages = saysOf(await listTools(fetchPage));
    const fromStream = saysOf(program);
    // What a facade's pages add to a description is not in the model.
    for (const tool of [...fromPages.tools, ...fromStream.tools]) delete tool.description;
    assert.deepEqual(fromStream.tools, fromPages.tools);
  });
}

for (const vector of vectors("pages_mcpsol")) {
  test(`mcpsol's own pages: ${vector.case}`, async () => {
    const program = await listTools(fetchOf(vector.pages));
    assert.deepEqual(
      program.tools.map((tool) => ({
        name: tool.name,
        description: tool.description,
        discriminator: hexText(tool.discriminator.bytes),
        accounts: tool.accounts.map(({ path, signer, writable }) => ({ path, signer, writable })),
        args: tool.args.map(({ name, type, isExact }) => ({ name, type: plain(type), exact: isExact })),
        ambiguous: tool.ambiguous,
      })),
      vector.tools
        .filter((tool) => tool.discriminator !== "42195e6a55fd41c0")
        .map((tool) => ({ ...tool, args: tool.args.map((arg) => ({ ...arg, type: read(readType, arg.type) })) })),
    );
  });
}

// --- what a reader refuses --------------------------------------------------------------------------------------------

const head = '"v":"2024-11-05","name":"p","x":1';
const refused = (name, pages, why, base = 0, stream = []) =>
  test(`refused: ${name}`, async () => {
    await assert.rejects(async () => (base ? readStream : listTools)(fetchOf(pages, base, stream)), (error) => {
      assert.ok(error instanceof PageError, String(error));
      assert.match(error.message, why);
      return true;
    });
  });
refused("a page that names itself", [`{${head},"tools":[],"nextCursor":"0"}`], /read before/);
refused("a cursor that is no number", [`{${head},"tools":[],"nextCursor":"-1"}`], /nextCursor/);
refused("a cursor over 65535", [`{${head},"tools":[],"nextCursor":"65536"}`], /nextCursor/);
refused("a missing page", [`{${head},"tools":[],"nextCursor":"1"}`], /returned no data/);
refused("a page over 1,024 bytes", [`{${head},"tools":["${"a".repeat(1024)}"]}`], /at most 1024/);
refused("deep JSON", ["[".repeat(500)], /nest deeper/);
refused("what is not JSON", ["{"], /not JSON/);
refused("a part that is missing", [`{${head},"tools":[{"n":"a","d":""}],"more":[[0,1,2,"{}"]]}`], /expected part 0/);
refused("parts without an end", [`{${head},"tools":[{"n":"a","d":""}],"more":[[0,0,2,"{"]]}`], /end after 1 of 2/);
refused("more about no tool", [`{${head},"tools":[],"more":[[3,{}]]}`], /about tool 3/);
refused("an unknown type node", [`{${head},"tools":[],"types":[{"name":"T","type":["lists","u8"]}]}`], /expected a type/);
refused("an unknown key of a type", [`{${head},"tools":[],"types":[{"name":"T","type":"u8","colour":1}]}`], /only keys/);

test("zeros at the end of a page are dropped", async () => {
  const page = utf8.encode(`{${head},"tools":[]}\0\0\0`);
  assert.equal((await listTools(() => page)).name, "p");
});

const counter = vectors("pages")[0];
const stream = counter.stream_pages.map(hexBytes);
const broken = (change) => stream.map((page, i) => (i === 0 ? change(Uint8Array.from(page)) : page));
const withByte = (at, value) => broken((page) => { page[at < 0 ? page.length + at : at] = value; return page; });
const announced = (text) => [counter.json_pages[0].replace(/"stream":\{[^}]*\}/, `"stream":{${text}}`)];
const at = counter.stream_base;
refused("another framing", counter.json_pages, /version 2/, at, withByte(0, 2));
refused("another place", counter.json_pages, /expected page 0/, at, withByte(1, 7));
refused("another count", counter.json_pages, /expected page 0/, at, withByte(3, 7));
refused("a changed chunk", counter.json_pages, /checksum/, at, broken((page) => { page[20] ^= 1; return page; }));
refused("a page cut off", counter.json_pages, /whole page/, at, withByte(-1, 1));
const { size, text, sha256 } = JSON.parse(counter.json_pages[0]).stream;
refused("another size", announced(`"at":${at},"size":${size + 1},"text":${text},"sha256":"${sha256}"`), /announces/, at, stream);
refused("a bomb", announced(`"at":${at},"size":${size},"text":${text - 1},"sha256":"${sha256}"`), /more than/, at, stream);
refused("too little text", announced(`"at":${at},"size":${size},"text":${text + 1},"sha256":"${sha256}"`), /unpacks to/, at, stream);
refused("another sha256", announced(`"at":${at},"size":${size},"text":${text},"sha256":"${"0".repeat(64)}"`), /sha256/, at, stream);
refused("a text over 32 MiB", announced(`"at":${at},"size":${size},"text":33554433,"sha256":"${sha256}"`), /expected "stream"/, at, stream);

test("refused: an unknown key in the model", async () => {
  const { readModel } = await load("model.js");
  assert.throws(() => readModel({ name: "p", colour: 1 }), PageError);
  assert.throws(() => readModel({ name: "p", instructions: [{ name: "i", discriminator: [], speed: 1 }] }), PageError);
});

test("text of a stranger is cut and cleaned", async () => {
  const page = `{${head},"tools":[{"n":"a\u202e\\u0007b","i":"${"x".repeat(300)}","d":""}]}`;
  const [tool] = (await listTools(fetchOf([page]))).tools;
  assert.equal(tool.name, "ab");
});

// --- instructions -----------------------------------------------------------------------------------------------------

const KEY = "Vote111111111111111111111111111111111111111";
const PROGRAM = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T";
const tool = (name, index = 2) => listTools(fetchOf(vectors("pages")[index].json_pages)).then((program) => program.tool(name));

test("a derived account is filled in", async () => {
  const built = buildInstruction(await tool("increment", 0), { amount: "5" }, { authority: KEY }, { programAddress: PROGRAM });
  assert.equal(hexText(built.data), "0b12680968ae3b210500000000000000");
  assert.equal(built.accounts[1].role, 2);
  const { address } = (await load("index.js")).findProgramAddress([utf8.encode("counter"), (await load("bytes.js")).base58Bytes(KEY)], (await load("bytes.js")).base58Bytes(PROGRAM));
  assert.deepEqual(built.accounts[0], { address, role: 1 });
});

test("an absent account at the end is left out, and the rest follows", async () => {
  const args = { owner: KEY, route: { hops: ["Direct", { Via: [KEY, 2] }], limit: null }, ratio: 1.5, amount: 7n, note: "hi" };
  const built = buildInstruction(await tool("types"), args, { hops: [KEY] }, { programAddress: PROGRAM });
  assert.deepEqual(built.accounts, [{ address: KEY, role: 1 }]);
  assert.equal(hexText(built.data).slice(0, 18), "000000000000000203");
  assert.equal(hexText(built.data).slice(-8), "03026869");
});

test("errors name the place", async () => {
  const types = await tool("types");
  const args = { owner: KEY, route: { hops: [{ Via: [KEY, 300] }], limit: null }, ratio: 1, amount: 1, note: "" };
  assert.throws(() => buildInstruction(types, args, {}, { programAddress: PROGRAM }), { name: "EncodeError", message: /^types\.route\.hops\[0\]\.Via\[1\]: u8: 300 is out of range/ });
  assert.throws(() => buildInstruction(types, { ...args, amount: 2 ** 60 }, {}, { programAddress: PROGRAM }), EncodeError);
  const names = await tool("names");
  assert.throws(() => buildInstruction(names, { pool: 1, vault_w: 2 }, {}, { programAddress: PROGRAM }), { name: "AccountError", place: "names.pool_w" });
  assert.throws(() => buildInstruction(names, { pool: 1, vault_w: 2 }, { nobody: KEY }, { programAddress: PROGRAM }), { name: "UnknownNameError" });
});

// --- types that a malicious program may define ------------------------------------------------------------------------

const encode = (definitions, type, value) =>
  encodeValue(new TypeTable(definitions.map((each) => readDefinition(each, new Budget("test")))), readType(type, new Budget("test")), value);
const T = ["generic", "T"];

test("generic types that grow without end are refused at once", () => {
  const grows = { name: "G", generics: [["T"]], type: ["tuple", [["link", "G", [["vec", T]]], ["link", "G", [["option", T]]]]] };
  assert.throws(() => encode([grows], ["link", "G", ["u8"]], []), { name: "NotUsableError" });
  const doubles = { name: "G", generics: [["T"]], type: ["vec", ["link", "G", [["tuple", [T, T]]]]] };
  assert.throws(() => encode([doubles], ["link", "G", ["u8"]], []), { name: "NotUsableError" });
});

test("types that share parts in many ways take no time", () => {
  const levels = Array.from({ length: 60 }, (_, i) => ({ name: `L${i}`, layout: "c", type: ["tuple", i ? [`@L${i - 1}`, `@L${i - 1}`] : []] }));
  const bytes = (type, last) => encode([...levels, { name: "Last", layout: "c", type }], last, {});
  assert.equal(bytes(["struct", []], "@Last").length, 0);
  const table = new TypeTable(levels.map((each) => readDefinition(each, new Budget("test"))));
  assert.equal(table.fixedSize(table.root(readType("@L20", new Budget("test")))), 0);
});

test("types that hold themselves, and values over 16 MiB, are refused", () => {
  assert.throws(() => encode([{ name: "S", type: ["tuple", ["@S"]] }], "@S", [[[]]]), { name: "EncodeError" });
  assert.throws(() => encode([{ name: "A", type: "@A" }], "@A", 1), { name: "EncodeError" });
  assert.throws(() => encode([], ["fixed", "raw", 2 ** 40], "0x"), { name: "NotUsableError" });
  assert.throws(() => encode([], ["offset", "u8", 2 ** 40, "pre", "relative"], 1), { name: "EncodeError" });
  assert.throws(() => encode([], ["option", ["array", "u64", 2 ** 30], "u8", true], null), { name: "NotUsableError" });
});

test("two types of one name, and layouts that only the program knows, are refused", () => {
  const two = [{ name: "A", type: "u8" }, { name: "A", type: "u16" }];
  assert.throws(() => encode(two, "@A", 1), { name: "NotUsableError", message: /two different types/ });
  assert.throws(() => encode([{ name: "A", type: "u8", layout: "rkyv" }], "@A", 1), { name: "NotUsableError", message: /rkyv/ });
});

test("a list of pages without end is refused", async () => {
  const page = (cursor) => utf8.encode(`{${head},"tools":[],"nextCursor":"${cursor + 1}"}`);
  await assert.rejects(() => listTools(page), { name: "PageError", message: /more than 2048 pages/ });
});
