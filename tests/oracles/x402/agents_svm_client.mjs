// In place of @x402/evm/exact/client (agents_svm.mjs).
import { ExactSvmScheme } from "@x402/svm/exact/client";
export const registerExactEvmScheme = (client, { signer }) =>
  client.register("solana:*", new ExactSvmScheme(signer, { rpcUrl: process.env.RPC_URL }));
