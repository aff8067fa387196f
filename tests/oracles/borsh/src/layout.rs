//! repr(C), packed, transparent and aligned types, as rustc lays them out in memory.

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::mem::{offset_of, size_of};

use serde_json::{json, Value};

use crate::json::{Bytes, Json};

/// A value put into zeroed memory field by field, so that padding is zero, and read back the same way.
trait Memory: Sized {
    fn put(value: &Value, at: *mut Self);
    fn get(at: *const Self) -> Value;
}

macro_rules! leaves {
    ($($t:ty),*) => {$(
        impl Memory for $t {
            fn put(value: &Value, at: *mut Self) { unsafe { at.write_unaligned(<$t>::read(value)) } }
            fn get(at: *const Self) -> Value { unsafe { at.read_unaligned() }.show() }
        }
    )*};
}
leaves!(
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    u64,
    i64,
    f32,
    f64,
    bool,
    Bytes<3>,
    Bytes<5>,
    Bytes<32>
);

impl<T: Memory, const N: usize> Memory for [T; N] {
    fn put(value: &Value, at: *mut Self) {
        for i in 0..N {
            T::put(&value[i], at.cast::<T>().wrapping_add(i));
        }
    }
    fn get(at: *const Self) -> Value {
        (0..N)
            .map(|i| T::get(at.cast::<T>().wrapping_add(i)))
            .collect()
    }
}

macro_rules! memory {
    ($($(#[$meta:meta])* struct $name:ident { $($field:ident: $t:ty),* $(,)? })*) => {$(
        $(#[$meta])*
        #[allow(dead_code)]
        struct $name { $($field: $t),* }
        impl Memory for $name {
            fn put(value: &Value, at: *mut Self) {
                $(<$t>::put(&value[stringify!($field)], at.cast::<u8>().wrapping_add(offset_of!($name, $field)).cast());)*
            }
            fn get(at: *const Self) -> Value {
                json!({ $(stringify!($field): <$t>::get(at.cast::<u8>().wrapping_add(offset_of!($name, $field)).cast())),* })
            }
        }
    )*};
}

memory! {
    #[repr(C)] struct Padded { a: u8, b: u64, c: u16, d: u32, e: bool }
    #[repr(C)] struct Inner { a: u16, b: u8 }
    #[repr(C)] struct Outer { first: u8, inner: Inner, list: [Inner; 3], key: Bytes<32>, x: f32, y: f64, tail: Bytes<5> }
    #[repr(C, packed)] struct Packed { a: u8, b: u64, inner: Inner, c: u16 }
    #[repr(C)] struct HoldsPacked { a: u8, packed: Packed, b: u32 }
    #[repr(C, align(16))] struct Aligned { a: u32, b: Bytes<3> }
    #[repr(C)] struct HoldsAligned { a: u8, aligned: Aligned, b: u8 }
    #[repr(transparent)] struct Transparent { only: u64 }
    #[repr(C)] struct HoldsTransparent { a: u8, t: Transparent }
    #[repr(C)] struct Wide { big: [u64; 40], small: [i8; 3] }
}

/// A union under a tag: RFC 2195's layout of repr(C, u8).
#[repr(C, u8)]
#[allow(dead_code)]
enum Tagged {
    Empty,
    Small(u8),
    Big(u64, u8),
}
#[repr(C)]
#[allow(dead_code)]
union Payload {
    small: u8,
    big: std::mem::ManuallyDrop<Big>,
}
#[repr(C)]
struct Big {
    x: u64,
    y: u8,
}
#[repr(C)]
struct Frame {
    tag: u8,
    payload: Payload,
}

impl Memory for Tagged {
    fn put(value: &Value, at: *mut Self) {
        assert_eq!(size_of::<Tagged>(), size_of::<Frame>());
        let payload = at.cast::<u8>().wrapping_add(offset_of!(Frame, payload));
        if let Some(inner) = value.get("Small") {
            u8::put(&json!(1), at.cast());
            u8::put(&inner[0], payload);
        } else if let Some(inner) = value.get("Big") {
            u8::put(&json!(2), at.cast());
            u64::put(&inner[0], payload.cast());
            u8::put(&inner[1], payload.wrapping_add(offset_of!(Big, y)));
        }
    }
    fn get(at: *const Self) -> Value {
        match unsafe { &*at } {
            // the bytes were put above or come from a test: the tag is one of three
            Tagged::Empty => json!("Empty"),
            Tagged::Small(x) => json!({ "Small": [x.show()] }),
            Tagged::Big(x, y) => json!({ "Big": [x.show(), y.show()] }),
        }
    }
}

/// Zeroed memory for a T. A `MaybeUninit<T>` would do but for moves, which need not copy padding.
struct Room<T> {
    at: *mut T,
    layout: Layout,
}

impl<T> Room<T> {
    fn new() -> Self {
        let layout = Layout::new::<T>();
        Room {
            at: unsafe { alloc_zeroed(layout) }.cast(),
            layout,
        } // no T here has size zero
    }

    fn bytes(&mut self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.at.cast(), self.layout.size()) }
    }
}

impl<T> Drop for Room<T> {
    fn drop(&mut self) {
        unsafe { dealloc(self.at.cast(), self.layout) }
    }
}

fn ask<T: Memory>(value: &Value, data: &[u8]) -> Result<(Vec<u8>, Value), String> {
    if data.len() != size_of::<T>() {
        return Err(format!("{} bytes, not {}", data.len(), size_of::<T>()));
    }
    let mut room = Room::<T>::new();
    T::put(value, room.at);
    let encoded = room.bytes().to_vec();
    room.bytes().copy_from_slice(data);
    Ok((encoded, T::get(room.at)))
}

pub fn answer(name: &str, value: &Value, data: &[u8]) -> Result<(Vec<u8>, Value), String> {
    match name {
        "Padded" => ask::<Padded>(value, data),
        "Inner" => ask::<Inner>(value, data),
        "Outer" => ask::<Outer>(value, data),
        "Packed" => ask::<Packed>(value, data),
        "HoldsPacked" => ask::<HoldsPacked>(value, data),
        "Aligned" => ask::<Aligned>(value, data),
        "HoldsAligned" => ask::<HoldsAligned>(value, data),
        "Transparent" => ask::<Transparent>(value, data),
        "HoldsTransparent" => ask::<HoldsTransparent>(value, data),
        "Wide" => ask::<Wide>(value, data),
        "Tagged" => ask::<Tagged>(value, data),
        _ => Err(format!("no type {name}")),
    }
}
