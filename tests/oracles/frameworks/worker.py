"""One agent framework as a client of the bridge: `python worker.py FRAMEWORK TARGET CALLS`.

TARGET: {"url": …}, or {"command": …, "args": […]} for stdio. CALLS: [{"name", "arguments"}]. The tools are listed and
converted as the framework does it for its models, and the converted tools are called. Prints {"tools": {name: the JSON
schema of its arguments that a model sees}, "calls": [the text that a model gets, or the framework's exception]}.

fastmcp is in the environment of the suite, the others have their own (requirements/frameworks*.txt).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

Schemas = dict[str, Any]
#: Calls a tool. Returns its text, and raises if the framework does so for an error.
Call = Callable[[str, dict[str, Any]], Awaitable[str]]
Session = AsyncIterator[tuple[Schemas, Call]]


@asynccontextmanager
async def pydantic_ai(target: dict[str, Any]) -> Session:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    where = target.get("url") or StdioTransport(target["command"], target["args"])
    schemas: Schemas = {}
    wanted: list[ToolCallPart] = []

    async def model(messages: list[Any], info: AgentInfo) -> ModelResponse:
        """Calls the wanted tool once, then ends with what came back. Also notes the tools that it is offered."""
        schemas.update(
            {tool.name: tool.parameters_json_schema for tool in info.function_tools}
        )
        if wanted:
            return ModelResponse([wanted.pop()])
        last = messages[-1].parts[-1]
        text = (
            last.content if isinstance(last.content, str) else json.dumps(last.content)
        )
        return ModelResponse([TextPart(text)])

    async with MCPToolset(where) as tools:
        agent = Agent(FunctionModel(model), toolsets=[tools])
        await agent.run("list")

        async def call(name: str, arguments: dict[str, Any]) -> str:
            wanted.append(ToolCallPart(name, arguments))
            return str((await agent.run("call")).output)

        yield schemas, call


@asynccontextmanager
async def openai_agents(target: dict[str, Any]) -> Session:
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
    from agents.tool_context import ToolContext

    kind = MCPServerStreamableHttp if "url" in target else MCPServerStdio
    async with kind(params=target, client_session_timeout_seconds=30) as server:
        # Strict schemas are what its models ask for.
        tools = {
            tool.name: MCPUtil.to_function_tool(
                tool,
                server,
                convert_schemas_to_strict=True,
                failure_error_function=None,
            )
            for tool in await server.list_tools()
        }

        async def call(name: str, arguments: dict[str, Any]) -> str:
            text = json.dumps(arguments)
            context = ToolContext(
                context=None, tool_name=name, tool_call_id="1", tool_arguments=text
            )
            answer = await tools[name].on_invoke_tool(context, text)
            return answer if isinstance(answer, str) else json.dumps(answer)

        yield {name: tool.params_json_schema for name, tool in tools.items()}, call


@asynccontextmanager
async def llama_index(target: dict[str, Any]) -> Session:
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    where = target.get("url") or target["command"]
    client = BasicMCPClient(where, args=target.get("args"))
    tools = {
        tool.metadata.name: tool
        for tool in await McpToolSpec(client).to_tool_list_async()
    }

    async def call(name: str, arguments: dict[str, Any]) -> str:
        output = await tools[name].acall(**arguments)
        return str(output.content)

    yield (
        {name: tool.metadata.get_parameters_dict() for name, tool in tools.items()},
        call,
    )


@asynccontextmanager
async def langchain(target: dict[str, Any]) -> Session:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    transport = "streamable_http" if "url" in target else "stdio"
    client = MultiServerMCPClient({"bridge": {**target, "transport": transport}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name: str, arguments: dict[str, Any]) -> str:
        made = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        message = await tools[name].ainvoke(made)
        return json.dumps(message.content, ensure_ascii=False)

    yield {name: _schema(tool.tool_call_schema) for name, tool in tools.items()}, call


@asynccontextmanager
async def smolagents(target: dict[str, Any]) -> Session:
    from mcp import StdioServerParameters
    from smolagents import ToolCollection

    where: Any = {**target, "transport": "streamable-http"}
    if "url" not in target:
        where = StdioServerParameters(**target)
    with ToolCollection.from_mcp(
        where, trust_remote_code=True, structured_output=False
    ) as found:
        tools = {tool.name: tool for tool in found.tools}

        async def call(name: str, arguments: dict[str, Any]) -> str:
            return str(await asyncio.to_thread(tools[name], **arguments))

        yield {name: {"properties": tool.inputs} for name, tool in tools.items()}, call


@asynccontextmanager
async def autogen(target: dict[str, Any]) -> Session:
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import (
        StdioServerParams,
        StreamableHttpServerParams,
        mcp_server_tools,
    )

    if "url" in target:
        server: Any = StreamableHttpServerParams(**target)
    else:  # it waits five seconds otherwise: a busy machine takes longer to start a server
        server = StdioServerParams(**target, read_timeout_seconds=60)
    tools = {tool.name: tool for tool in await mcp_server_tools(server)}

    async def call(name: str, arguments: dict[str, Any]) -> str:
        tool = tools[name]
        answer = await tool.run_json(arguments, CancellationToken())
        return str(tool.return_value_as_string(answer))

    yield {name: tool.schema["parameters"] for name, tool in tools.items()}, call


@asynccontextmanager
async def mcp_use(target: dict[str, Any]) -> Session:
    from mcp_use import MCPClient
    from mcp_use.agents.adapters import LangChainAdapter

    client = MCPClient({"mcpServers": {"bridge": target}})
    await client.create_all_sessions()
    try:
        adapter = LangChainAdapter()
        tools = {tool.name: tool for tool in await adapter.create_tools(client)}

        async def call(name: str, arguments: dict[str, Any]) -> str:
            answer = await tools[name].ainvoke(arguments)
            return (
                answer if isinstance(answer, str) else json.dumps(answer, default=str)
            )

        yield (
            {name: _schema(tool.tool_call_schema) for name, tool in tools.items()},
            call,
        )
    finally:
        await client.close_all_sessions()


@asynccontextmanager
async def fastmcp(target: dict[str, Any]) -> Session:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    where = target.get("url") or StdioTransport(target["command"], target["args"])
    async with Client(where) as client:
        tools = await client.list_tools()

        async def call(name: str, arguments: dict[str, Any]) -> str:
            answer = await client.call_tool(name, arguments)
            return "\n".join(getattr(part, "text", "") for part in answer.content)

        yield {tool.name: tool.input_schema for tool in tools}, call


def _schema(schema: Any) -> Any:
    """A JSON schema, or that of a pydantic model."""
    return schema if isinstance(schema, dict) else schema.model_json_schema()


FRAMEWORKS = {
    "fastmcp": fastmcp,
    "pydantic-ai-slim": pydantic_ai,
    "openai-agents": openai_agents,
    "llama-index-tools-mcp": llama_index,
    "langchain-mcp-adapters": langchain,
    "smolagents": smolagents,
    "autogen-ext": autogen,
    "mcp-use": mcp_use,
}


async def main() -> None:
    framework, target, calls = (
        sys.argv[1],
        json.loads(sys.argv[2]),
        json.loads(sys.argv[3]),
    )
    async with FRAMEWORKS[framework](target) as (schemas, call):
        texts = [await _text_of(call(one["name"], one["arguments"])) for one in calls]
    print(json.dumps({"tools": schemas, "calls": texts}))


async def _text_of(answer: Awaitable[str]) -> str:
    try:
        return await answer
    except Exception as error:  # noqa: BLE001  # each framework has its own
        inner: Any = error
        while isinstance(inner, BaseExceptionGroup):
            inner = inner.exceptions[0]
        return f"{type(inner).__name__}: {inner}"


if __name__ == "__main__":
    asyncio.run(main())
