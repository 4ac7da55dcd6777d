//! Real logs, and logs written from the known wordings: `logs/NAME.json` contains what must be found in
//! `logs/NAME.log`.

use std::fs;
use std::path::Path;

use plimsoll::diagnose::{Analysis, Findings, Verdict};
use serde_json::Value;

/// Reads the log in pieces of this many bytes.
fn read(path: &Path, piece: usize) -> Findings {
    let mut analysis = Analysis::default();
    analysis.begin("log");
    fs::read(path).unwrap().chunks(piece).for_each(|piece| analysis.push(piece));
    analysis.end();
    analysis.findings(None)
}

/// What differs from the expected.
fn differences(found: &Findings, expected: &Value) -> Vec<String> {
    let found = serde_json::to_value(found).unwrap();
    let mut wrong = Vec::new();
    let mut compare = |what: &str, found: &Value, expected: &Value| {
        if found != expected {
            wrong.push(format!("{what} is {found}, not {expected}"));
        }
    };
    compare("kind", &found["kind"], &expected["kind"]);
    compare("verdict", &found["verdict"], &expected["verdict"]);
    compare("events", &found["events"].as_array().unwrap().len().into(), &expected["events"]);
    let first = &found["events"][0];
    for field in ["also", "backend", "rank", "pid", "job", "device", "occurrences"] {
        if !expected[field].is_null() {
            compare(field, &first[field], &expected[field]);
        }
    }
    for (name, expected) in expected["numbers"].as_object().into_iter().flatten() {
        let found = &first["numbers"][name];
        // An amount in GiB is exact to half of its second decimal, a sum of two to twice that.
        let close = match (found.as_f64(), expected.as_f64()) {
            (Some(found), Some(expected)) => {
                (found - expected).abs() <= if expected > (1u64 << 30) as f64 { 10_800_000.0 } else { 10_600.0 }
            }
            (None, None) => true,
            _ => false,
        };
        if !close {
            compare(name, found, expected);
        }
    }
    wrong
}

#[test]
fn every_log_gives_what_is_in_it_however_it_comes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose/logs");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "log") {
            count += 1;
            let expected: Value = serde_json::from_slice(&fs::read(path.with_extension("json")).unwrap()).unwrap();
            for piece in [7, usize::MAX] {
                let differences = differences(&read(&path, piece), &expected);
                wrong.extend(differences.iter().map(|line| format!("{}: {line}", path.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 90, "only {count} logs");
}

#[test]
fn evidence_stands_where_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose/logs");
    for name in ["cuda_backward", "kernel_memcg_block", "killed_torchelastic"] {
        let path = folder.join(name).with_extension("log");
        let bytes = fs::read(&path).unwrap();
        for event in read(&path, 1000).events {
            assert!(!event.evidence.is_empty());
            for evidence in event.evidence {
                let at = usize::try_from(evidence.offset).unwrap();
                let line =
                    String::from_utf8_lossy(bytes[at..].split(|byte| *byte == b'\n').next().unwrap()).into_owned();
                assert!(line.contains(evidence.text.trim_end_matches('…')), "{line} against {evidence:?}");
                assert_eq!(bytes[..at].iter().filter(|byte| **byte == b'\n').count() as u64 + 1, evidence.line);
            }
        }
    }
}

/// No log may get a smaller model for a host that ran out, `empty_cache` for anything, or a cause for a bare kill.
#[test]
fn no_log_is_given_advice_that_its_verdict_forbids() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose/logs");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        for event in read(&path, usize::MAX).events {
            let advice: Vec<String> = event.advice.iter().map(|advice| advice.what.to_lowercase()).collect();
            let nothing_wrong = event.verdict == Verdict::ReportOnly;
            assert_eq!(advice.is_empty(), nothing_wrong, "{}: nothing to do", path.display());
            for words in ["empty_cache", "smaller model"] {
                assert!(!advice.iter().any(|what| what.contains(words)), "{}: {words}", path.display());
            }
            let device = event.kind.to_string() == "vram-oom" || event.verdict == Verdict::Fragmentation;
            assert!(device || event.advice.iter().all(|advice| advice.rung.is_none()), "{}", path.display());
        }
    }
}
