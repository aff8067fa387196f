//! Values to and from their JSON forms.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use serde_json::{json, Value};

use crate::{hex, unhex};

pub trait Json: Sized {
    fn read(value: &Value) -> Self;
    fn show(&self) -> Value;
}

macro_rules! numbers {
    ($($t:ty),*) => {$(
        impl Json for $t {
            fn read(value: &Value) -> Self { value.to_string().parse().expect("a number") }
            fn show(&self) -> Value { json!(self) }
        }
    )*};
}
macro_rules! wide {
    ($($t:ty),*) => {$(
        impl Json for $t {
            fn read(value: &Value) -> Self { value.as_str().expect("decimal text").parse().expect("a number") }
            fn show(&self) -> Value { json!(self.to_string()) }
        }
    )*};
}
macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Json for $t {
            fn read(value: &Value) -> Self {
                match value.as_str() {
                    Some("Infinity") => <$t>::INFINITY,
                    Some("-Infinity") => <$t>::NEG_INFINITY,
                    Some(_) => <$t>::NAN,
                    None => value.as_f64().expect("a number") as $t,
                }
            }
            fn show(&self) -> Value {
                if self.is_nan() { json!("NaN") }
                else if self.is_infinite() { json!(if *self > 0.0 { "Infinity" } else { "-Infinity" }) }
                else { json!(*self as f64) }
            }
        }
    )*};
}
numbers!(u8, u16, u32, i8, i16, i32);
wide!(u64, u128, i64, i128);
floats!(f32, f64);

impl Json for bool {
    fn read(value: &Value) -> Self {
        value.as_bool().expect("a bool")
    }
    fn show(&self) -> Value {
        json!(self)
    }
}
impl Json for String {
    fn read(value: &Value) -> Self {
        value.as_str().expect("text").to_owned()
    }
    fn show(&self) -> Value {
        json!(self)
    }
}
impl Json for () {
    fn read(_: &Value) -> Self {}
    fn show(&self) -> Value {
        json!([])
    }
}
impl<T: Json> Json for Option<T> {
    fn read(value: &Value) -> Self {
        (!value.is_null()).then(|| T::read(value))
    }
    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Null, Json::show)
    }
}
impl<T: Json> Json for Box<T> {
    fn read(value: &Value) -> Self {
        Box::new(T::read(value))
    }
    fn show(&self) -> Value {
        (**self).show()
    }
}
impl<T: Json> Json for Vec<T> {
    fn read(value: &Value) -> Self {
        value
            .as_array()
            .expect("a list")
            .iter()
            .map(T::read)
            .collect()
    }
    fn show(&self) -> Value {
        Value::Array(self.iter().map(Json::show).collect())
    }
}
impl<T: Json, const N: usize> Json for [T; N] {
    fn read(value: &Value) -> Self {
        Vec::read(value).try_into().ok().expect("as many items")
    }
    fn show(&self) -> Value {
        Value::Array(self.iter().map(Json::show).collect())
    }
}
impl<A: Json, B: Json> Json for (A, B) {
    fn read(value: &Value) -> Self {
        (A::read(&value[0]), B::read(&value[1]))
    }
    fn show(&self) -> Value {
        json!([self.0.show(), self.1.show()])
    }
}
impl<A: Json, B: Json, C: Json> Json for (A, B, C) {
    fn read(value: &Value) -> Self {
        (A::read(&value[0]), B::read(&value[1]), C::read(&value[2]))
    }
    fn show(&self) -> Value {
        json!([self.0.show(), self.1.show(), self.2.show()])
    }
}
impl<K: Json + Ord, V: Json> Json for BTreeMap<K, V> {
    fn read(value: &Value) -> Self {
        Vec::<(K, V)>::read(value).into_iter().collect()
    }
    fn show(&self) -> Value {
        Value::Array(
            self.iter()
                .map(|(k, v)| json!([k.show(), v.show()]))
                .collect(),
        )
    }
}
impl<K: Json + Ord + Hash, V: Json> Json for HashMap<K, V> {
    fn read(value: &Value) -> Self {
        Vec::<(K, V)>::read(value).into_iter().collect()
    }
    fn show(&self) -> Value {
        let sorted: BTreeMap<&K, &V> = self.iter().collect();
        Value::Array(
            sorted
                .iter()
                .map(|(k, v)| json!([k.show(), v.show()]))
                .collect(),
        )
    }
}
impl<T: Json + Ord> Json for BTreeSet<T> {
    fn read(value: &Value) -> Self {
        Vec::read(value).into_iter().collect()
    }
    fn show(&self) -> Value {
        Value::Array(self.iter().map(Json::show).collect())
    }
}

