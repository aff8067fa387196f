//! Encodes JSON values (the forms of docs/values.md) with the borsh crate, or lays them out in memory as rustc does, and back.
//!
//! Each line of the input is `{"id", "name", "value", "hex"}`: `name` is one of the types below, which tests/oracles/borsh_types.py
//! says in the words of the program model; the answer is `{"id", "hex", "back"}`, or `{"id", "refused"}`.

mod json;
mod layout;
mod types;

use std::io::{BufRead, Write};

use serde_json::{json, Value};

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex"))
        .collect()
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|b| format!("{b:02x}")).collect()
}

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let row: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let data = unhex(row["hex"].as_str().expect("hex"));
        let name = row["name"].as_str().expect("name");
        let mut answer = match types::answer(name, &row["value"], &data) {
            Ok((encoded, back)) => json!({"hex": hex(&encoded), "back": back}),
            Err(why) => json!({"refused": why}),
        };
        answer["id"] = row["id"].clone();
        writeln!(out, "{answer}").expect("stdout");
    }
}
