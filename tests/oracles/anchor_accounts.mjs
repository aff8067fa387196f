// Anchor's own account resolution, asked line by line: {id, file, name, hex, accounts, wallet} -> {id, accounts} or {id, refused}.
//
// `hex` is instruction data (Anchor's own coder reads the arguments out of it), `accounts` what the caller gives, dotted names. It
// answers with every address that it has in the end, by dotted name in its own camelCase, and the whole instruction where none is
// missing: its data, and each account with 2 for a signer and 1 for one that is written. Nothing is fetched.
import fs from 'node:fs';
import readline from 'node:readline';
import * as anchor from '@anchor-lang/core';

const { Program, web3 } = anchor.default ?? anchor;
const programs = new Map();

function program(file, wallet) {
  const key = file + wallet;
  if (!programs.has(key)) {
    const absent = { getAccountInfo: async () => null, getAccountInfoAndContext: async () => ({ value: null }) };
    const provider = { connection: absent, publicKey: new web3.PublicKey(wallet), wallet: { publicKey: new web3.PublicKey(wallet) } };
    programs.set(key, new Program(JSON.parse(fs.readFileSync(file)), provider));
  }
  return programs.get(key);
}

const camel = name => name.replace(/[_-]+([a-z0-9])/gi, (_, c) => c.toUpperCase()).replace(/^[A-Z]/, c => c.toLowerCase());

function nested(flat) {
  const out = {};
  for (const [name, key] of Object.entries(flat)) {
    const path = name.split('.').map(camel);
    let level = out;
    for (const part of path.slice(0, -1)) level = level[part] ??= {};
    level[path.at(-1)] = key === null ? null : new web3.PublicKey(key);
  }
  return out;
}

function flat(tree, prefix = '') {
  const out = {};
  for (const [name, value] of Object.entries(tree ?? {})) {
    if (value === undefined || value === null) continue;
    if (value.toBase58) out[prefix + name] = value.toBase58();
    else Object.assign(out, flat(value, `${prefix}${name}.`));
  }
  return out;
}

async function answer({ file, name, hex, accounts, wallet }) {
  const loaded = program(file, wallet);
  const found = loaded.idl.instructions.find(i => camel(i.name) === camel(name));
  const decoded = loaded.coder.instruction.decode(Buffer.from(hex, 'hex'));
  const args = found.args.map(arg => decoded.data[arg.name]);
  const builder = loaded.methods[found.name](...args).accountsPartial(nested(accounts));
  const resolved = flat(await builder.pubkeys());
  try {
    const whole = await builder.instruction();
    const metas = whole.keys.map(k => [k.pubkey.toBase58(), 2 * k.isSigner + k.isWritable]);
    return { accounts: resolved, instruction: { metas, hex: whole.data.toString('hex') } };
  } catch {
    return { accounts: resolved };
  }
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
