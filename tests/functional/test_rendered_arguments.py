"""The rendered decoder against the Python encoder, over the real IDLs: every instruction's arguments, byte for byte.

Each crate is built for the host with a small program beside it, which decodes instruction data with the generated
`Args::decode` and writes it again with `Args::encode`. Whatever the Python codec encodes must come back the same; data
that is cut short or has a byte too much must be refused.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.codec.instruction import InstructionCodec
from mcpsol_py.errors import CodecError, NotUsable
from mcpsol_py.model.check import unusable
from mcpsol_py.model.types import Struct
from mcpsol_py.render.crate import plan
from mcpsol_py.render.view import CrateView, crate_view
from mcpsol_py.render.write import write_plan
from mcpsol_py.sources.detect import read
from tests.conftest import idl_params, shared_idl_files
from tests.strategies import NoValue, Values

CARGO = shutil.which("cargo")
SEEDS = 12
#: discriminators that no argument is made to carry: the encoder refuses, by name, what could not be told apart
NOTHING_CALLED = {"codama__inline_struct"}
#: run each time; the others only in full runs
SOME = {
    "anchor__whirlpool",
    "anchor__anchor_test_idl",
    "codama__token",
    "legacy__spl_governance",
    "shank__mpl_token_auth_rules",
}

pytestmark = pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")


def echo(view: CrateView) -> str:
    """A program that answers each line "instruction hex" with what it decoded and encoded again, or "no"."""
    arms = "".join(
        f"        {i} => echo!(data, {view.library}::instruction::{ix.module}::Args),\n"
        for i, ix in enumerate(view.instructions)
    )
    return (
        "use std::io::BufRead;\n"
        "macro_rules! echo { ($data:expr, $args:path) => {{ use $args as Args;\n"
        "    let mut out: Vec<u8> = Vec::new();\n"
        "    Args::decode($data).and_then(|args| args.encode(&mut out)).ok().map(|()| out) }} }\n"
        "fn decode(which: usize, data: &[u8]) -> Option<Vec<u8>> {\n    match which {\n"
        f"{arms}        _ => None,\n    }}\n}}\n"
        "fn main() {\n    for line in std::io::stdin().lock().lines() {\n        let line = line.unwrap();\n"
        "        let (which, hex) = line.split_once(' ').unwrap();\n"
        "        let byte = |i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap();\n"
        "        let data: Vec<u8> = (0..hex.len() / 2).map(byte).collect();\n"
        "        match decode(which.parse().unwrap(), &data) {\n"
        '            Some(out) => println!("{}", out.iter().map(|b| format!("{b:02x}")).collect::<String>()),\n'
        '            None => println!("no"),\n        }\n    }\n}\n'
    )


def decodes(codec: InstructionCodec, data: bytes) -> bool:
    """Does the Python codec take *data*? Text to the end of the data has no wrong length."""
    try:
        codec.decode(data)
    except CodecError:
        return False
    return True


def ask(crate: Path, library: str, lines: list[str]) -> list[str]:
    target = (
        Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache/mcpsol"))
        / "cargo-target-rendered"
    )
    assert CARGO is not None
    build = subprocess.run(
        [CARGO, "build", "--quiet", "--example", "echo"],
        cwd=crate,
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr[-3000:]
    done = subprocess.run(
        [target / "debug/examples/echo"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "idl",
    idl_params((path for path in shared_idl_files() if read(path).instructions), SOME),
)
def test_every_argument_comes_back_as_it_was_encoded(idl: Path, tmp_path: Path) -> None:
    model = read(idl)
    view = crate_view(model, lossless=False, author="encode")
    files = plan(view, author={"examples/echo.rs": "Args::decode; Args::encode"})
    write_plan(files, tmp_path, "", handlers="src/processor", formatted=False)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/echo.rs").write_text(echo(view))
    with (tmp_path / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")

    codecs = Codecs(model)
    refused = unusable(model)
    lines: list[str] = []
    wanted: list[str] = []
    names: list[str] = []
    tried = 0
    by_name = {ix.name: ix for ix in model.instructions}
    for i, ix_view in enumerate(view.instructions):
        ix = by_name[str(ix_view.source_name)]
        if ix.name in refused or ix_view.is_raw:
            continue
        codec = InstructionCodec(codecs, ix)
        values = Values(codecs)
        skip = len(ix.discriminator.value) if ix.discriminator.consumed else 0
        for seed in range(SEEDS):
            try:
                args = values.from_seed(Struct(ix.args), seed)
                data = codec.encode(args)[skip:]
            except (NoValue, CodecError, NotUsable):
                continue
            tried += 1
            lines.append(f"{i} {data.hex()}")
            wanted.append(data.hex())
            names.append(ix.name)
            for wrong in (data + b"\0", data[:-1]):
                lines.append(f"{i} {wrong.hex()}")
                wanted.append(
                    wrong.hex()
                    if decodes(codec, ix.discriminator.value[:skip] + wrong)
                    else "no"
                )
                names.append(ix.name)
    if idl.stem in NOTHING_CALLED:
        assert not tried
        return
    assert tried or not any(ix.args for ix in model.instructions)
    answers = ask(tmp_path, str(view.library), lines)
    bad = [
        (n, line, w, a)
        for n, line, w, a in zip(names, lines, wanted, answers, strict=True)
        if w != a
    ]
    assert not bad, f"{len(bad)} of {len(lines)}: {bad[:3]}"
