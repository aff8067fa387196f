from __future__ import annotations

from pathlib import Path

import pytest

from mcpsol_py.build import toolchain
from mcpsol_py.build.toolchain import (
    BuildSbf,
    Debian,
    clean_environment,
    find_toolchain,
    installer,
)
from mcpsol_py.errors import ToolchainMissing

SOLANA = """#!/bin/sh
printf 'solana-cargo-build-sbf 3.1.4\\nplatform-tools v1.52\\nrustc 1.89.0\\n'
"""


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any compiler for the SVM; gives its bin folder."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    monkeypatch.setenv("PATH", str(binaries))
    monkeypatch.setenv("MCPSOL_TOOLCHAIN", str(tmp_path / "sbf"))
    return binaries


def test_solanas_own_compiler_is_preferred(bare: Path) -> None:
    program = bare / "cargo-build-sbf"
    program.write_text(SOLANA)
    program.chmod(0o755)
    found = find_toolchain("auto")
    assert found == BuildSbf(
        program, "solana-cargo-build-sbf 3.1.4, platform-tools v1.52, rustc 1.89.0"
    )
    assert find_toolchain("build-sbf") == found


def test_without_any_it_says_what_was_looked_for_and_how_to_install_it(
    bare: Path, tmp_path: Path
) -> None:
    with pytest.raises(ToolchainMissing) as caught:
        find_toolchain("auto")
    assert "cargo-build-sbf on PATH" in caught.value.looked_for
    assert str(tmp_path / "sbf" / "recipe") in caught.value.looked_for
    assert str(installer()) in str(caught.value)
    assert installer().is_file()
    with pytest.raises(ToolchainMissing) as caught:
        find_toolchain("build-sbf")
    assert caught.value.looked_for == ("cargo-build-sbf on PATH",)


def test_a_compiler_that_does_not_start_is_named(bare: Path) -> None:
    program = bare / "cargo-build-sbf"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(ToolchainMissing) as caught:
        find_toolchain("auto")
    assert caught.value.looked_for == (f"{program} --version",)


def test_nothing_of_the_callers_flags_reaches_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL",
        "RUSTC_WRAPPER",
    ):
        monkeypatch.setenv(name, "mine")
    for name in ("CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_HTTP_PROXY"):
        monkeypatch.setenv(name, "kept")
    environment = clean_environment()
    assert "mine" not in environment.values()
    assert [
        environment[name]
        for name in ("CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_HTTP_PROXY")
    ] == ["kept"] * 3


def test_no_secret_of_the_environment_reaches_a_build_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A crate's build script runs with this environment."""
    for name in (
        "IDL2MCP_PASSPHRASE",
        "IDL2MCP_SIGNER_TOKEN",
        "IDL2MCP_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "CARGO_REGISTRY_TOKEN",
        "CARGO_REGISTRIES_MINE_TOKEN",
        "CARGO_REGISTRIES_MINE_CREDENTIAL_PROVIDER",
        "SSH_AUTH_SOCK",
        "ANYTHING_ELSE",
    ):
        monkeypatch.setenv(name, "a secret")
    monkeypatch.setenv("https_proxy", "http://me:a secret@proxy.example:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("CARGO_REGISTRIES_MINE_INDEX", "sparse+https://mine.example/")
    environment = clean_environment()
    assert "a secret" not in " ".join(environment.values())
    assert environment["http_proxy"] == "http://proxy.example:3128"
    assert environment["CARGO_REGISTRIES_MINE_INDEX"] == "sparse+https://mine.example/"
    assert environment["PATH"]


@pytest.mark.parametrize("route", ["no-std", "std"])
def test_the_record_names_route_and_versions_and_no_folder(
    route: toolchain.Route,
) -> None:
    assert route != "build-sbf"
    found = Debian(
        Path("/home/someone/sbf"),
        "rustc 1.96.0",
        "sbpf-linker 0.2.6, LLVM 1:23.1.4-2",
        route,
    )
    assert found.record() == {
        "route": route,
        "rustc": "rustc 1.96.0",
        "linker": "sbpf-linker 0.2.6, LLVM 1:23.1.4-2",
    }


def test_the_flags_that_decide_the_bytes_are_ours() -> None:
    call = Debian(Path("/sbf"), "rustc", "linker", "no-std").invocation(
        ("--sysroot", "/a folder")
    )
    flags = call.env["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
    assert flags[-2:] == ["--sysroot", "/a folder"]
    assert 'target_feature="static-syscalls"' in flags
    assert call.env["CARGO_PROFILE_RELEASE_CODEGEN_UNITS"] == "1"
    assert call.env["CARGO_PROFILE_RELEASE_LTO"] == "fat"
    assert call.env["CARGO_TARGET_BPFEL_UNKNOWN_NONE_LINKER"] == "/sbf/sbpf-linker.sh"
