// In place of @x402/evm/exact/server (agents_svm.mjs).
import { ExactSvmScheme } from "@x402/svm/exact/server";
export const registerExactEvmScheme = (server) => server.register("solana:*", new ExactSvmScheme());
