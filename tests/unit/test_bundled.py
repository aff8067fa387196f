"""The programs that ship with this package are there, each with what was built of it."""

import pytest

from mcpsol_py.bundled import bundled_programs, bundled_so
from mcpsol_py.errors import UnknownName


def test_each_has_its_program_its_idl_and_its_spec() -> None:
    assert set(bundled_programs()) == {"counter", "guard", "vault", "x402"}
    for name, folder in bundled_programs().items():
        assert bundled_so(name).read_bytes()[:4] == b"\x7fELF"
        assert (folder / "idl.json").is_file()
        assert (folder / "spec.py").is_file()


def test_another_name_is_answered_with_those_that_exist() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'counter'"):
        bundled_so("countr")
