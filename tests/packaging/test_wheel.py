"""The wheel, installed elsewhere, finds its templates and prebuilt programs, as the source tree does."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pytest

UV = Path(sys.executable).with_name("uv")
REPO = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    """A command's output; the test fails with its errors where it fails."""
    outside = {
        key: value
        for key, value in os.environ.items()
        if key not in {"VIRTUAL_ENV", "PYTHONPATH"}
    }
    done = subprocess.run(
        [str(c) for c in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=outside,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


BACKEND = "from hatchling import build; import sys; print({}(sys.argv[1]))"


@pytest.fixture(scope="module")
def sdist_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, packed."""
    out = tmp_path_factory.mktemp("sdist")
    made = run(
        sys.executable, "-c", BACKEND.format("build.build_sdist"), out, cwd=REPO
    ).split()[-1]
    return out / made


@pytest.fixture(scope="module")
def sdist_files(sdist_archive: Path) -> set[str]:
    """The paths of the archive, since a build in the unpacked folder adds files there."""
    with tarfile.open(sdist_archive) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def sdist(sdist_archive: Path) -> Path:
    """The source distribution, unpacked."""
    out = sdist_archive.parent
    run(sys.executable, "-m", "tarfile", "-e", sdist_archive, out, cwd=out)
    return out / sdist_archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, so that this one is whole too."""
    out = tmp_path_factory.mktemp("dist")
    made = run(
        sys.executable, "-c", BACKEND.format("build.build_wheel"), out, cwd=sdist
    ).split()[-1]
    return out / made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a virtual environment with the wheel in it; it borrows its dependencies from this one."""
    folder = tmp_path_factory.mktemp("venv")
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    run(
        UV,
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--python",
        python,
        wheel,
        cwd=folder,
    )
    site = Path(
        run(
            python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder
        ).strip()
    )
    here = next(p for p in sys.path if p.endswith("site-packages"))
    # Appended, and without its .pth files: so ours is the wheel's and not the editable install.
    (site / "dependencies.pth").write_text(here + "\n", encoding="utf-8")
    return folder / "venv"


def committed_programs() -> list[str]:
    """The programs that have a prebuilt binary in the tree."""
    return sorted(
        binary.stem
        for binary in (REPO / "programs").glob("*/*.so")
        if binary.stem == binary.parent.name
    )


def test_the_wheel_holds_what_it_needs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {
        "mcpsol_py",
        "idl2mcp",
        f"mcpsol_py-{wheel.name.split('-')[1]}.dist-info",
    }
    templates = {
        p.relative_to(REPO / "templates").as_posix()
        for p in (REPO / "templates").rglob("*")
        if p.is_file()
    }
    assert {
        name.removeprefix("mcpsol_py/_templates/")
        for name in names
        if "/_templates/" in name
    } == {name for name in templates if "__pycache__" not in name}
    assert {
        name.removeprefix("mcpsol_py/_programs/")
        for name in names
        if "/_programs/" in name
    } == {
        f"{program}/{file}"
        for program in committed_programs()
        for file in (f"{program}.so", f"{program}.build.json", "idl.json", "spec.py")
    }


def tracked(*patterns: str) -> set[str]:
    listed = run("git", "ls-files", *patterns, cwd=REPO).splitlines()
    return {name for name in listed if (REPO / name).is_file()}


def test_the_wheel_holds_every_module_and_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert tracked("mcpsol_py", "idl2mcp") - names == set()


def test_the_wheel_says_its_licence_and_that_it_is_typed(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "mcpsol_py/py.typed" in names


def test_the_source_distribution_holds_what_is_committed(sdist_files: set[str]) -> None:
    folders = [
        "mcpsol_py",
        "idl2mcp",
        "templates",
        "programs",
        "tests",
        "docs",
        "examples",
    ]
    committed = tracked(*folders, "README.md", "LICENSE", "CHANGELOG.md")
    assert committed - sdist_files == set()


@pytest.mark.parametrize(
    "built", ["target", "node_modules", "__pycache__", ".venv", ".git"]
)
def test_the_source_distribution_holds_nothing_built(
    sdist_files: set[str], built: str
) -> None:
    assert [name for name in sdist_files if built in name.split("/")] == []


#: What an import proves of each extra.
IMPORTS = {
    "": "mcpsol_py, mcpsol_py.client, mcpsol_py.render, idl2mcp.cli",
    "all": "mcpsol_py.bridge.mcp.server, mcpsol_py.x402, keyring, psycopg, procrastinate",
    "anchorpy": "mcpsol_py, anchorpy",
    "arrow": "mcpsol_py.tables, mcpsol_py.pipelines, pyarrow",
    "bridge": "mcpsol_py.bridge.mcp.server, mcpsol_py.bridge.http.app",
    "catalog": "mcpsol_py.catalog, sqlalchemy, alembic",
    "keyring": "mcpsol_py, keyring",
    "otlp": "mcpsol_py.telemetry, opentelemetry.exporter.otlp.proto.http",
    "postgres": "mcpsol_py.x402, psycopg, procrastinate",
    "ray": "mcpsol_py.pipelines.decoders, ray.data",
    "telemetry": "mcpsol_py.telemetry, structlog, prometheus_client, opentelemetry.sdk",
    "testing": "mcpsol_py.testing, pytest, hypothesis",
    "x402": "mcpsol_py.x402, mcpsol_py.x402.selling.mcp_seller, mcpsol_py.x402.store.database",
}


def pythons() -> list[str]:
    """The Pythons of this machine that we support."""
    supported = ("3.11", "3.12", "3.13", "3.14")
    found = [shutil.which(f"python{version}") for version in supported]
    managed = [
        Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
        for version in supported
    ]
    chosen = {
        version: str(next(iter(candidates), which))
        for version, which, candidates in zip(supported, found, managed, strict=True)
    }
    return [python for python in chosen.values() if python != "None"] or [
        sys.executable
    ]


def test_every_extra_is_tried() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert set(IMPORTS) == {"", *project["optional-dependencies"]}


def _installs() -> Iterator[Any]:
    """Each extra on the newest Python here, and "all" on every one. `make full` tries each on every one."""
    *_, newest = every = pythons()
    for python, extra in product(every, IMPORTS):
        mark = (
            pytest.mark.slow if python == newest or extra == "all" else pytest.mark.full
        )
        yield pytest.param(
            python, extra, marks=mark, id=f"{Path(python).parts[-3]}-{extra}"
        )


@pytest.mark.parametrize(("python", "extra"), list(_installs()))
def test_every_extra_installs(
    wheel: Path, tmp_path: Path, python: str, extra: str
) -> None:
    """On every Python here, into an environment of its own; skipped where no package index answers."""
    venv = tmp_path / "venv"
    run(UV, "venv", "--quiet", "--python", python, venv, cwd=tmp_path)
    asked = f"mcpsol-py[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    install = [str(UV), "pip", "install", "--quiet", "--python", str(venv), asked]
    done = subprocess.run(
        install, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if done.returncode and re.search(
        "error sending request|dns error|Could not connect", done.stderr
    ):
        pytest.skip(f"no package index answers: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    run(venv / "bin/python", "-c", f"import {IMPORTS[extra]}", cwd=tmp_path)


def test_the_installed_package_is_the_wheels(installed: Path) -> None:
    where = run(
        installed / "bin/python",
        "-c",
        "import mcpsol_py; print(mcpsol_py.__file__)",
        cwd=installed,
    ).strip()
    assert Path(where).is_relative_to(installed)


def test_the_installed_command_runs(installed: Path) -> None:
    assert version("mcpsol-py") in run(
        installed / "bin/idl2mcp", "--version", cwd=installed
    )


def test_the_installed_programs_are_found_and_answer(installed: Path) -> None:
    assert {"counter", "vault"} <= set(committed_programs())
    for program in committed_programs():
        printed = run(
            installed / "bin/idl2mcp", "list-tools", program, "--json", cwd=installed
        )
        wanted = json.loads(
            (REPO / "programs" / program / "idl.json").read_text(encoding="utf-8")
        )["instructions"]
        assert all(f'"{instruction["name"]}"' in printed for instruction in wanted)


def test_the_installed_descriptions_are_found(installed: Path) -> None:
    code = "from mcpsol_py import load; print(load('spl_token').instruction('transfer').accounts)"
    assert "source" in run(installed / "bin/python", "-c", code, cwd=installed)


def test_the_wheel_and_the_source_tree_render_the_same_crate(
    installed: Path, tmp_path: Path
) -> None:
    """The two ways to templates/ lead to the same bytes."""
    idl = REPO / "programs/counter/idl.json"
    crates = {}
    for side, command in (
        ("wheel", installed / "bin/idl2mcp"),
        ("tree", Path(sys.executable).with_name("idl2mcp")),
    ):
        out = tmp_path / side
        run(command, "render", idl, "--target", "pinocchio", "--out", out, cwd=tmp_path)
        crates[side] = {
            p.relative_to(out).as_posix(): p.read_bytes()
            for p in out.rglob("*")
            if p.is_file()
        }
    assert crates["wheel"] == crates["tree"]
    assert "src/lib.rs" in crates["wheel"]
