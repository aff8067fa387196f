"""The wheel, installed elsewhere, finds its templates and prebuilt programs, as the source tree does."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

UV = Path(sys.executable).with_name("uv")
REPO = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    """A command's output; the test fails with its errors where it fails."""
    outside = {
        key: value for key, value in os.environ.items() if key not in {"VIRTUAL_ENV", "PYTHONPATH"}
    }
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, capture_output=True, text=True, check=False, env=outside
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built through the source distribution, so that this one is whole too."""
    out = tmp_path_factory.mktemp("dist")
    backend = "from hatchling import build; import sys; print({}(sys.argv[1]))"
    made = run(sys.executable, "-c", backend.format("build.build_sdist"), out, cwd=REPO).split()[-1]
    run(sys.executable, "-m", "tarfile", "-e", out / made, out, cwd=out)
    source = out / made.removesuffix(".tar.gz")
    name = run(sys.executable, "-c", backend.format("build.build_wheel"), out, cwd=source).split()[
        -1
    ]
    return out / name


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
        run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip()
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
    assert tops == {"mcpsol_py", "idl2mcp", f"mcpsol_py-{wheel.name.split('-')[1]}.dist-info"}
    templates = {
        p.relative_to(REPO / "templates").as_posix()
        for p in (REPO / "templates").rglob("*")
        if p.is_file()
    }
    assert {
        name.removeprefix("mcpsol_py/_templates/") for name in names if "/_templates/" in name
    } == {name for name in templates if "__pycache__" not in name}
    assert {
        name.removeprefix("mcpsol_py/_programs/") for name in names if "/_programs/" in name
    } == {
        f"{program}/{file}"
        for program in committed_programs()
        for file in (f"{program}.so", f"{program}.build.json", "idl.json", "spec.py")
    }


def test_the_installed_package_is_the_wheels(installed: Path) -> None:
    where = run(
        installed / "bin/python", "-c", "import mcpsol_py; print(mcpsol_py.__file__)", cwd=installed
    ).strip()
    assert Path(where).is_relative_to(installed)


def test_the_installed_command_runs(installed: Path) -> None:
    assert version("mcpsol-py") in run(installed / "bin/idl2mcp", "--version", cwd=installed)


def test_the_installed_programs_are_found_and_answer(installed: Path) -> None:
    assert {"counter", "vault"} <= set(committed_programs())
    for program in committed_programs():
        printed = run(installed / "bin/idl2mcp", "list-tools", program, "--json", cwd=installed)
        wanted = json.loads((REPO / "programs" / program / "idl.json").read_text(encoding="utf-8"))[
            "instructions"
        ]
        assert all(f'"{instruction["name"]}"' in printed for instruction in wanted)


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
            p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()
        }
    assert crates["wheel"] == crates["tree"]
    assert "src/lib.rs" in crates["wheel"]
