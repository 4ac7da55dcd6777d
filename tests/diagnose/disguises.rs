//! A disguised text is diagnosed like the original: quoted, prefixed, in JSON objects of collectors, escaped, with
//! carriage returns, or interleaved with another container's lines.

use crate::corpus::cases;
use crate::support::findings;

/// `text` in one of the forms in which logs arrive.
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

/// Every case in a disguise: the same verdict as without.
fn changes_no_verdict(disguise: usize) {
    // Multi-line objects are broken by a prefix, and text that is JSON already is excluded.
    let cases = cases("unseen").into_iter().filter(|case| !case.text.contains(['{', '}']));
    let wrong = cases.filter_map(|case| {
        let plain = findings(case.text.as_bytes());
        let other = findings(disguised(&case.text, disguise).as_bytes());
        let same = (other.kind, other.verdict) == (plain.kind, plain.verdict);
        (!same)
            .then(|| format!("{}: {} {}, not {} {}", case.name, other.kind, other.verdict, plain.kind, plain.verdict))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

macro_rules! disguises {
    ($($name:ident: $disguise:literal,)*) => {
        $(#[test]
        fn $name() {
            changes_no_verdict($disguise);
        })*
    };
}

disguises! {
    a_quote_changes_no_verdict: 0,
    the_prefix_of_a_container_changes_no_verdict: 1,
    an_object_a_line_changes_no_verdict: 2,
    one_object_changes_no_verdict: 3,
    carriage_returns_change_no_verdict: 4,
    html_changes_no_verdict: 5,
    colours_change_no_verdict: 6,
    lines_of_others_change_no_verdict: 7,
}
