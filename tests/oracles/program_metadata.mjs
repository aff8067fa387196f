// The Program Metadata program's own JavaScript client. Reads one JSON document from stdin:
//   {program, authority, programData, instructions: [{name, input}], account: hex or null}
// `input` as the client's functions take it, bytes as {hex}. Answers {address, instructions: [{data, accounts: [[address, role]]}], read},
// where `address` is the canonical account of the seed "idl" and `read` what the client makes of the account's bytes.
import fs from 'node:fs';
import * as client from '@solana-program/program-metadata';
import { createNoopSigner } from '@solana/kit';

const asked = JSON.parse(fs.readFileSync(0, 'utf8'));
const bytes = hex => new Uint8Array(Buffer.from(hex, 'hex'));
const given = input => Object.fromEntries(Object.entries(input).map(([key, value]) => [key, value?.hex !== undefined ? bytes(value.hex) : value]));
const authority = createNoopSigner(asked.authority);

const instructions = asked.instructions.map(({ name, input }) => {
  const ix = client[`get${name}Instruction`]({ authority, ...given(input) });
  return { data: Buffer.from(ix.data).toString('hex'), accounts: ix.accounts.map(a => [a.address, a.role]) };
});
let read = null;
if (asked.account !== null) {
  const { data, ...header } = client.getMetadataDecoder().decode(bytes(asked.account));
  read = { header, text: client.unpackDirectData({ ...header, data }) };
}
const [address] = await client.findCanonicalPda({ program: asked.program, seed: 'idl' });
console.log(JSON.stringify({ address, instructions, read }));
