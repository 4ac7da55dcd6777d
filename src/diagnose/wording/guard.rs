//! What looks like an event and is none, by the line and those around it: rules of alerts, counters, patches, manuals, help,
//! conversations, searches, source code.

use super::super::window::{Line, Lines};
use super::regex;

/// So many lines around one belong to the same rule.
const RULE: usize = 15;
/// So many lines above one may be the head of its patch.
const PATCH: usize = 80;

/// Why line `at` tells no event, whatever its words are: by its text as it stands, or behind the prefixes of loggers and
/// of those who quote.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    let (text, own) = (lines[at].text.trim_start(), lines[at].message().trim_start());
    if rule(lines, at) {
        return Some("a rule of an alert, or an alert: what it saw stands in other logs");
    }
    if patch(lines, at) {
        return Some("a line of a patch");
    }
    if list(&lines[at].text) || list(own) || list(behind_quotes(&lines[at])) {
        return Some("a manual's list of errors");
    }
    // In a quote, an item under `*` is an item still, of notes on a release.
    let before = lines[at].text[..lines[at].text.len() - lines[at].message().len()].trim();
    if before.len() > 1
        && before.ends_with('*')
        && regex!(r"^(?:Fix|Add|Rais|Report|Remov|Chang|Improv)[a-z]* |\bis now\b").is_match(own)
    {
        return Some("notes on a release");
    }
    form(text).or_else(|| if own.len() < text.len() { form(own) } else { None })
}

/// A row of a list of errors: a name that is indented, a number in a table.
fn list(text: &str) -> bool {
    regex!(r"^\s{2,}E[A-Z]{3,}\s{1,12}[A-Z][a-z]|^\s?\|?\s*`?-?\d{1,3}`?\s*\|[^|]*[a-z]{3}").is_match(text)
}

/// What stands behind the prefixes of a line, with its indentation and the bar of its table, which were taken for prefixes.
fn behind_quotes(line: &Line) -> &str {
    let before = &line.text[..line.text.len() - line.message().len()];
    let before = before.trim_end_matches([' ', '\t', '|']);
    // A number in a cell was taken for the name of a container; that of a time is not a cell.
    let cell = before.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = if cell.ends_with([' ', '|']) { cell } else { before };
    &line.text[before.len()..]
}

/// Why `text` tells no event.
fn form(text: &str) -> Option<&'static str> {
    if counter(text) {
        return Some("a counter, or the name of one");
    }
    if regex!(r"\[(?:FIRING|RESOLVED)(?::\d+)?\]|\balertname[=\x22]").is_match(text) {
        return Some("a rule of an alert, or an alert: what it saw stands in other logs");
    }
    if regex!(r"^(?:-\w, )?--[a-z][\w-]*(?:[ =<\[]|$)").is_match(text) {
        return Some("the help of a program");
    }
    if regex!(r"^(?:\[[\d:. ]+\]\s*)?[<@]?[A-Za-z][\w.-]{1,20}>?:\s").is_match(text)
        && regex!(
            r"(?i)\b(?:i|i'm|i'd|we|we're|yeah|yep|nope|maybe|guess|btw|lol|did you|are you|do you|have you|should i|should we|last (?:week|night|time))\b"
        )
        .is_match(text)
        && !regex!(r"Error: |Exception: |\d (?:bytes|[KMG]i?B)|\bpid \d").is_match(text)
    {
        return Some("words of a conversation");
    }
    if regex!(
        r#"https?://\S+ ["'(]|\b(?:query|q|search|search_query|title|subject|keywords?|pattern|regex|match|description|summary|help|doc|example|examples|enum)["']?\s*[=:]\s*["']"#
    )
    .is_match(text)
    {
        return Some("a text that was searched for, fetched or described");
    }
    if regex!(
        r"^(?:\S+@\S+[:~ ]\S*)?[$%] (?:sudo )?(?:grep|egrep|zgrep|rg|dmesg|journalctl|awk|sed|cat|less|tail|head|echo|man|watch|kubectl|docker|history)\b"
    )
    .is_match(text)
    {
        return Some("a command that was typed");
    }
    if source(text) {
        return Some("a line of code");
    }
    None
}

