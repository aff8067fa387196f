"""`idl2mcp demo`: the whole way, offline, on a LiteSVM in this process, with the programs that ship with the
package.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from idl2mcp import report
from idl2mcp.demo.payments import Payments
from idl2mcp.program_files import default_id, read_elf
from mcpsol_py.bundled import bundled_so
from mcpsol_py.errors import ProgramFailed, SourceError
from mcpsol_py.items import picked

if TYPE_CHECKING:
    from mcpsol_py.calls.prepare import ServedProgram


@click.command("demo")
@report.json_option
def command(as_json: bool) -> None:
    """Ask two programs for their tools, build, execute, read back, see an error named, and call them as MCP tools."""
    demo = Demo(as_json)
    with report.progress("running the demo"):
        asyncio.run(demo.run())
    if as_json:
        report.emit({"steps": demo.steps}, "", as_json=True)


class Demo:
    """The steps of the demo. Each is shown when it is done."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.steps: list[dict[str, Any]] = []

    def tell(self, title: str, lines: list[str], **facts: Any) -> None:
        """Show a step that is done, with its results."""
        self.steps.append({"step": title, **facts})
        if not self.quiet:
            text = "\n".join(
                [f"{len(self.steps)}. {title}", *(f"   {line}" for line in lines), ""]
            )
            report.emit(None, text, as_json=False)

    async def run(self) -> None:
        """Run all steps. Raises UnknownName if this installation has no bundled programs."""
        from idl2mcp.config.bridge import DEMO_SETUP
        from idl2mcp.local_cluster import LocalCluster

        self.cluster = LocalCluster()
        self.cluster.apply(DEMO_SETUP)
        counter, vault = await self.discover("counter"), await self.discover("vault")
        await self.count(counter)
        await self.keep(vault)
        # Installed without the bridge: all before this does without it.
        if find_spec("mcp") is None:
            self.tell(
                "the rest calls them as MCP tools, and pays: it needs the extra bridge",
                [],
            )
            return
        await self.serve(counter, vault)
        await Payments(self, await self.discover("x402")).run()

    async def discover(self, name: str) -> ServedProgram:
        """Deploy a program and read its schema from the program itself."""
        from mcpsol_py.calls.prepare import ServedProgram
        from mcpsol_py.client.discovery import discover

        elf = read_elf(bundled_so(name))
        program_id = default_id(name)
        self.cluster.add_program(elf, program_id, name)
        found = await discover(self.cluster.transport, program_id, all_pages=True)
        if found.program.address is not None and found.program.address != program_id:
            program_id = found.program.address
            self.cluster.add_program(elf, program_id, name)
        pages = [len(page) for page in found.pages]
        lines = [
            f"deployed at {program_id} ({len(elf):,} bytes), asked for {len(pages)} pages of {sum(pages):,} bytes"
        ]
        for ix in found.program.model.instructions:
            args = ", ".join(a.name for a in ix.args)
            lines.append(
                f"{ix.name}({args})  0x{ix.discriminator.value.hex()}  {' '.join(ix.docs)[:72]}"
            )
        self.tell(
            f"list_tools: what {name} says about itself",
            lines,
            program=name,
            program_id=str(program_id),
            pages=len(pages),
            tools=[ix.name for ix in found.program.model.instructions],
        )
        return ServedProgram(
            found.program,
            program_id,
            self.cluster.transport,
            f"list_tools of {name}.so",
            "local",
        )

    async def call(
        self,
        served: ServedProgram,
        name: str,
        args: dict[str, Any],
        accounts: dict[str, Any],
    ) -> dict[str, Any]:
        """Simulate one instruction, then execute it. Raises ProgramFailed."""
        from mcpsol_py.calls.describe import describe, text_of
        from mcpsol_py.calls.prepare import prepare
        from mcpsol_py.calls.send import send_signed
        from mcpsol_py.calls.simulate import simulate

        ix = served.program.instruction(name)
        prepared = await prepare(served, ix, args, self.cluster.resolve(accounts))
        simulated = await simulate(prepared)
        if simulated.failure is not None:
            raise simulated.failure
        keys = [
            key
            for address in prepared.signers
            if (key := self.cluster.signer(address)) is not None
        ]
        await send_signed(prepared, keys)
        found = {a.name: a.address for a in prepared.accounts}
        return {
            **describe(prepared, simulated),
            "accounts": found,
            "lines": text_of(prepared, simulated),
        }

    async def refused(
        self,
        served: ServedProgram,
        name: str,
        args: dict[str, Any],
        accounts: dict[str, Any],
    ) -> ProgramFailed:
        """The error of a call that must fail."""
        try:
            await self.call(served, name, args, accounts)
        except ProgramFailed as error:
            return error
        raise AssertionError(f"{name} should have been refused")

    async def count(self, counter: ServedProgram) -> None:
        """counter: created, counted, read back, and its errors by name."""
        from solders.pubkey import Pubkey

        from mcpsol_py.calls.reading import read_account
        from mcpsol_py.calls.summary import short

        made = await self.call(
            counter, "initialize", {"start": "40"}, {"authority": "@alice"}
        )
        self.tell(
            "build and execute: counter.initialize", made["lines"], **_facts(made)
        )
        grown = await self.call(
            counter, "increment", {"amount": "2"}, {"authority": "@alice"}
        )
        address = grown["accounts"]["counter"]
        state = await read_account(
            counter, counter.program.model.accounts[0].name, Pubkey.from_string(address)
        )
        self.tell(
            "read its effect back: the account, decoded",
            [
                f"counter {short(address)} (derived from alice's address): {state['fields']}"
            ],
            address=address,
            fields=state["fields"],
        )
        error = await self.refused(
            counter, "decrement", {"amount": "43"}, {"authority": "@alice"}
        )
        stranger = await self.refused(
            counter,
            "increment",
            {"amount": "1"},
            {"authority": "@mallory", "counter": address},
        )
        self.tell(
            "what fails says why",
            [
                f"decrement by 43: {error.name} ({error.code}): {error.error_message}",
                f"as mallory: {stranger}",
            ],
            errors=[error.name, stranger.name],
        )

    async def keep(self, vault: ServedProgram) -> None:
        """vault: real SPL tokens in and out, by CPI and signed by the vault's address."""
        accounts = {"mint": "@coin", "authority": "@alice"}
        made = await self.call(vault, "initialize", {}, accounts)
        self.tell("vault.initialize", made["lines"], **_facts(made))
        box = made["accounts"]["vault"]
        put = await self.call(
            vault,
            "deposit",
            {"amount": "400000"},
            {
                "vault": box,
                "source": "@alice_coin",
                "mint": "@coin",
                "depositor": "@alice",
            },
        )
        self.tell("vault.deposit: tokens go in", put["lines"], **_facts(put))
        got = await self.call(
            vault,
            "withdraw",
            {"amount": "150000"},
            {**accounts, "vault": box, "destination": "@alice_coin"},
        )
        self.tell(
            "vault.withdraw: the vault's own address signs the transfer",
            got["lines"],
            **_facts(got),
        )
        error = await self.refused(
            vault,
            "withdraw",
            {"amount": "1"},
            {
                "mint": "@coin",
                "authority": "@mallory",
                "vault": box,
                "destination": "@mallory_coin",
            },
        )
        self.tell(
            "a wrong authority is refused",
            [str(error)],
            error=error.name,
            code=error.code,
        )

    async def serve(self, counter: ServedProgram, vault: ServedProgram) -> None:
        """Both programs as MCP tools, called by a real client; the transaction that comes back is signed here and
        executed.
        """
        from mcp import Client
        from solders.transaction import VersionedTransaction

        from mcpsol_py.bridge.bridge import Bridge
        from mcpsol_py.bridge.mcp import make_server

        bridge = Bridge([counter, vault], names=self.cluster.resolve)
        async with Client(make_server(bridge)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            self.tell(
                "served as MCP tools (idl2mcp serve counter vault)",
                [", ".join(tools)],
                tools=tools,
            )
            result = await client.call_tool(
                "counter_increment",
                {"amount": "100", "accounts": {"authority": "@alice"}},
            )
            answer = _content(result)
            self.tell(
                "an MCP client calls counter_increment: an unsigned transaction and what it would do",
                answer["summary"].splitlines(),
                **{k: answer[k] for k in ("transaction", "signers", "simulation")},
            )
            transaction = VersionedTransaction.from_bytes(
                base64.b64decode(answer["transaction"])
            )
            signed = VersionedTransaction(
                transaction.message, [self.cluster.wallet("alice")]
            )
            await self.cluster.transport.send(signed)
            address = next(
                a["address"] for a in answer["accounts"] if a["name"] == "counter"
            )
            read = _content(
                await client.call_tool("counter_get_state", {"address": address})
            )
            self.tell(
                "signed by its owner, executed, and read through the bridge",
                [str(read["fields"])],
                **read,
            )
            failed = await client.call_tool(
                "counter_decrement",
                {"amount": "1000", "accounts": {"authority": "@alice"}},
            )
            text = getattr(failed.content[0], "text", "")
            self.tell(
                "a tool call that would fail names the error",
                text.splitlines()[:1],
                is_error=failed.is_error,
            )


def _facts(made: Mapping[str, Any]) -> dict[str, Any]:
    return picked(made, ("program", "instruction", "simulation"))


def _content(result: Any) -> dict[str, Any]:
    if result.is_error:
        raise SourceError(
            str(getattr(result.content[0], "text", "the call failed")), origin="demo"
        )
    content: dict[str, Any] = result.structured_content
    return content
