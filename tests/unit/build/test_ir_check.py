from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.build.ir_check import check_ir_lines, demangle

PROVIDED = """\
define hidden noundef i128 @__multi3(i128 noundef %0, i128 noundef %1) unnamed_addr #12 {
  ret i128 %0
}
"""
# rustc's own ABI: the values by pointer, the result through one.
OTHER_CONVENTION = """\
define hidden void @__multi3(ptr sret([16 x i8]) %0, ptr %1, ptr %2) unnamed_addr #1 {
  ret void
}
"""


def body(line: str, function: str = "_ZN5vault7deposit17h0123456789abcdefE") -> str:
    return f"define internal i64 @{function}(ptr %0, i64 %1) #0 {{\nstart:\n  {line}\n  ret i64 0\n}}\n"


def wide(ir: str) -> list[str]:
    return [str(operation) for operation in check_ir_lines(ir.splitlines()).wide]


@pytest.mark.parametrize(
    ("line", "operation"),
    [
        ("%3 = mul i128 %1, %2", "mul i128"),
        ("%3 = mul nuw nsw i128 %1, 100", "mul i128"),
        ("%3 = udiv i128 %1, %2", "udiv i128"),
        ("%3 = udiv exact i128 %1, %2", "udiv i128"),
        ("%_5.i.i = sdiv i128 %1, %2", "sdiv i128"),
        ("%3 = urem i128 %1, %2", "urem i128"),
        ("%3 = srem i128 %1, %2", "srem i128"),
        (
            "%3 = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %1, i64 %2)",
            "umul.with.overflow.i64",
        ),
        (
            "%3 = tail call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %1, i64 %2)",
            "smul.with.overflow.i64",
        ),
        (
            "%3 = call { i128, i1 } @llvm.umul.with.overflow.i128(i128 %1, i128 %2)",
            "umul.with.overflow.i128",
        ),
    ],
)
def test_a_wide_operation_without_its_function_is_found_with_the_function_it_stands_in(
    line: str, operation: str
) -> None:
    assert wide(body(line)) == [f"vault::deposit ({operation})"]


@pytest.mark.parametrize(
    "line",
    [
        "%3 = mul i64 %1, %2",
        "%3 = add i128 %1, %2",
        "%3 = sub nuw i128 %1, %2",
        "%3 = shl i128 %1, 64",
        "%3 = lshr i128 %1, %2",  # made of 64-bit shifts, in place (canary u128_shift)
        "%3 = icmp ult i128 %1, %2",
        "%3 = call { i64, i1 } @llvm.uadd.with.overflow.i64(i64 %1, i64 %2)",
        "%3 = call { i32, i1 } @llvm.umul.with.overflow.i32(i32 %1, i32 %2)",
        'store i128 %1, ptr %2, !note !"mul i128"',
    ],
)
def test_what_the_machine_can_do_passes(line: str) -> None:
    assert wide(body(line)) == []


def test_the_function_in_the_code_generators_convention_makes_it_right() -> None:
    multiply = body("%3 = mul i128 %1, %2")
    assert wide(multiply + PROVIDED) == []
    assert wide(PROVIDED + multiply) == []
    assert wide(body("%3 = udiv i128 %1, %2") + PROVIDED) == [
        "vault::deposit (udiv i128)"
    ]


def test_a_function_in_another_convention_does_not() -> None:
    assert wide(OTHER_CONVENTION + body("%3 = mul i128 %1, %2")) == [
        "vault::deposit (mul i128)"
    ]


def test_a_library_function_that_would_call_itself_is_found() -> None:
    circular = PROVIDED.replace("  ret", "  %3 = mul i128 %0, %1\n  ret")
    assert wide(circular) == ["__multi3 (mul i128)"]


def test_each_function_is_named_once_for_each_kind_of_operation() -> None:
    line = "%3 = mul i128 %1, %2\n  %4 = mul i128 %3, %3\n  %5 = udiv i128 %3, %4"
    assert wide(body(line)) == [
        "vault::deposit (mul i128)",
        "vault::deposit (udiv i128)",
    ]


