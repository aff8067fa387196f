// The npm packages of x402 as buyers, sellers and facilitators over HTTP, asked as tests/support/x402_peer.py says: one
// JSON request a line on stdin, one JSON answer a line on stdout.
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { serve } from "@hono/node-server";
import { createKeyPairSignerFromPrivateKeyBytes } from "@solana/kit";
import { Keypair } from "@solana/web3.js";
import { wrapAxiosWithPayment, x402Client as AxiosX402Client } from "@x402/axios";
import { x402Facilitator } from "@x402/core/facilitator";
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { paymentMiddleware as expressMiddleware, setSettlementOverrides as expressCharge } from "@x402/express";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { paymentMiddleware as honoMiddleware, setSettlementOverrides as honoCharge } from "@x402/hono";
import { toFacilitatorSvmSigner } from "@x402/svm";
import { ExactSvmScheme as ExactBuyer } from "@x402/svm/exact/client";
import { ExactSvmScheme as ExactFacilitator } from "@x402/svm/exact/facilitator";
import { ExactSvmScheme as ExactSeller } from "@x402/svm/exact/server";
import { UptoSvmScheme as UptoBuyer } from "@x402/svm/upto/client";
import { UptoSvmScheme as UptoFacilitator } from "@x402/svm/upto/facilitator";
import { UptoSvmScheme as UptoSeller } from "@x402/svm/upto/server";
import axios from "axios";
import express from "express";
import { Hono } from "hono";
import { settle, verify } from "x402/facilitator";
import { withPaymentInterceptor } from "x402-axios";
import { paymentMiddleware as expressMiddlewareV1 } from "x402-express";
import { wrapFetchWithPayment as wrapFetchV1 } from "x402-fetch";
import { paymentMiddleware as honoMiddlewareV1 } from "x402-hono";
import { createX402Client } from "x402-solana/client";
import { X402PaymentHandler } from "x402-solana/server";

const NETWORK = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const OLD_NETWORK = "solana-devnet";
const USDC = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
const PATH = "/forecast";
const ANSWER = "sunny";
console.log = console.error; // stdout is for answers alone

const bytes = (seed) => Uint8Array.from(Buffer.from(seed, "hex"));
const signerOf = (seed) => createKeyPairSignerFromPrivateKeyBytes(bytes(seed));

// ---------------------------------------------------------------------------------------------------------- buyers

const schemesOf = async (Client, { seed, rpc }) => {
  const signer = await signerOf(seed);
  const client = new Client();
  client.register("solana:*", new ExactBuyer(signer, { rpcUrl: rpc }));
  client.register("solana:*", new UptoBuyer(signer, { rpcUrl: rpc }));
  client.setSpendControls?.(false); // it would not pay on a cluster whose USDC it does not know
  return client;
};
const fetchWith = async (paying, { url }) => {
  const response = await paying(url, { method: "GET" });
  return { status: response.status, header: (name) => response.headers.get(name), body: await response.text() };
};
const axiosWith = async (paying, { url }) => {
  const response = await paying.get(url).catch((error) => error.response ?? Promise.reject(error));
  const body = typeof response.data === "string" ? response.data : JSON.stringify(response.data);
  return { status: response.status, header: (name) => response.headers[name], body };
};
const v1 = (rpc) => [undefined, { svmConfig: { rpcUrl: rpc } }]; // selector and configuration

const buyers = {
  "@x402/fetch": async (asked) => fetchWith(wrapFetchWithPayment(fetch, await schemesOf(x402Client, asked)), asked),
  "@x402/axios": async (asked) =>
    axiosWith(wrapAxiosWithPayment(axios.create(), await schemesOf(AxiosX402Client, asked)), asked),
  "x402-fetch": async (asked) =>
    fetchWith(wrapFetchV1(fetch, await signerOf(asked.seed), undefined, ...v1(asked.rpc)), asked),
  "x402-axios": async (asked) =>
    axiosWith(withPaymentInterceptor(axios.create(), await signerOf(asked.seed), ...v1(asked.rpc)), asked),
  "x402-solana": async (asked) => {
    const keypair = Keypair.fromSeed(bytes(asked.seed));
    const signTransaction = async (transaction) => (transaction.sign([keypair]), transaction);
    const wallet = { address: keypair.publicKey.toBase58(), signTransaction };
    const client = createX402Client({ wallet, network: OLD_NETWORK, rpcUrl: asked.rpc });
    return fetchWith((url, init) => client.fetch(url, init), asked);
  },
};

const decoded = (text) => (text ? JSON.parse(Buffer.from(text, "base64").toString("utf8")) : null);
async function buy(asked) {
  const { status, header, body } = await buyers[asked.package](asked);
  const receipt = decoded(header("payment-response") ?? header("x-payment-response"));
  return { status, receipt, demand: decoded(header("payment-required")), body };
}

// --------------------------------------------------------------------------------------------------------- sellers

