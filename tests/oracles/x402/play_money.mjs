// The official TypeScript SDK (@x402/core, @x402/svm) pays a tool of the bridge, and @solana/kit waits for confirmations.
//
// usage: play_money.mjs MCP_URL RPC_URL WEBSOCKET_URL SEED TOOL ARGUMENTS    Prints one JSON object.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  airdropFactory, appendTransactionMessageInstruction, createKeyPairSignerFromPrivateKeyBytes, createSolanaRpc,
  createSolanaRpcSubscriptions, createTransactionMessage, generateKeyPairSigner, getSignatureFromTransaction, lamports, pipe,
  sendAndConfirmTransactionFactory, setTransactionMessageFeePayerSigner, setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { x402Client } from "@x402/core/client";
import { ExactSvmScheme } from "@x402/svm/exact/client";

const [mcpUrl, rpcUrl, wsUrl, seed, tool, args] = process.argv.slice(2);
const payer = await createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(Buffer.from(seed, "hex")));

async function pay() {
  const paying = new x402Client();
  paying.register("solana:*", new ExactSvmScheme(payer, { rpcUrl }));
  paying.setSpendControls?.(false);
  const client = new Client({ name: "ts-peer", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)));
  const call = { name: tool, arguments: JSON.parse(args) };
  const asked = await client.callTool(call);
  const payment = await paying.createPaymentPayload(asked.structuredContent);
  const paid = await client.callTool({ ...call, _meta: { "x402/payment": payment } });
  await client.close();
  return { network: payment.accepted.network, isError: Boolean(paid.isError), receipt: paid._meta["x402/payment-response"] };
}

async function confirm() {
  const rpc = createSolanaRpc(rpcUrl);
  const rpcSubscriptions = createSolanaRpcSubscriptions(wsUrl);
  const fresh = await generateKeyPairSigner();
  const airdrop = airdropFactory({ rpc, rpcSubscriptions });
  for (let i = 0; i < 2; i++)
    await airdrop({ recipientAddress: fresh.address, lamports: lamports(3_000_000_000n), commitment: "confirmed" });
  const { value: latest } = await rpc.getLatestBlockhash().send();
  const memo = { programAddress: "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", data: new TextEncoder().encode("hello") };
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (m) => setTransactionMessageFeePayerSigner(fresh, m),
    (m) => setTransactionMessageLifetimeUsingBlockhash(latest, m),
    (m) => appendTransactionMessageInstruction(memo, m),
  );
  const signed = await signTransactionMessageWithSigners(message);
  await sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions })(signed, { commitment: "confirmed" });
  const signature = getSignatureFromTransaction(signed);
  const { value: [status] } = await rpc.getSignatureStatuses([signature]).send();
  const balance = (await rpc.getBalance(fresh.address).send()).value;
  return { balance, slot: status.slot, slotNow: await rpc.getSlot().send(), status: status.confirmationStatus };
}

const told = { paid: await pay(), confirmed: await confirm() };
process.stdout.write(JSON.stringify(told, (_, v) => (typeof v === "bigint" ? Number(v) : v)) + "\n");
process.exit(0);