def test_syscalls_by_name_are_found() -> None:
    ir = "declare void @sol_log_(ptr, i64) #1\ndeclare void @llvm.trap() #2\ndeclare i64 @abort()\n"
    assert check_ir_lines(ir.splitlines()).dynamic_syscalls == ("sol_log_", "abort")


@pytest.mark.parametrize(
    ("parameters", "registers"),
    [
        ("i64 %0, i64 %1, ptr align 8 dereferenceable(16) %2, i64 %3, i64 %4", None),
        ("i64 %0, i64 %1, ptr %2, i64 %3, i64 %4, i1 zeroext %5", 6),
        (
            "ptr sret([16 x i8]) align 8 captures(none) %0, i128 noundef %1, i128 noundef %2",
            None,
        ),
        ("ptr sret({ i64, [2 x i32] }) %0, i128 %1, i128 %2, i8 %3", 6),
        ("[2 x i64] %0, { ptr, i64 } %1, i1 %2", None),
        ("[2 x i64] %0, { ptr, [2 x i64] } %1, i1 %2", 6),
        ("<{ i8, i128 }> %0, <2 x i64> %1, i1 %2", 6),
        ("i256 %0, i65 %1", 6),
        ("", None),
    ],
)
def test_functions_with_more_arguments_than_registers_are_found(
    parameters: str, registers: int | None
) -> None:
    ir = f"define internal fastcc void @_ZN5vault4swap17h0123456789abcdefE({parameters}) unnamed_addr #3 {{\n}}"
    found = [
        str(operation) for operation in check_ir_lines(ir.splitlines()).many_arguments
    ]
    assert found == ([f"vault::swap ({registers} arguments)"] if registers else [])


CROWDED = """\
@table = internal constant <{ ptr, ptr }> <{ ptr @"odd name", ptr @crowded }>
define i64 @entrypoint(ptr %0) {
  CALL
}
define internal i64 @"odd name"(ptr %0) {
  %2 = load ptr, ptr @table
}
define internal void @crowded(i64 %0, i64 %1, i64 %2, i64 %3, i64 %4, i64 %5) {
  call void @crowded(i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
}
"""


@pytest.mark.parametrize(
    ("call", "way"),
    [
        ("call void @crowded(i64 0)", ("entrypoint", "crowded")),
        (
            'call i64 @"odd name"(ptr %0)',
            ("entrypoint", "odd name", "table", "crowded"),
        ),
        ("%2 = load ptr, ptr @table", ("entrypoint", "table", "crowded")),
        ("call void @crowded2(i64 0)", None),
        ("ret i64 0", None),
    ],
)
def test_only_what_the_entry_point_reaches_counts(
    call: str, way: tuple[str, ...] | None
) -> None:
    found = check_ir_lines(CROWDED.replace("CALL", call).splitlines()).many_arguments
    assert [each.path for each in found] == ([way] if way else [])


def test_without_an_entry_point_every_function_counts() -> None:
    ir = CROWDED.replace("@entrypoint", "@other").splitlines()
    assert [str(each) for each in check_ir_lines(ir).many_arguments] == [
        "crowded (6 arguments)"
    ]


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("_ZN4core3fmt9Formatter3pad17habcdef0123456789E", "core::fmt::Formatter::pad"),
        (
            "_RNvNtCs9ltgdHTiPiY_7counter9processor9increment",
            "counter::processor::increment",
        ),
        ("_RNvCskNlcAF2Kf3_14wrong_builtins7product", "wrong_builtins::product"),
        (
            "_RNvMsa_NtCsbtk7G0qgzaC_4core3fmtNtB5_9Formatter12pad_integral",
            "core::fmt::Formatter::pad_integral",
        ),
        ("entrypoint", "entrypoint"),
        ("_Rnonsense", "_Rnonsense"),
        ("_ZN99x", "_ZN99x"),
    ],
)
def test_symbols_are_read_as_paths(symbol: str, path: str) -> None:
    assert demangle(symbol) == path


@given(st.text())
def test_any_symbol_has_a_name(symbol: str) -> None:
    assert demangle(symbol) or symbol == ""
