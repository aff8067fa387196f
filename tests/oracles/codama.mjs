// Codama's dynamic codecs, asked line by line: {id, file, kind, name, value, hex} -> {id, hex, back} or {id, refused}.
//
// Reads any IDL that Codama can: its own roots, and Shank's and both of Anchor's through its converter (without the visitor that
// flattens struct arguments, so that values keep the shape of the source). Names are compared without case and separators.
import fs from 'node:fs';
import readline from 'node:readline';
import { createFromRoot } from 'codama';
import { rootNodeFromAnchorWithoutDefaultVisitor } from '@codama/nodes-from-anchor';
import { getNodeCodec } from '@codama/dynamic-codecs';

// Newer Codama nodes leave empty lists out; the codecs' older visitors want them.
const LISTS = {
  rootNode: ['additionalPrograms'],
  programNode: ['pdas', 'accounts', 'instructions', 'definedTypes', 'errors', 'events', 'constants'],
  instructionNode: ['accounts', 'arguments'],
  structTypeNode: ['fields'],
  enumTypeNode: ['variants'],
  tupleTypeNode: ['items'],
};
const WRAPPERS = [
  'sizePrefixTypeNode', 'fixedSizeTypeNode', 'sentinelTypeNode', 'hiddenPrefixTypeNode', 'hiddenSuffixTypeNode',
  'preOffsetTypeNode', 'postOffsetTypeNode',
];
const OPTIONS = ['optionTypeNode', 'zeroableOptionTypeNode', 'remainderOptionTypeNode'];
const programs = new Map(), codecs = new Map();

const whole = node => {
  if (Array.isArray(node)) return node.map(whole);
  if (!node || typeof node !== 'object') return node;
  const lists = Object.fromEntries((LISTS[node.kind] ?? []).map(key => [key, []]));
  return { ...lists, ...Object.fromEntries(Object.entries(node).map(([key, value]) => [key, whole(value)])) };
};

function load(file) {
  if (!programs.has(file)) {
    const raw = JSON.parse(fs.readFileSync(file));
    const root = raw.kind === 'rootNode' ? raw : rootNodeFromAnchorWithoutDefaultVisitor(raw);
    programs.set(file, whole(createFromRoot(root).getRoot()));
  }
  return programs.get(file);
}

const plain = name => name.replace(/[^0-9a-z]/gi, '').toLowerCase();
const pascal = name => name.charAt(0).toUpperCase() + name.slice(1);
const pick = (object, name) => {
  const key = Object.keys(object).find(k => k === name) ?? Object.keys(object).find(k => plain(k) === plain(name));
  if (key === undefined) throw new Error(`no ${name} in ${Object.keys(object)}`);
  return key;
};
const hex = data => '0x' + Buffer.from(data).toString('hex');
const omitted = field => field.defaultValueStrategy === 'omitted';

function target(node, program) {
  while (node.kind === 'definedTypeLinkNode' || WRAPPERS.includes(node.kind)) {
    node = node.kind === 'definedTypeLinkNode' ? link(node, program).type : node.type;
  }
  return node;
}

function link(node, program) {
  if (node.program) throw new Error('a link into another program');
  const found = program.definedTypes.find(d => d.name === node.name);
  if (!found) throw new Error(`no type ${node.name}`);
  return found;
}

function constant(node, program) {
  switch (node.kind) {
    case 'numberValueNode': return node.number;
    case 'bytesValueNode': return [node.encoding, node.data];
    case 'booleanValueNode': return node.boolean;
    case 'stringValueNode': return node.string;
    case 'publicKeyValueNode': return node.publicKey;
    case 'arrayValueNode': return node.items.map(item => constant(item, program));
    case 'enumValueNode': return variant(target(node.enum, program), node.variant, program, false);
    default: throw new Error(node.kind);
  }
}