const core = ({ facilitator }) => {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator }));
  return server.register("solana:*", new ExactSeller());
};
const withUpto = async (server, { authorizer }) => {
  if (authorizer) server.register("solana:*", new UptoSeller({ receiverAuthorizerSigner: await signerOf(authorizer) }));
  return server;
};
const routes = ({ pay_to, scheme = "exact" }) => ({
  [`GET ${PATH}`]: { accepts: { scheme, network: NETWORK, payTo: pay_to, price: { amount: "1000", asset: USDC } } },
});
const routesV1 = {
  [`GET ${PATH}`]: { network: OLD_NETWORK, price: { amount: "1000", asset: { address: USDC, decimals: 6 } } },
};
// With upto a call costs less than the most that was asked for.
const expressApp = (middleware, { charge } = {}) => {
  const app = express();
  app.use(middleware);
  app.get(PATH, (_, response) => {
    if (charge) expressCharge(response, { amount: charge });
    response.send(ANSWER);
  });
  return listening(createServer(app));
};
const honoApp = (middleware, { charge } = {}) => {
  const app = new Hono();
  app.use(middleware);
  app.get(PATH, (context) => {
    if (charge) honoCharge(context, { amount: charge });
    return context.text(ANSWER);
  });
  return new Promise((done) => {
    const options = { fetch: app.fetch, hostname: "127.0.0.1", port: 0 };
    serve(options, ({ port }) => done(`http://127.0.0.1:${port}`));
  });
};
// As its README writes it for Express.
const solanaApp = ({ facilitator, pay_to }) => {
  const app = express();
  const x402 = new X402PaymentHandler({ network: OLD_NETWORK, treasuryAddress: pay_to, facilitatorUrl: facilitator });
  app.get(PATH, async (request, response) => {
    const resource = `http://${request.headers.host}${PATH}`;
    const payment = x402.extractPayment(request.headers);
    const price = { amount: "1000", asset: { address: USDC, decimals: 6 } };
    const terms = await x402.createPaymentRequirements(price, resource);
    if (!payment) {
      const demand = x402.create402Response(terms, resource);
      return response.status(demand.status).json(demand.body);
    }
    const verified = await x402.verifyPayment(payment, terms);
    if (!verified.isValid)
      return response.status(402).json({ error: "Invalid payment", reason: verified.invalidReason });
    await x402.settlePayment(payment, terms);
    response.send(ANSWER);
  });
  return listening(createServer(app));
};

const sellers = {
  "@x402/express": async (asked) =>
    expressApp(expressMiddleware(routes(asked), await withUpto(core(asked), asked)), asked),
  "@x402/hono": async (asked) => honoApp(honoMiddleware(routes(asked), await withUpto(core(asked), asked)), asked),
  "x402-express": (asked) => expressApp(expressMiddlewareV1(asked.pay_to, routesV1, { url: asked.facilitator })),
  "x402-hono": (asked) => honoApp(honoMiddlewareV1(asked.pay_to, routesV1, { url: asked.facilitator })),
  "x402-solana": solanaApp,
};

// ---------------------------------------------------------------------------------------------------- facilitators

const facilitators = {
  "@x402/svm": async ({ seed, rpc }) => {
    const signer = toFacilitatorSvmSigner(await signerOf(seed), { defaultRpcUrl: rpc });
    const facilitator = new x402Facilitator();
    facilitator.register([NETWORK], new ExactFacilitator(signer));
    facilitator.register([NETWORK], new UptoFacilitator(signer));
    return {
      supported: () => facilitator.getSupported(),
      verify: (payload, terms) => facilitator.verify(payload, terms),
      settle: (payload, terms) => facilitator.settle(payload, terms),
    };
  },
  x402: async ({ seed, rpc }) => {
    const [signer, config] = [await signerOf(seed), { svmConfig: { rpcUrl: rpc } }];
    const extra = { feePayer: signer.address };
    return {
      supported: () => ({ kinds: [{ x402Version: 1, scheme: "exact", network: OLD_NETWORK, extra }] }),
      verify: (payload, terms) => verify(signer, payload, terms, config),
      settle: (payload, terms) => settle(signer, payload, terms, config),
    };
  },
};
async function facilitate(asked) {
  const facilitator = await facilitators[asked.package](asked);
  const app = express();
  app.use(express.json());
  app.get("/supported", (_, response) => response.json(facilitator.supported()));
  for (const step of ["verify", "settle"]) {
    app.post(`/${step}`, async ({ body }, response) => {
      response.json(await facilitator[step](body.paymentPayload, body.paymentRequirements));
    });
  }
  return listening(createServer(app));
}

function listening(server) {
  return new Promise((done) => {
    server.listen(0, "127.0.0.1", () => done(`http://127.0.0.1:${server.address().port}`));
  });
}

// ----------------------------------------------------------------------------------------------------------- lines

const ops = { buy, sell: (asked) => sellers[asked.package](asked), facilitate };
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  let answer;
  try {
    answer = { ok: await ops[asked.op](asked) };
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer, (_, v) => (typeof v === "bigint" ? v.toString() : v)) + "\n");
}
process.exit(0);
