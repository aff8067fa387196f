//! What LLVM calls where an operation is too wide for the SVM: 128-bit multiply, divide and remainder.
//!
//! LLVM 23 passes a 128-bit value to such a function in two registers and takes its result from r0 and r2. Functions of rustc's own ABI take
//! pointers instead, so the ones of the usual libraries fault, or read a stray address, without a word from the linker. These have the
//! unadjusted ABI, which is LLVM's own. They are linked into every program (mcpsol_py/build/sysroot.py); mcpsol_py/build/ir_check.py refuses a
//! program that would call others. Memory functions are solana-compiler-builtins', which uses the SVM's syscalls for long ranges.
#![no_std]
#![feature(abi_unadjusted)]
#![allow(internal_features)]

pub use solana_compiler_builtins as memory;

/// Low and high word.
#[inline(always)]
fn words(value: u128) -> (u64, u64) {
    (value as u64, (value >> 64) as u64)
}

#[inline(always)]
fn whole(low: u64, high: u64) -> u128 {
    (low as u128) | (high as u128) << 64
}

/// `a * b` as (low, high) words, by 32-bit halves: nothing in it is wider than 64 bits.
#[inline(always)]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let (a0, a1) = (a & 0xffff_ffff, a >> 32);
    let (b0, b1) = (b & 0xffff_ffff, b >> 32);
    let low = a0.wrapping_mul(b0);
    let middle = a1.wrapping_mul(b0).wrapping_add(low >> 32);
    let carry = (middle & 0xffff_ffff).wrapping_add(a0.wrapping_mul(b1));
    let high = a1
        .wrapping_mul(b1)
        .wrapping_add(middle >> 32)
        .wrapping_add(carry >> 32);
    ((carry << 32) | (low & 0xffff_ffff), high)
}

/// Quotient and remainder of one word. Rust excludes a divisor of zero before it comes here; said so, no panic message is linked in.
#[inline(always)]
fn divide_word(n: u64, d: u64) -> (u64, u64) {
    (n.checked_div(d).unwrap_or(0), n.checked_rem(d).unwrap_or(0))
}

/// `(high, low) / divisor` and the remainder, where high < divisor: two digits of 32 bits, each estimated and corrected (Knuth's algorithm D).
#[inline(always)]
fn divide_words(high: u64, low: u64, divisor: u64) -> (u64, u64) {
    let shift = divisor.leading_zeros();
    let divisor = divisor << shift;
    let (d1, d0) = (divisor >> 32, divisor & 0xffff_ffff);
    let high = if shift == 0 {
        high
    } else {
        high << shift | low >> (64 - shift)
    };
    let low = low << shift;

    let digit = |high: u64, next: u64| {
        let (mut quotient, mut rest) = divide_word(high, d1);
        while quotient >> 32 != 0 || quotient.wrapping_mul(d0) > (rest << 32 | next) {
            quotient -= 1;
            rest += d1;
            if rest >> 32 != 0 {
                break;
            }
        }
        let rest = (high << 32 | next).wrapping_sub(quotient.wrapping_mul(divisor));
        (quotient, rest)
    };
    let (first, rest) = digit(high, low >> 32);
    let (second, rest) = digit(rest, low & 0xffff_ffff);
    (first << 32 | second, rest >> shift)
}

/// Quotient and remainder. A divisor of zero is the caller's to exclude, as Rust does.
#[inline(always)]
fn divide(n: u128, d: u128) -> (u128, u128) {
    let ((n0, n1), (d0, d1)) = (words(n), words(d));
    if d1 == 0 {
        if n1 == 0 {
            let (quotient, rest) = divide_word(n0, d0);
            return (whole(quotient, 0), whole(rest, 0));
        }
        let (q1, rest) = if n1 < d0 {
            (0, n1)
        } else {
            divide_word(n1, d0)
        };
        let (q0, rest) = divide_words(rest, n0, d0);
        return (whole(q0, q1), whole(rest, 0));
    }
    if n < d {
        return (0, n);
    }
    let shift = d1.leading_zeros();
    if shift == 0 {
        // Both fill their top bit, so the quotient is 1.
        return (1, n.wrapping_sub(d));
    }
    // The divisor's 64 top bits give the quotient or one more than it.
    let top = d1 << shift | d0 >> (64 - shift);
    let (estimate, _) = divide_words(n1 >> 1, n1 << 63 | n0 >> 1, top);
    let quotient = (estimate >> (63 - shift)).saturating_sub(1);
    let (low, high) = multiply(quotient, d0);
    let rest = n.wrapping_sub(whole(low, high.wrapping_add(quotient.wrapping_mul(d1))));
    if rest < d {
        (whole(quotient, 0), rest)
    } else {
        (whole(quotient + 1, 0), rest.wrapping_sub(d))
    }
}

/// # Safety
///
/// Called by code that LLVM makes, never by hand; so are the others.
#[no_mangle]
pub unsafe extern "unadjusted" fn __multi3(a: u128, b: u128) -> u128 {
    let ((a0, a1), (b0, b1)) = (words(a), words(b));
    let (low, high) = multiply(a0, b0);
    whole(
        low,
        high.wrapping_add(a0.wrapping_mul(b1))
            .wrapping_add(a1.wrapping_mul(b0)),
    )
}

#[no_mangle]
pub unsafe extern "unadjusted" fn __udivti3(n: u128, d: u128) -> u128 {
    divide(n, d).0
}

#[no_mangle]
pub unsafe extern "unadjusted" fn __umodti3(n: u128, d: u128) -> u128 {
    divide(n, d).1
}

#[no_mangle]
pub unsafe extern "unadjusted" fn __divti3(n: i128, d: i128) -> i128 {
    let quotient = divide(n.unsigned_abs(), d.unsigned_abs()).0 as i128;
    if (n < 0) == (d < 0) {
        quotient
    } else {
        quotient.wrapping_neg()
    }
}

#[no_mangle]
pub unsafe extern "unadjusted" fn __modti3(n: i128, d: i128) -> i128 {
    let rest = divide(n.unsigned_abs(), d.unsigned_abs()).1 as i128;
    if n < 0 {
        rest.wrapping_neg()
    } else {
        rest
    }
}
