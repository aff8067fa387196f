//! The Rust SDK of x402, asked as tests/support/x402_peer.py says: one JSON request a line, one JSON answer a line.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};
use solana_client::nonblocking::rpc_client::RpcClient;
use solana_keypair::Keypair;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use x402_axum::X402Middleware;
use x402_chain_solana::chain::{
    Address, SolanaChainProvider, SolanaChainReference, SolanaTokenDeployment,
};
use x402_chain_solana::{
    KnownNetworkSolana, V1SolanaExact, V1SolanaExactClient, V2SolanaExact, V2SolanaExactClient,
};
use x402_facilitator_local::{FacilitatorLocal, handlers};
use x402_reqwest::{ReqwestWithPayments, ReqwestWithPaymentsBuild, X402Client};
use x402_types::chain::{ChainProviderOps, ChainRegistry, DeployedTokenAmount};
use x402_types::networks::USDC;
use x402_types::scheme::{
    SchemeBlueprints, SchemeConfig, SchemeRegistry, X402SchemeFacilitator,
    X402SchemeFacilitatorBuilder, X402SchemeId,
};
use x402_types::util::Base64Bytes;

type Answer = Result<Value, Box<dyn Error>>;

const MAX_COMPUTE_UNITS: u32 = 400_000;
const MAX_PRICE: u64 = 1_000_000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let mut output = tokio::io::stdout();
    while let Some(line) = lines.next_line().await? {
        let request: Value = serde_json::from_str(&line)?;
        let answer = match text(&request, "op")? {
            "buy" => buy(&request).await,
            "sell" => sell(&request).await,
            "facilitate" => facilitate(&request).await,
            other => Err(format!("no op {other}").into()),
        };
        let told = match answer {
            Ok(value) => json!({"ok": value}),
            Err(error) => json!({"error": in_full(error.as_ref())}),
        };
        output.write_all(format!("{told}\n").as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

/// Pays for a GET with x402-reqwest.
async fn buy(request: &Value) -> Answer {
    let signer = Arc::new(keypair(request)?);
    let rpc = Arc::new(RpcClient::new(text(request, "rpc")?.to_owned()));
    let client = X402Client::new()
        .register(V1SolanaExactClient::new(signer.clone(), rpc.clone()))
        .register(V2SolanaExactClient::new(signer, rpc));
    let paying = reqwest::Client::new().with_payments(client).build();
    let response = paying.get(text(request, "url")?).send().await?;
    let header = |name| response.headers().get(name).map(|value| value.as_bytes());
    let decoded = |name| header(name).and_then(|value| Base64Bytes::from(value).decode().ok());
    let parsed = |name| decoded(name).and_then(|json| serde_json::from_slice::<Value>(&json).ok());
    let receipt = parsed("payment-response").or_else(|| parsed("x-payment-response"));
    let (demand, status) = (parsed("payment-required"), response.status().as_u16());
    Ok(
        json!({"status": status, "receipt": receipt, "demand": demand, "body": response.text().await?}),
    )
}

/// Sells /forecast with x402-axum for 1,000 base units, in the version of the protocol that is asked for.
async fn sell(request: &Value) -> Answer {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let x402 = X402Middleware::try_new(text(request, "facilitator")?)?.with_base_url(url.parse()?);
    let pay_to: Address = text(request, "pay_to")?.parse()?;
    let token: SolanaTokenDeployment = USDC::solana_devnet();
    let price = DeployedTokenAmount {
        amount: 1_000,
        token,
    };
    let route = get(async || "sunny");
    let paid = match text(request, "package")? {
        "x402-axum v1" => route.layer(x402.with_price_tag(V1SolanaExact::price_tag(pay_to, price))),
        _ => route.layer(x402.with_price_tag(V2SolanaExact::price_tag(pay_to, price))),
    };
    serve(listener, Router::new().route("/forecast", paid));
    Ok(json!(url))
}

/// A facilitator of x402-facilitator-local, with the handlers that the crate brings.
async fn facilitate(request: &Value) -> Answer {
    let (rpc, websocket) = (
        text(request, "rpc")?.to_owned(),
        request["websocket"].as_str(),
    );
    let provider = SolanaChainProvider::new(
        keypair(request)?,
        rpc,
        websocket.map(str::to_owned),
        SolanaChainReference::solana_devnet(),
        MAX_COMPUTE_UNITS,
        MAX_PRICE,
    );
    let provider = Arc::new(provider.await?);
    let schemes: Vec<SchemeConfig> = serde_json::from_value(json!([
        {"id": "v1-solana-exact", "chains": "solana:*"},
        {"id": "v2-solana-exact", "chains": "solana:*"},
    ]))?;
    let blueprints = SchemeBlueprints::new()
        .and_register(Shared(V1SolanaExact))
        .and_register(Shared(V2SolanaExact));
    let chains = ChainRegistry::new(HashMap::from([(provider.chain_id(), provider)]));
    let registry = SchemeRegistry::build(chains, blueprints, &schemes);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    serve(
        listener,
        handlers::routes().with_state(Arc::new(FacilitatorLocal::new(registry))),
    );
    Ok(json!(url))
}

/// A scheme over a provider that several schemes share.
struct Shared<T>(T);

impl<T: X402SchemeId> X402SchemeId for Shared<T> {
    fn x402_version(&self) -> u8 {
        self.0.x402_version()
    }
    fn namespace(&self) -> &str {
        self.0.namespace()
    }
    fn scheme(&self) -> &str {
        self.0.scheme()
    }
}

impl<T: X402SchemeFacilitatorBuilder<Arc<SolanaChainProvider>>>
    X402SchemeFacilitatorBuilder<&Arc<SolanaChainProvider>> for Shared<T>
{
    fn build(
        &self,
        provider: &Arc<SolanaChainProvider>,
        config: Option<Value>,
    ) -> Result<Box<dyn X402SchemeFacilitator>, Box<dyn Error>> {
        self.0.build(provider.clone(), config)
    }
}

fn serve(listener: TcpListener, app: Router) {
    tokio::spawn(async move { axum::serve(listener, app).await });
}

fn keypair(request: &Value) -> Result<Keypair, Box<dyn Error>> {
    let seed = text(request, "seed")?;
    let byte = |i: usize| u8::from_str_radix(seed.get(i..i + 2).unwrap_or_default(), 16);
    let bytes = (0..64)
        .step_by(2)
        .map(byte)
        .collect::<Result<Vec<u8>, _>>()?;
    Ok(Keypair::new_from_array(
        bytes.try_into().map_err(|_| "a seed has 32 bytes")?,
    ))
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, Box<dyn Error>> {
    request[key]
        .as_str()
        .ok_or_else(|| format!("{key} is missing").into())
}

fn in_full(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", in_full(cause)),
        None => error.to_string(),
    }
}
