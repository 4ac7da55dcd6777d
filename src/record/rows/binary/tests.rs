//! Tests of the binary form.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent: Option<u8>,
    nested: Option<Box<Everything>>,
    unsigned: u64,
    signed: i64,
    float: f64,
    small: f32,
    letter: char,
    text: String,
    truth: bool,
    list: Vec<Kind>,
    pair: (u16, String),
    map: BTreeMap<String, i32>,
    numbers: BTreeMap<u32, ()>,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Flat {
    inside: u8,
    either: Either,
    tagged: Tagged,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Unit,
    Newtype(Number),
    Tuple(i8, bool),
    Struct { a: u64, b: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Number(u64);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i32),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Tagged {
    One { value: u8 },
    Other,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unit),
        any::<u64>().prop_map(|number| Kind::Newtype(Number(number))),
        any::<(i8, bool)>().prop_map(|(a, b)| Kind::Tuple(a, b)),
        any::<(u64, Option<String>)>().prop_map(|(a, b)| Kind::Struct { a, b }),
    ]
}

fn flat() -> impl Strategy<Value = Flat> {
    let either = prop_oneof![any::<i32>().prop_map(Either::Number), any::<String>().prop_map(Either::Text)];
    let tagged = prop_oneof![any::<u8>().prop_map(|value| Tagged::One { value }), Just(Tagged::Other)];
    (any::<u8>(), either, tagged).prop_map(|(inside, either, tagged)| Flat { inside, either, tagged })
}

/// Values of everything but `nested`.
fn shallow() -> impl Strategy<Value = Everything> {
    let plain = any::<(Option<u8>, u64, i64, f32, char, String, bool)>();
    let float = prop_oneof![any::<f64>(), Just(f64::INFINITY), Just(-0.0)];
    let lists = (prop::collection::vec(kinds(), 0..4), any::<(u16, String)>());
    let maps = any::<(BTreeMap<String, i32>, BTreeMap<u32, ()>)>();
    (plain, float, lists, maps, flat()).prop_map(|(plain, float, (list, pair), (map, numbers), flat)| {
        let (absent, unsigned, signed, small, letter, text, truth) = plain;
        Everything {
            absent,
            nested: None,
            unsigned,
            signed,
            float: if float.is_nan() { 0.0 } else { float },
            small: if small.is_nan() { 0.0 } else { small },
            letter,
            text,
            truth,
            list,
            pair,
            map,
            numbers,
            flat,
        }
    })
}

fn everything() -> impl Strategy<Value = Everything> {
    (shallow(), prop::option::of(shallow()))
        .prop_map(|(outer, inner)| Everything { nested: inner.map(Box::new), ..outer })
}

proptest! {
    #[test]
    fn what_is_written_is_read(rows in prop::collection::vec(everything(), 0..4)) {
        let bytes = to_vec(&rows).unwrap();
        prop_assert_eq!(from_slice::<Vec<Everything>>(&bytes).unwrap(), rows);
    }

    #[test]
    fn any_json_is_read_as_it_was_written(keys in prop::collection::vec("[a-z]{1,3}", 0..600)) {
        let value = serde_json::json!({ "all": keys, "none": null, "deep": [[{"x": [1, -1, 0.5, true]}]] });
        let bytes = to_vec(&value).unwrap();
        prop_assert_eq!(from_slice::<serde_json::Value>(&bytes).unwrap(), value);
    }
}

#[test]
fn more_names_than_fit_a_byte_are_kept_apart() {
    // Variants are names, and so are fields; a name takes one byte from its second time on.
    let rows: Vec<Kind> = (0..1000).map(|n| Kind::Struct { a: n, b: None }).collect();
    let bytes = to_vec(&rows).unwrap();
    assert!(bytes.len() < 1000 * 12, "{}", bytes.len());
    assert_eq!(from_slice::<Vec<Kind>>(&bytes).unwrap(), rows);
    let names: Vec<&'static str> = (0..2 * SHORT).map(|n| &*Box::leak(format!("name_{n}").into_boxed_str())).collect();
    let written = write::names(&names);
    let read: Vec<String> = from_slice(&written).unwrap();
    assert_eq!(read, [&names[..], &names[..]].concat());
}

#[test]
fn what_is_cut_short_is_an_error() {
    let bytes = to_vec(&vec![Kind::Tuple(-3, true), Kind::Unit]).unwrap();
    for end in 0..bytes.len() {
        assert!(from_slice::<Vec<Kind>>(&bytes[..end]).is_err(), "{end}");
    }
}