/// An exposed metric, or a query over one.
fn counter(text: &str) -> bool {
    regex!(
        r"^# (?:HELP|TYPE) |^[a-z][a-z0-9]*_[a-z0-9]+_[a-z0-9_:]+(?:\{[^}]*\})? [\d.e+-]+(?: \d+)?$|^[a-z_:][a-z0-9_:]*\{[^}]*\} [\d.e+-]+|\b[a-z]+_[a-z0-9_]+\{[a-z_]+[=!]|\b(?:rate|increase|sum|max_over_time|changes)\([a-z_]+"
    )
    .is_match(text)
}

/// A rule in YAML: its name and its expression stand near.
fn rule(lines: &Lines, at: usize) -> bool {
    let from = at.saturating_sub(RULE);
    let to = lines.len().min(at + RULE);
    let is = |line: &Line, regex: &regex::Regex| regex.is_match(&line.text) || regex.is_match(line.message());
    let any = |regex: &regex::Regex| lines[from..to].iter().any(|line| is(line, regex));
    if !is(&lines[at], regex!(r"^\s*(?:-\s*)?[\w-]+:|\{\{")) {
        return false;
    }
    any(regex!(r"^\s*(?:-\s*)?(?:alert|record|alertname|rule|name):\s*\S"))
        && any(regex!(r"^\s*(?:-\s*)?(?:expr|query|condition):"))
}

/// A line of a patch, below its head.
fn patch(lines: &Lines, at: usize) -> bool {
    let head = regex!(r"^diff --git |^@@ -\d+(?:,\d+)? \+\d+");
    let above = &lines[at.saturating_sub(PATCH)..at];
    let (text, own) = (lines[at].text.as_str(), lines[at].message());
    // Behind a prefix, the blank of a line that stays is not told from the prefix's own.
    let quoted = own.len() < text.len();
    (text.starts_with(['+', '-', ' ']) && above.iter().any(|line| head.is_match(&line.text)))
        || (quoted && above.iter().any(|line| line.message().len() < line.text.len() && head.is_match(line.message())))
}

/// Code by its form: a format string, a call that ends a statement.
fn source(text: &str) -> bool {
    regex!(
        r#"^(?:sys\.|os\.|process\.|std::process::)?_?exit\s*\(\s*\d+\s*\);?$|"[^"]*(?:%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t)?[dusxXp]\b|%l[du]\w|\{\}|\{:\??\}|\$\{\w+\})[^"]*".*[;,)\\{]$"#
    )
    .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_is_known_by_its_form() {
        for text in [
            "node_vmstat_oom_kill 12",
            "container_oom_events_total{container=\"api\"} 3",
            "[FIRING:1] PodOOMKilled (api prod)",
            "       ENOMEM Out of memory.",
            "| 137 | killed by SIGKILL, mostly out of memory |",
            "  --exit-on-oom   exit with code 137 if out of memory",
            ">   --exit-on-oom   exit with code 137 if out of memory",
            "2024-09-01T11:02:13.118120933Z stderr F   --exit-on-oom   exit with code 137 if out of memory",
            "> node_vmstat_oom_kill 12",
            "> sys.exit(137)",
            "> bob: yeah, we got OOMKilled last week",
            "bob: yeah, we got OOMKilled last week",
            "10:11 query=\"what does exit code 137 mean\"",
            "INFO fetching https://example.org/1 \"CUDA out of memory\"",
            "$ dmesg | grep -i 'out of memory'",
            "    fprintf(stderr, \"out of memory: %d bytes\\n\", n);",
            "sys.exit(137)",
        ] {
            let lines = Lines::hot(text);
            assert!(dismissed(&lines, 0).is_some(), "{text}");
        }
        for text in [
            "oom_kill 3",
            "solver: out of memory allocating 12 bytes",
            "ERROR: out of memory",
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
            "Killed",
        ] {
            assert_eq!(dismissed(&Lines::hot(text), 0), None, "{text}");
        }
    }
}
