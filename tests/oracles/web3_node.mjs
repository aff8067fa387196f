// @solana/web3.js 1.x on a node: it finds the WebSocket by itself, on the port after the one of the URL.
//
// usage: web3_node.mjs RPC_URL    Prints one JSON object.
import { Connection, Keypair, SystemProgram, Transaction, sendAndConfirmTransaction } from "@solana/web3.js";

const connection = new Connection(process.argv[2], "confirmed");
const payer = Keypair.generate();
const other = Keypair.generate();
const changes = [];
connection.onAccountChange(other.publicKey, (account) => changes.push(account.lamports));
const slots = [];
connection.onSlotChange(({ slot }) => slots.push(slot));

const balances = [];
for (let i = 0; i < 2; i++) {
  const latest = await connection.getLatestBlockhash();
  const signature = await connection.requestAirdrop(payer.publicKey, 2_000_000_000);
  const { value } = await connection.confirmTransaction({ signature, ...latest });
  if (value.err) throw new Error(JSON.stringify(value.err));
  balances.push(await connection.getBalance(payer.publicKey));
}
const move = SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: other.publicKey, lamports: 5_000_000 });
const before = await connection.getLatestBlockhash();
await sendAndConfirmTransaction(connection, new Transaction().add(move), [payer]);
await new Promise((done) => setTimeout(done, 1500));
const after = await connection.getLatestBlockhash();
const told = {
  version: await connection.getVersion(),
  balances, changes, slots: slots.length,
  moved: before.blockhash !== after.blockhash,
  stillValid: (await connection.isBlockhashValid(before.blockhash)).value,
};
process.stdout.write(JSON.stringify(told) + "\n");
process.exit(0);
