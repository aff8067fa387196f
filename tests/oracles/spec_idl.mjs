// Loads IDLs that were made of specs into Anchor's TypeScript clients and says what they know of them, one line a file: both packages
// must take the whole IDL (a type that is not there makes their constructors fail).
import fs from 'node:fs';
import * as core from '@anchor-lang/core';
import * as coral from '@coral-xyz/anchor';

for (const file of process.argv.slice(2)) {
  const said = {};
  for (const [name, module] of Object.entries({ core, coral })) {
    const { Program, BN, web3 } = module.default ?? module;
    const idl = JSON.parse(fs.readFileSync(file));
    const program = new Program(idl, { connection: new web3.Connection('http://127.0.0.1:1') });
    const encode = (ix, args) => program.coder.instruction.encode(ix, args).toString('hex');
    said[name] = {
      address: program.programId.toBase58(),
      methods: Object.keys(program.methods),
      accounts: Object.keys(program.account),
      sizes: Object.fromEntries(Object.entries(program.account).map(([n, a]) => [n, a.size])),
      errors: (program.idl.errors ?? []).map(e => [e.code, e.name]),
      events: (program.idl.events ?? []).map(e => e.name),
      encoded: Object.fromEntries(
        program.idl.instructions.filter(ix => ix.args.every(a => a.type === 'u64')).map(ix => [ix.name, encode(ix.name, Object.fromEntries(ix.args.map(a => [a.name, new BN('1234567890123')])))]),
      ),
    };
  }
  console.log(JSON.stringify(said));
}
