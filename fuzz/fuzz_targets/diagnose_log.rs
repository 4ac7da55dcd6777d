//! Any bytes as a log, whole and in pieces: the findings are the same, and a report can always be printed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::diagnose::{Analysis, Findings, Input};

fn findings(bytes: &[u8], piece: usize) -> Findings {
    let mut analysis = Analysis::default();
    analysis.begin("log");
    bytes.chunks(piece).for_each(|piece| analysis.push(piece));
    analysis.end();
    analysis.findings(None)
}

fuzz_target!(|bytes: &[u8]| {
    let whole = findings(bytes, usize::MAX);
    assert_eq!(whole, findings(bytes, 61));
    for evidence in whole.events.iter().flat_map(|event| &event.evidence) {
        assert!(evidence.offset <= bytes.len() as u64 && evidence.line >= 1);
    }
    if let Ok(Input::Text(mut reader)) = Input::recognise(bytes) {
        let _ = std::io::copy(&mut reader, &mut std::io::sink());
    }
});
