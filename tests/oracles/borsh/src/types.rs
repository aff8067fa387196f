//! The types that can be asked for, by name. tests/oracles/borsh_types.py says each in the words of the program model.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use borsh::{BorshDeserialize, BorshSerialize};
use serde_json::Value;

use crate::json::{Blob, Bytes, Json};
use crate::layout;

crate::shapes! {
    struct Unit {}
    struct Numbers { a: u8, b: i8, c: u16, d: i16, e: u32, f: i32, g: u64, h: i64, i: u128, j: i128, k: f32, l: f64, m: bool }
    struct Texts { name: String, note: Option<String>, tags: Vec<String> }
    struct Nested { head: Numbers, texts: Vec<Texts>, pair: (u8, String), last: Option<Box<Node>> }
    struct Node { value: u32, next: Option<Box<Node>> }
    enum Plain { A, B, C ; ; ; }
    enum Mixed { Nothing ; One(x: u64), Two(x: u8, y: String) ; Named { key: Bytes<32>, list: Vec<u16> } ; }
    enum Tree { Leaf ; Branch(left: Box<Tree>, right: Box<Tree>) ; ; }
    struct All { plain: Plain, mixed: Vec<Mixed>, tree: Tree, map: BTreeMap<String, Blob>, set: BTreeSet<u32>, unit: Unit }
    struct Bounds { empty: Vec<u64>, fixed: [u32; 5], wide: [u16; 40], matrix: [[u8x; 3]; 2], blob: Blob, key: Bytes<32> }
}

/// i8 under another name: an array of u8 is bytes, an array of these a list.
#[allow(non_camel_case_types)]
type u8x = i8;

type Answer = Result<(Vec<u8>, Value), String>;

fn ask<T: BorshSerialize + BorshDeserialize + Json>(value: &Value, data: &[u8]) -> Answer {
    let encoded = borsh::to_vec(&T::read(value)).map_err(|e| e.to_string())?;
    let back = T::try_from_slice(data).map_err(|e| e.to_string())?;
    Ok((encoded, back.show()))
}

pub fn answer(name: &str, value: &Value, data: &[u8]) -> Answer {
    match name {
        "u8" => ask::<u8>(value, data),
        "i8" => ask::<i8>(value, data),
        "u16" => ask::<u16>(value, data),
        "i16" => ask::<i16>(value, data),
        "u32" => ask::<u32>(value, data),
        "i32" => ask::<i32>(value, data),
        "u64" => ask::<u64>(value, data),
        "i64" => ask::<i64>(value, data),
        "u128" => ask::<u128>(value, data),
        "i128" => ask::<i128>(value, data),
        "f32" => ask::<f32>(value, data),
        "f64" => ask::<f64>(value, data),
        "bool" => ask::<bool>(value, data),
        "string" => ask::<String>(value, data),
        "bytes" => ask::<Blob>(value, data),
        "bytes32" => ask::<Bytes<32>>(value, data),
        "option_u64" => ask::<Option<u64>>(value, data),
        "vec_u64" => ask::<Vec<u64>>(value, data),
        "vec_vec_string" => ask::<Vec<Vec<String>>>(value, data),
        "vec_option_u16" => ask::<Vec<Option<u16>>>(value, data),
        "array_u64_4" => ask::<[u64; 4]>(value, data),
        "array_string_2" => ask::<[String; 2]>(value, data),
        "tuple_u8_string_bool" => ask::<(u8, String, bool)>(value, data),
        "btree_map" => ask::<BTreeMap<u32, String>>(value, data),
        "hash_map" => ask::<HashMap<u16, u64>>(value, data),
        "btree_set" => ask::<BTreeSet<String>>(value, data),
        "Unit" => ask::<Unit>(value, data),
        "Numbers" => ask::<Numbers>(value, data),
        "Texts" => ask::<Texts>(value, data),
        "Nested" => ask::<Nested>(value, data),
        "Node" => ask::<Node>(value, data),
        "Plain" => ask::<Plain>(value, data),
        "Mixed" => ask::<Mixed>(value, data),
        "Tree" => ask::<Tree>(value, data),
        "All" => ask::<All>(value, data),
        "Bounds" => ask::<Bounds>(value, data),
        _ => layout::answer(name, value, data),
    }
}