/** A value in the JSON forms as Codama's codecs take it (`back` false), or theirs in the JSON forms; `names` maps the source's. */
function convert(t, v, program, back) {
  const again = (u, w) => convert(u, w, program, back);
  if (WRAPPERS.includes(t.kind)) return again(t.type, v);
  switch (t.kind) {
    case 'numberTypeNode':
      if (t.format[0] === 'f') return back ? (Number.isFinite(v) ? v : String(v)) : Number(v);
      if (/64|128/.test(t.format)) return back ? String(v) : BigInt(v);
      return v;
    case 'amountTypeNode': case 'solAmountTypeNode': case 'dateTimeTypeNode': return again(t.number, v);
    case 'bytesTypeNode': return back ? '0x' + v[1] : ['base16', v.slice(2)];
    case 'arrayTypeNode': case 'setTypeNode':
      if (t.kind === 'arrayTypeNode' && t.item.kind === 'numberTypeNode' && t.item.format === 'u8') {
        return back ? hex(v) : [...Buffer.from(v.slice(2), 'hex')];
      }
      return v.map(w => again(t.item, w));
    case 'mapTypeNode': throw new Error('maps are objects there, with text for keys');
    case 'tupleTypeNode': return t.items.map((u, i) => again(u, v[i]));
    case 'structTypeNode': return struct(t.fields, v, program, back);
    case 'enumTypeNode': return variant(t, v, program, back);
    case 'definedTypeLinkNode': return again(link(t, program).type, v);
    default:
      if (OPTIONS.includes(t.kind)) return option(t, v, program, back);
      return v;
  }
}

function option(t, v, program, back) {
  const nested = OPTIONS.includes(target(t.item, program).kind);
  if (back) {
    if (v.__option === 'None') return null;
    const inner = convert(t.item, v.value, program, back);
    return nested ? { some: inner } : inner;
  }
  if (v === null) return { __option: 'None' };
  return { __option: 'Some', value: convert(t.item, nested ? v.some : v, program, back) };
}

function struct(fields, v, program, back) {
  const out = {};
  for (const field of fields) {
    if (omitted(field)) {
      if (!back) out[field.name] = constant(field.defaultValue, program);
    } else {
      out[field.name] = convert(field.type, v[pick(v, field.name)], program, back);
    }
  }
  return out;
}

function variant(t, v, program, back) {
  const scalar = t.variants.every(x => x.kind === 'enumEmptyVariantTypeNode');
  if (back) {
    const found = scalar ? t.variants[v] : t.variants.find(x => pascal(x.name) === v.__kind);
    if (found.kind === 'enumEmptyVariantTypeNode') return found.name;
    if (found.kind === 'enumStructVariantTypeNode') return { [found.name]: convert(found.struct, v, program, back) };
    return { [found.name]: convert(found.tuple, v.fields, program, back) };
  }
  const name = typeof v === 'string' ? v : Object.keys(v)[0];
  const index = t.variants.findIndex(x => plain(x.name) === plain(name)), found = t.variants[index];
  if (scalar) return index;
  const kind = { __kind: pascal(found.name) };
  if (found.kind === 'enumEmptyVariantTypeNode') return kind;
  if (found.kind === 'enumStructVariantTypeNode') return { ...kind, ...convert(found.struct, v[name], program, back) };
  return { ...kind, fields: convert(found.tuple, v[name], program, back) };
}

function answer({ file, kind, name, value, hex: ours }) {
  const root = load(file), program = root.program;
  const known = program[{ instruction: 'instructions', account: 'accounts', event: 'events' }[kind]] ?? [];
  const node = known.find(x => x.name === name) ?? known.find(x => plain(x.name) === plain(name));
  if (!node) throw new Error(`Codama has no ${kind} of that name`);
  if (!codecs.has(node)) codecs.set(node, getNodeCodec([root, program, node], { bytesEncoding: 'base16' }));
  const codec = codecs.get(node);
  const type = kind === 'instruction' ? { kind: 'structTypeNode', fields: node.arguments } : node.data;
  const encoded = codec.encode(convert(type, value, program, false));
  const decoded = convert(type, codec.decode(Buffer.from(ours, 'hex')), program, true);
  return { hex: Buffer.from(encoded).toString('hex'), back: decoded };
}

const original = console.log;
console.log = console.warn = (...words) => console.error(...words); // the converter talks
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
console.log = original;
