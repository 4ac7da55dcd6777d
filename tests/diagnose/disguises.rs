//! A text in a disguise tells what it tells without: quoted, prefixed, in objects of collectors, escaped, with carriage
//! returns, between the lines of another container.

use proptest::prelude::*;

use crate::corpus::cases;
use crate::support::findings;

/// Ways in which a log comes to where it is read.
const DISGUISES: usize = 8;

fn disguised(text: &str, disguise: usize) -> String {
    let json = |line: &str| serde_json::to_string(line).unwrap();
    let each = |dress: &dyn Fn(&str) -> String| text.lines().map(|line| dress(line) + "\n").collect::<String>();
    match disguise {
        0 => each(&|line| format!("> {line}")),
        1 => each(&|line| format!("2024-09-01T11:02:13.118120933Z stderr F {line}")),
        2 => each(&|line| {
            format!(
                "{{\"log\":{},\"stream\":\"stderr\",\"time\":\"2024-07-02T03:10:01Z\"}}",
                json(&format!("{line}\n"))
            )
        }),
        3 => format!("{{\"severity\":\"ERROR\",\"message\":{},\"timestamp\":\"2024-05-04T10:00:00Z\"}}\n", json(text)),
        4 => each(&|line| format!("{line}\r")),
        5 => each(&|line| line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")),
        6 => each(&|line| format!("\x1b[31m{line}\x1b[0m")),
        _ => each(&|line| {
            format!("{line}\n{{\"log\":\"GET /health 200\\n\",\"kubernetes\":{{\"pod_name\":\"web-1\"}}}}")
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_disguise_changes_no_verdict(index in 0..10_000usize, disguise in 0..DISGUISES) {
        // Objects of several lines are not objects any more behind a prefix, nor is what is JSON already.
        let all: Vec<_> = cases("unseen").into_iter().filter(|case| !case.text.contains(['{', '}'])).collect();
        let case = &all[index % all.len()];
        let plain = findings(case.text.as_bytes());
        let other = findings(disguised(&case.text, disguise).as_bytes());
        prop_assert_eq!(
            (other.kind, other.verdict),
            (plain.kind, plain.verdict),
            "{} in disguise {}: {}",
            case.name,
            disguise,
            disguised(&case.text, disguise)
        );
    }
}
