from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build import build_program
from mcpsol_py.build.cargo import Crate, compile_crate, read_crate, solana_only
from mcpsol_py.build.toolchain import BuildSbf
from mcpsol_py.errors import BuildError

MANIFEST = """\
[package]
name = "my-program"
version = "0.1.0"
edition = "2021"

[lib]
crate-type = ["cdylib", "lib"]
"""


def write(folder: Path, manifest: str = MANIFEST, source: str = "#![no_std]\n") -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "Cargo.toml").write_text(manifest)
    (folder / "src/lib.rs").write_text(source)
    return folder


@pytest.mark.parametrize(
    ("source", "std"),
    [
        ("//! A program.\n#![no_std]\n", False),
        ("#![cfg_attr(not(test), no_std)]\n", False),
        ("// #![no_std] would be wrong here\nuse std::io;\n", True),
        ('const X: &str = "no_std";\n', True),
    ],
)
def test_a_crate_is_read(tmp_path: Path, source: str, std: bool) -> None:
    assert read_crate(write(tmp_path / "p", source=source)) == Crate(
        tmp_path / "p", "my_program", "my-program", std
    )


@pytest.mark.parametrize(
    "macro",
    ["declare_id!", "solana_program::declare_id!", "anchor_lang::prelude::declare_id!"],
)
def test_a_declared_address_is_read(tmp_path: Path, macro: str) -> None:
    address = "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS"
    source = f'use anchor_lang::prelude::*;\n\n{macro}("{address}");\n'
    assert read_crate(write(tmp_path / "p", source=source)).program_id == address
    assert (
        read_crate(
            write(tmp_path / "q", source=f'// {macro}("{address}");\n')
        ).program_id
        is None
    )


@pytest.mark.parametrize(
    ("manifest", "found"),
    [
        ("[package\n", "is not TOML"),
        ('[workspace]\nmembers = ["a"]\n', "no [package]"),
        (MANIFEST.replace('"cdylib", ', ""), "crate-type is ['lib']"),
        (MANIFEST + 'path = "src/other.rs"\n', "src/other.rs cannot be read"),
    ],
)
def test_what_is_no_crate_of_a_program_is_told(
    tmp_path: Path, manifest: str, found: str
) -> None:
    with pytest.raises(BuildError) as caught:
        read_crate(write(tmp_path / "p", manifest))
    assert found in caught.value.why


def test_a_folder_without_a_crate_is_told(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build_program(tmp_path)
    assert caught.value.crate == str(tmp_path)
    assert "no crate here" in caught.value.why


# ------------------------------------------------- cargo build-sbf: its command line, by a stand-in that writes a file


@pytest.fixture
def solana(tmp_path: Path) -> BuildSbf:
    program = tmp_path / "cargo-build-sbf"
    program.write_text(
        "#!/bin/sh\n"
        'echo "   Compiling my-program" >&2\n'
        '[ "$1" = --manifest-path ] && [ "$3" = --sbf-out-dir ] || { echo "error: usage" >&2; exit 2; }\n'
        'if grep -q broken "$(dirname "$2")/src/lib.rs"; then\n'
        '  echo "warning: x" >&2; echo "error[E0425]: broken" >&2; exit 101\n'
        "fi\n"
        'mkdir -p "$4" && printf %s "$RUSTFLAGS" > "$4/my_program.so"\n'
    )
    program.chmod(0o755)
    return BuildSbf(program, "3.1.4")


def test_solanas_compiler_is_called_and_its_lines_are_passed_on(
    tmp_path: Path, solana: BuildSbf
) -> None:
    lines: list[str] = []
    compiled = compile_crate(read_crate(write(tmp_path / "p")), solana, lines.append)
    assert compiled.so == tmp_path / "p/target/deploy/my_program.so"
    assert compiled.ir is None
    assert lines == ["Compiling my-program"]


def test_an_error_carries_the_compilers_words_from_the_first_error_on(
    tmp_path: Path, solana: BuildSbf
) -> None:
    crate = read_crate(write(tmp_path / "p", source="#![no_std]\nbroken\n"))
    with pytest.raises(BuildError) as caught:
        compile_crate(crate, solana)
    assert caught.value.output == "error[E0425]: broken"
    assert "101" in caught.value.why


@pytest.mark.parametrize(
    ("cfg", "kind", "found"),
    [
        ('target_os = "solana"', None, ("dep 1.2.3",)),
        ('any(target_os = "solana", target_arch = "bpf")', None, ()),
        ('not(target_os = "solana")', None, ()),
        ('target_os = "solana"', "dev", ()),
    ],
)
def test_code_that_the_no_std_route_leaves_out_is_found(
    tmp_path: Path, cfg: str, kind: str | None, found: tuple[str, ...]
) -> None:
    folder = write(tmp_path / "dep", source=f"#[cfg({cfg})]\nfn call() {{}}\n")
    manifest = str(folder / "Cargo.toml")
    dependency = {"id": "d", "name": "dep", "version": "1.2.3", "source": "registry+x"}
    program = {"id": "p", "name": "my-program", "version": "0.1.0", "source": None}
    link = {"pkg": "d", "dep_kinds": [{"kind": kind}]}
    metadata = {
        "packages": [{**p, "manifest_path": manifest} for p in (dependency, program)],
        "resolve": {"nodes": [{"id": "p", "deps": [link]}, {"id": "d", "deps": []}]},
    }
    crate = Crate(tmp_path, "my_program", "my-program", std=False)
    assert solana_only(crate, metadata) == found
