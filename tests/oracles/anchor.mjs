// Anchor's own TypeScript coders, asked line by line: {id, file, kind, name, value, hex} -> {id, hex, back} or {id, refused}.
//
// `value` is in the JSON forms of docs/values.md with the IDL's own names; `hex` is what it answers for encoding it, `back` what Anchor
// decodes from the bytes given. The coders get the IDL as it is written, so no name is changed on the way.
import fs from 'node:fs';
import readline from 'node:readline';
import * as anchor from '@anchor-lang/core';

const { BN, web3, BorshCoder } = anchor.default ?? anchor;
const WIDE = new Set(['u64', 'i64', 'u128', 'i128', 'u256', 'i256']);
const programs = new Map();

function program(file) {
  if (!programs.has(file)) {
    const idl = JSON.parse(fs.readFileSync(file));
    programs.set(file, { idl, coder: new BorshCoder(idl) });
  }
  return programs.get(file);
}

const bytesOf = text => Buffer.from(text.slice(2), 'hex');

/** Walks type `t` and turns values of one form into the other; `to` holds the leaves of the direction. */
function convert(t, value, idl, env, to) {
  const again = (u, v) => convert(u, v, idl, env, to);
  if (typeof t === 'string') return to.leaf(t, value);
  if ('option' in t || 'coption' in t) return value === null ? null : again(t.option ?? t.coption, value);
  if ('vec' in t) return t.vec === 'u8' ? to.bytes(value, true) : value.map(v => again(t.vec, v));
  if ('array' in t) return t.array[0] === 'u8' ? to.bytes(value, false) : value.map(v => again(t.array[0], v));
  if ('generic' in t) return convert(env[t.generic].type, value, idl, env[t.generic].env, to);
  const definition = idl.types.find(d => d.name === t.defined.name);
  const inner = Object.fromEntries((definition.generics ?? []).map((g, i) => [g.name, { ...t.defined.generics[i], env }]));
  return shape(definition.type, value, idl, inner, to);
}

function shape(ty, value, idl, env, to) {
  if (ty.kind === 'type') return convert(ty.alias, value, idl, env, to);
  if (ty.kind === 'struct') return fields(ty.fields, value, idl, env, to);
  return to.variant(value, name => {
    const variant = ty.variants.find(v => v.name === name);
    return variant.fields?.length ? v => fields(variant.fields, v, idl, env, to) : null;
  });
}

function fields(list, value, idl, env, to) {
  if (!list?.length) return {};
  if (list[0].name !== undefined) return Object.fromEntries(list.map(f => [f.name, convert(f.type, value[f.name], idl, env, to)]));
  return to.tuple(list.map((f, i) => convert(f, value[i], idl, env, to)));
}

const toAnchor = {
  leaf(t, v) {
    if (WIDE.has(t)) return new BN(v);
    if (t === 'f32' || t === 'f64') return Number(v);
    if (t === 'pubkey') return new web3.PublicKey(v);
    return t === 'bytes' ? bytesOf(v) : v;
  },
  bytes: (v, vec) => (vec ? bytesOf(v) : [...bytesOf(v)]),
  tuple: list => list,
  variant(v, payload) {
    if (typeof v === 'string') return { [v]: {} };
    const [[name, inner]] = Object.entries(v);
    return { [name]: payload(name)(inner) };
  },
};

const fromAnchor = {
  leaf(t, v) {
    if (WIDE.has(t)) return v.toString();
    if (t === 'f32' || t === 'f64') return Number.isFinite(v) ? v : String(v);
    if (t === 'pubkey') return v.toBase58();
    return t === 'bytes' ? '0x' + Buffer.from(v).toString('hex') : v;
  },
  bytes: v => '0x' + Buffer.from(v).toString('hex'),
  tuple: list => list,
  variant(v, payload) {
    const [[name, inner]] = Object.entries(v);
    const decode = payload(name);
    return decode ? { [name]: decode(inner) } : name;
  },
};

function answer({ file, kind, name, value, hex }) {
  const { idl, coder } = program(file);
  const known = { instruction: coder.instruction.ixLayouts, account: coder.accounts.accountLayouts, event: coder.events.layouts }[kind];
  const { discriminator, layout } = known.get(name);
  const walk = to => v =>
    kind === 'instruction'
      ? fields(idl.instructions.find(i => i.name === name).args, v, idl, {}, to)
      : convert({ defined: { name } }, v, idl, {}, to);
  const room = Buffer.alloc(Math.max(4096, hex.length * 2)); // the coders' own encode() has room for 1,000 bytes
  const length = layout.encode(walk(toAnchor)(value), room);
  const encoded = Buffer.concat([Buffer.from(discriminator), room.subarray(0, length)]).toString('hex');
  const decoded = layout.decode(Buffer.from(hex, 'hex').subarray(discriminator.length));
  return { hex: encoded, back: walk(fromAnchor)(decoded) };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const row = JSON.parse(line);
  let reply;
  try {
    reply = answer(row);
  } catch (error) {
    reply = { refused: String(error.message ?? error).slice(0, 200) };
  }
  process.stdout.write(JSON.stringify({ id: row.id, ...reply }) + '\n');
}
