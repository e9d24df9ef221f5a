//! The test vectors that all languages share.

mod common;

use common::observe;
use serde_json::Value;

fn vectors() -> Vec<(String, Vec<u8>, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../parser-vectors/vectors.json");
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let vectors = document["vectors"].as_array().unwrap();
    vectors
        .iter()
        .map(|vector| (vector["name"].as_str().unwrap().into(), input(vector), expected(vector)))
        .collect()
}

/// The pieces of an input are texts, or a text and how often it stands there.
fn input(vector: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    for piece in vector["input"].as_array().unwrap() {
        let (text, times) = match piece {
            Value::Array(pair) => (&pair[0], pair[1].as_u64().unwrap()),
            text => (text, 1),
        };
        for _ in 0..times {
            bytes.extend(text.as_str().unwrap().chars().map(|c| u8::try_from(u32::from(c)).unwrap()));
        }
    }
    bytes
}

fn expected(vector: &Value) -> Value {
    serde_json::json!({ "requests": vector["requests"], "error": vector["error"], "end": vector["end"] })
}

/// A long request is expected by its parts only: `requests` may be a number.
fn check(name: &str, how: &str, expected: &Value, mut seen: Value) {
    if expected["requests"].is_number() {
        seen["requests"] = seen["requests"].as_array().unwrap().len().into();
    }
    assert_eq!(&seen, expected, "{name}, {how}");
}

#[test]
fn whole() {
    let vectors = vectors();
    assert!(vectors.iter().filter(|(_, _, expected)| !expected["error"].is_null()).count() >= 40);
    for (name, input, expected) in vectors {
        check(&name, "whole", &expected, observe([&input[..]]));
    }
}

#[test]
fn byte_by_byte() {
    for (name, input, expected) in vectors() {
        check(&name, "byte by byte", &expected, observe(input.chunks(1)));
    }
}

#[test]
fn split_at_every_point() {
    for (name, input, expected) in vectors() {
        for point in 0..=input.len() {
            let (before, after) = input.split_at(point);
            check(&name, &format!("split at {point}"), &expected, observe([before, after]));
        }
    }
}
