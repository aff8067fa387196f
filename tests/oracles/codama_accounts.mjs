// Codama's dynamic client, asked line by line: {id, file, name, hex, program, accounts} -> {id, accounts} or {id, refused}.
//
// `hex` is instruction data (Codama's own parser reads the arguments out of it), `accounts` what the caller gives. It answers with the
// accounts of the instruction in order, as [address, role] (0 read only, 1 writable, 2 signer, 3 both).
import fs from 'node:fs';
import readline from 'node:readline';
import { createFromRoot } from 'codama';
import { createProgramClient } from '@codama/dynamic-client';
import { getNodeCodec } from '@codama/dynamic-codecs';

const LISTS = {
  rootNode: ['additionalPrograms'],
  programNode: ['pdas', 'accounts', 'instructions', 'definedTypes', 'errors', 'events', 'constants'],
  instructionNode: ['accounts', 'arguments'],
  structTypeNode: ['fields'],
  enumTypeNode: ['variants'],
  tupleTypeNode: ['items'],
  pdaValueNode: ['seeds'],
  pdaNode: ['seeds'],
};
const whole = node => {
  if (Array.isArray(node)) return node.map(whole);
  if (!node || typeof node !== 'object') return node;
  const lists = Object.fromEntries((LISTS[node.kind] ?? []).map(key => [key, []]));
  return { ...lists, ...Object.fromEntries(Object.entries(node).map(([key, value]) => [key, whole(value)])) };
};

const programs = new Map();
function load(file) {
  if (!programs.has(file)) {
    const root = whole(createFromRoot(JSON.parse(fs.readFileSync(file))).getRoot());
    programs.set(file, { root, client: createProgramClient(root) });
  }
  return programs.get(file);
}

/** What the codecs give, as the client takes it: bare options, bytes, variants in camelCase. */
function given(value) {
  if (Array.isArray(value) && value.length === 2 && value[0] === 'base64') return new Uint8Array(Buffer.from(value[1], 'base64'));
  if (Array.isArray(value)) return value.map(given);
  if (value instanceof Uint8Array || !value || typeof value !== 'object') return value;
  if (value.__option) return value.__option === 'None' ? null : given(value.value);
  const out = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, given(inner)]));
  if (out.__kind) out.__kind = out.__kind.charAt(0).toLowerCase() + out.__kind.slice(1);
  return out;
}

async function answer({ file, name, hex, accounts }) {
  const { root, client } = load(file);
  const node = root.program.instructions.find(i => i.name === name);
  const path = [root, root.program, node];
  const args = given(getNodeCodec(path).decode(Buffer.from(hex, 'hex')));
  for (const argument of node.arguments) {
    if (argument.defaultValueStrategy === 'omitted') delete args[argument.name];
  }
  const either = node.accounts.filter(a => a.isSigner === 'either' && accounts[a.name]).map(a => a.name);
  const built = await client.methods[name](args).accounts(accounts).signers(either).instruction();
  const metas = built.accounts.map(a => [a.address, a.role]);
  return { accounts: metas, instruction: { metas, hex: Buffer.from(built.data).toString('hex') } };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const row = JSON.parse(line);
  let reply;
  try {
    reply = await answer(row);
  } catch (error) {
    reply = { refused: String(error.message ?? error).slice(0, 200) };
  }
  process.stdout.write(JSON.stringify({ id: row.id, ...reply }) + '\n');
}
