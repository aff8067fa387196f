"""Exports of packages that are imported at their first use."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize("package", ["mcpsol_py", "mcpsol_py.client", "mcpsol_py.x402"])
def test_every_exported_name_can_be_imported(package: str) -> None:
    module = import_module(package)
    assert [
        name for name in module.__all__ if getattr(module, name, None) is None
    ] == []


def test_the_root_has_what_people_type() -> None:
    root = import_module("mcpsol_py")
    names = (
        "load Program connect connect_sync ProgramClient SvmTransport RpcTransport render_crate "
        "bundled_so"
    )
    assert set(names.split()) <= set(root.__all__)


@pytest.mark.parametrize("package", ["mcpsol_py.client", "mcpsol_py.x402"])
def test_another_name_is_an_attribute_error(package: str) -> None:
    with pytest.raises(
        AttributeError, match=f"module '{package}' has no attribute 'nothing'"
    ):
        import_module(package).nothing  # noqa: B018  # the look-up is the test
