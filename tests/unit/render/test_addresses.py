"""Each address of a rendered program has one name."""

from __future__ import annotations

import pytest

from mcpsol_py.render.addresses import Addresses
from mcpsol_py.solana import ids


def test_the_first_name_of_an_address_stays() -> None:
    addresses = Addresses()
    assert addresses.take(ids.CLOCK_SYSVAR, "clock") == "CLOCK"
    assert addresses.take(ids.CLOCK_SYSVAR, "time") == "CLOCK"


def test_another_address_does_not_take_it() -> None:
    addresses = Addresses()
    addresses.take(ids.CLOCK_SYSVAR, "sysvar")
    assert addresses.take(ids.RENT_SYSVAR, "sysvar") == "SYSVAR_2"


def test_well_known_programs_have_their_own_names() -> None:
    assert Addresses().take(ids.TOKEN_2022_PROGRAM, "program") == "TOKEN_2022_PROGRAM"


def test_only_the_used_ones_are_declared() -> None:
    addresses = Addresses()
    addresses.take(ids.CLOCK_SYSVAR, "clock")
    [view] = addresses.views({"CLOCK", "RENT"})
    assert view.name == "CLOCK"
    assert view.docs == (f"/// {ids.CLOCK_SYSVAR}",)


def test_text_that_is_no_address_is_refused() -> None:
    with pytest.raises(ValueError):
        Addresses().take("nowhere", "x")