/// Bytes: `Vec<u8>` and `[u8; N]`, which JSON shows as hex.
#[derive(Clone, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub struct Blob(pub Vec<u8>);
#[derive(Clone, Copy, borsh::BorshSerialize, borsh::BorshDeserialize)]
#[repr(transparent)]
pub struct Bytes<const N: usize>(pub [u8; N]);

impl Json for Blob {
    fn read(value: &Value) -> Self {
        Blob(unhex(&value.as_str().expect("hex")[2..]))
    }
    fn show(&self) -> Value {
        json!(format!("0x{}", hex(&self.0)))
    }
}
impl<const N: usize> Json for Bytes<N> {
    fn read(value: &Value) -> Self {
        Bytes(Blob::read(value).0.try_into().expect("as many bytes"))
    }
    fn show(&self) -> Value {
        json!(format!("0x{}", hex(&self.0)))
    }
}

/// Structs and enums with the JSON forms of their fields.
#[macro_export]
macro_rules! shapes {
    () => {};
    ($(#[$meta:meta])* struct $name:ident { $($field:ident: $t:ty),* $(,)? } $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, borsh::BorshSerialize, borsh::BorshDeserialize)]
        pub struct $name { $(pub $field: $t),* }
        impl $crate::json::Json for $name {
            #[allow(unused_variables)]
            fn read(value: &serde_json::Value) -> Self { $name { $($field: <$t>::read(&value[stringify!($field)])),* } }
            fn show(&self) -> serde_json::Value { serde_json::json!({ $(stringify!($field): self.$field.show()),* }) }
        }
        $crate::shapes! { $($rest)* }
    };
    ($(#[$meta:meta])* enum $name:ident {
        $($unit:ident),* ; $($tuple:ident($($at:ident: $tt:ty),+)),* ; $($named:ident { $($field:ident: $nt:ty),+ }),* $(;)?
    } $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, borsh::BorshSerialize, borsh::BorshDeserialize)]
        pub enum $name { $($unit,)* $($tuple($($tt),+),)* $($named { $($field: $nt),+ },)* }
        impl $crate::json::Json for $name {
            #[allow(unused_variables, unused_mut, unused_assignments)]
            fn read(value: &serde_json::Value) -> Self {
                $(if value.as_str() == Some(stringify!($unit)) { return $name::$unit; })*
                $(if let Some(inner) = value.get(stringify!($tuple)) {
                    let mut items = inner.as_array().expect("a list").iter();
                    $(let $at = <$tt>::read(items.next().expect("an item"));)+
                    return $name::$tuple($($at),+);
                })*
                $(if let Some(inner) = value.get(stringify!($named)) {
                    return $name::$named { $($field: <$nt>::read(&inner[stringify!($field)])),+ };
                })*
                panic!("no variant {value}")
            }
            fn show(&self) -> serde_json::Value {
                match self {
                    $($name::$unit => serde_json::json!(stringify!($unit)),)*
                    $($name::$tuple($($at),+) => serde_json::json!({ stringify!($tuple): [$($at.show()),+] }),)*
                    $($name::$named { $($field),+ } => serde_json::json!({ stringify!($named): { $(stringify!($field): $field.show()),+ } }),)*
                }
            }
        }
        $crate::shapes! { $($rest)* }
    };
}
