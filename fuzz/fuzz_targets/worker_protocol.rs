//! Any line as a message of the worker protocol, in both directions: it is read or refused, and a message that is read
//! is written back with the same meaning.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_harness::protocol::{Reply, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn same<T: DeserializeOwned + Serialize>(line: &[u8]) {
    let Ok(message) = serde_json::from_slice::<T>(line) else { return };
    let written = serde_json::to_string(&message).expect("a message has a JSON form");
    assert!(!written.contains('\n'), "a message is a line");
    let again: T = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(serde_json::to_string(&again).expect("a JSON form"), written);
}

fuzz_target!(|line: &[u8]| {
    same::<Request>(line);
    same::<Reply>(line);
});
