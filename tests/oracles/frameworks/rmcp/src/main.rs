//! `bridge-peer rmcp TARGET CALLS`: a bridge under rmcp, the official client in Rust.
//!
//! TARGET is {"url": …} or {"command": …, "args": […]}, CALLS [{"name", "arguments"}].
//! Prints {"tools": {name: the JSON schema of its arguments}, "calls": [text]}.

use rmcp::{
    RoleClient, ServiceExt,
    model::CallToolRequestParams,
    service::RunningService,
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Map, Value, json};

type Fault = Box<dyn std::error::Error>;

async fn connect(target: &Value) -> Result<RunningService<RoleClient, ()>, Fault> {
    if let Some(url) = target["url"].as_str() {
        return Ok(
            ().serve(StreamableHttpClientTransport::from_uri(url))
                .await?,
        );
    }
    let mut command = tokio::process::Command::new(target["command"].as_str().ok_or("no command")?);
    for argument in target["args"].as_array().into_iter().flatten() {
        command.arg(argument.as_str().ok_or("an argument is not text")?);
    }
    Ok(().serve(TokioChildProcess::new(command)?).await?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Fault> {
    let given: Vec<Value> = std::env::args()
        .skip(2)
        .map(|text| serde_json::from_str(&text))
        .collect::<Result<_, _>>()?;
    let [target, calls] = &given[..] else {
        return Err("expected TARGET and CALLS".into());
    };
    let peer = connect(target).await?;
    let mut tools = Map::new();
    for tool in peer.list_all_tools().await? {
        tools.insert(tool.name.to_string(), json!(tool.input_schema));
    }
    let mut texts = Vec::new();
    for call in calls.as_array().into_iter().flatten() {
        let request: CallToolRequestParams = serde_json::from_value(call.clone())?;
        let answer = peer.call_tool(request).await?;
        texts.push(serde_json::to_string(&answer.content)?);
    }
    println!("{}", json!({"tools": tools, "calls": texts}));
    peer.cancel().await?;
    Ok(())
}
