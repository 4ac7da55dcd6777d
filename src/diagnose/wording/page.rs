//! Texts on a page, recognised by the lines above: release notes, lists of texts to look for, titles.

use super::super::window::{Line, Lines};
use super::regex;

/// How far above a line its headings may be, in lines.
const ABOVE: usize = 120;
/// How many headings are examined, from the innermost.
const HEADINGS: usize = 4;

/// Why line `at` did not happen, judged by its place on a page.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    // A page explains in its own words; the kernel's line with its numbers was pasted.
    let pasted = regex!(r"\bKilled process \d+ \([^)]*\) total-vm:\d+kB, anon-rss:\d+kB");
    if item(&lines[at].text) || (cell(lines, at) && !pasted.is_match(&lines[at].text)) {
        return Some("a manual");
    }
    if asked(&lines[at].text) || underlined(lines, at) {
        return Some("a title or a question of a page");
    }
    let own = lines[at].message();
    if regex!(r#"^(?:\*\*\w+\*\*:? )?(?:Check (?:whether|if|for|that|in|the|with|by)|Look (?:for|at|in)|Search (?:for|in|the)|Grep|Scan|Watch (?:for|out)|Verify|Confirm|Inspect|Make sure)\b[^\n]{0,120}[`"'\x{201c}]"#)
        .is_match(own)
    {
        return Some("advice or documentation about such errors");
    }
    if listed(lines, at) {
        return Some("a text that was searched for, fetched or described");
    }
    released(lines, at).then_some("release notes")
}

/// Why line `at`, which reads like an event, did not happen either: judged by more lines, so of few lines only.
pub(super) fn described(lines: &Lines, at: usize) -> Option<&'static str> {
    if exemplified(lines, at) {
        return Some("an example");
    }
    if explained(lines, at) || termed(lines, at) || enumerated(lines, at) {
        return Some("a list of errors in a manual");
    }
    if fronted(lines, at) || quoted(&lines[at].text) {
        return Some("a title or a question of a page");
    }
    if patched(lines, at) {
        return Some("release notes");
    }
    marked(lines, at).then_some("a manual")
}

/// Whether line `at` is one of several messages that the help of an editor marks.
fn marked(lines: &Lines, at: usize) -> bool {
    let mark = |line: &Line| regex!(r"\S ~$").is_match(&line.text);
    let around = at.saturating_sub(2)..lines.len().min(at + 3);
    mark(&lines[at]) && lines[around].iter().filter(|line| mark(line)).count() > 1
}

/// Whether line `at` is one of several pasted lines with line numbers; the numbers of a table do not run on like that.
pub(super) fn numbered(lines: &Lines, at: usize) -> bool {
    let number = |line: &Line| -> Option<u32> {
        let text = line.text.trim_end();
        let found = regex!(r"^(?:> )?\s*(\d{1,6})(?: \| |\s*│ )").captures(text)?;
        (text.matches('|').count() <= 1).then(|| found[1].parse().ok()).flatten()
    };
    let Some(own) = number(&lines[at]) else { return false };
    let is = |index: Option<usize>, expected: Option<u32>| {
        index.and_then(|index| lines.get(index)).is_some_and(|line| number(line).is_some_and(|n| Some(n) == expected))
    };
    let (above, below) = (is(at.checked_sub(1), own.checked_sub(1)), is(Some(at + 1), own.checked_add(1)));
    let far = is(at.checked_sub(2), own.checked_sub(2)) || is(Some(at + 2), own.checked_add(2));
    (above && below) || ((above || below) && far)
}

/// Whether `text` is an item that explains the error it begins with.
fn item(text: &str) -> bool {
    regex!(r"^(?:> ?)*\s*(?:\d+[.)]|[-*+\u{2022}])\s+(?:\*\*[^*]*(?i:memory|killed|oom|137|heap)[^*]*\*\*\s*(?::|\x{2014}|\x{2013}|-) [^\d]*$|`[^`]+`,? (?:or|and|means|indicates|is)\b)")
        .is_match(text)
}

/// The rows of a table on a page from the one above line `at` up to its head.
fn above(lines: &Lines, at: usize) -> impl Iterator<Item = &Line> {
    let row = |line: &Line| regex!(r"^(?:> ?)*\s*\|.*\|\s*$").is_match(&line.text);
    let own = row(&lines[at]);
    lines[..at].iter().rev().take(ABOVE).take_while(move |line| own && row(line))
}

/// Whether line `at` is a row of a table on a page: the rule below the table's head is above it.
fn cell(lines: &Lines, at: usize) -> bool {
    let rule = regex!(r"^(?:> ?)*\s*\|(?:\s*:?-{2,}:?\s*\|)+\s*$");
    above(lines, at).any(|line| rule.is_match(&line.text)) && !of_runs(lines, at)
}

/// Whether line `at` is a row of a table of what ran, and how it ended.
pub(super) fn of_runs(lines: &Lines, at: usize) -> bool {
    let ran = regex!(r"(?i)\|\W*(?:pod|job(?: id)?|run|task|host|build)\W*\|");
    let ended = regex!(r"(?i)\|\W*(?:exit(?: ?code)?|reason|result|state|status)\W*\|");
    above(lines, at).last().is_some_and(|head| [ran, ended].iter().all(|part| part.is_match(&head.text)))
}

/// Whether `text` is a question that a page answers: a heading, or bold text.
fn asked(text: &str) -> bool {
    regex!(r"(?i)^\W*#{1,6} +(?:\d+[.)] +)?(?:why|how|what|when|where|which|is|are|can|do|does|should|i|my)\b[^\n]*\?\W*$|^(?:> ?)*\*\*(?:q\d*[:.] ?)?[^*]+\?\*\*")
        .is_match(text)
}

/// Whether line `at` belongs to an example in a description of an interface: one of the keys that it stands below says so.
fn exemplified(lines: &Lines, at: usize) -> bool {
    const DEEP: usize = 24;
    let indent = |text: &str| text.len() - text.trim_start().len();
    let key = regex!(r#"^\s*(?:- )?["']?[\w./{}-]+["']?:"#);
    let mut depth = indent(&lines[at].text);
    if depth == 0 || !key.is_match(&lines[at].text) {
        return false;
    }
    for line in lines[at.saturating_sub(DEEP)..at].iter().rev().filter(|line| key.is_match(&line.text)) {
        if indent(&line.text) < depth {
            depth = indent(&line.text);
            if regex!(r#"^\s*["']?(?:examples?|sample)["']?:\s*\{?$"#).is_match(line.text.trim_end()) {
                return true;
            }
        }
    }
    false
}

/// Whether line `at` is a value of an enumeration, or its description.
fn enumerated(lines: &Lines, at: usize) -> bool {
    const VALUES: usize = 12;
    let value = |line: &Line| regex!(r#"^\s*(?:"[^"]+"|[A-Z][A-Z0-9_]+,?)$"#).is_match(line.text.trim_end());
    let head = lines[at.saturating_sub(VALUES)..at].iter().rev().find(|line| !value(line));
    value(&lines[at]) && head.is_some_and(|line| regex!(r"^\s*(?:\w+ )*enum\b.*\{$").is_match(line.text.trim_end()))
}

/// Whether line `at` says what a patch is for: its problem and its solution, below its number.
fn patched(lines: &Lines, at: usize) -> bool {
    const PATCH: usize = 6;
    let part = |line: &Line| regex!(r"^(?:Problem|Solution|Files):\s").is_match(&line.text);
    let from = at.saturating_sub(PATCH);
    let above = lines[from..=at].iter().rposition(part).map(|found| from + found);
    above.is_some_and(|above| {
        lines[above.saturating_sub(PATCH)..above].iter().any(|line| regex!(r"^Patch \d").is_match(&line.text))
            && lines[above + 1..=at].iter().all(|line| line.text.starts_with([' ', '\t']))
    })
}

/// Whether line `at` is the title of what its description is below.
fn fronted(lines: &Lines, at: usize) -> bool {
    regex!(r"^(?:name|title): \S").is_match(&lines[at].text)
        && lines
            .get(at + 1)
            .is_some_and(|below| regex!(r"^(?:about|description|labels|assignees|date|tags): ").is_match(&below.text))
}

/// Whether `text` begins with a title in quotes, and says what bears it: a book, a talk, an exhibition.
fn quoted(text: &str) -> bool {
    regex!(r#"^["\x{201c}\x{201e}\x{ab}][A-Z][^"\x{201c}\x{201d}\x{bb}]{2,60}["\x{201c}\x{201d}\x{bb}] (?:-|\x{2013}|\x{2014}) [a-z][a-z]"#).is_match(text)
        && !regex!(r"(?i)\b(?:retr\w+|restart\w*|kill\w*|abort\w*|exit\w*|error|fail\w*|crash\w*|again|after|when|while|at|on)\b").is_match(text)
}

/// Whether line `at` is a row of a table of codes and what they mean.
fn explained(lines: &Lines, at: usize) -> bool {
    const ROWS: usize = 24;
    let row = |text: &str| {
        regex!(r"^\W*-?(?:\d+|0x[0-9a-fA-F]+|[A-Z][A-Z0-9_-]{3,})\b.*\S {2,}\S|^\W*-?\d+\s{2,}\S").is_match(text)
    };
    let head = |line: &&Line| {
        regex!(r"(?i)^\W*(?:(?:return|error|exit|status) )?(?:codes?|number|status|errno)\b.*\b(?:meaning|description|explanation|what it means|cause|action)\b").is_match(&line.text)
    };
    row(&lines[at].text)
        && lines[at.saturating_sub(ROWS)..at]
            .iter()
            .rev()
            .take_while(|line| row(&line.text) || head(line))
            .any(|line| head(&line))
}

/// Whether line `at` explains a term, as the lines around it do with others: `OOMKilled: reason that ..`.
fn termed(lines: &Lines, at: usize) -> bool {
    let entry = |line: &Line| {
        regex!(r"^\W{0,4}[A-Za-z][\w /-]{1,30}\W{0,2}(?::| -| \x{2013}| \x{2014}) ?(?:(?:the|an?) )?(?:[a-z]+,? ){0,8}(?:(?:part|number|share|amount|name|kind|set|way|word) (?:of|for)|that|which|whose|where|who)\b|^\W{0,4}[A-Z][\w -]{1,30}: [A-Z]?[a-z]+'s (?:number|name|code|word|term)\b").is_match(&line.text)
    };
    let near = [at.checked_sub(2), at.checked_sub(1), Some(at + 1), Some(at + 2)];
    entry(&lines[at])
        && near.into_iter().flatten().filter_map(|at| lines.get(at)).filter(|line| entry(line)).count() > 1
}

/// Whether line `at` is a title, underlined by a rule of its length, with more words than an error has.
fn underlined(lines: &Lines, at: usize) -> bool {
    let own = lines[at].message().trim();
    let Some(below) = lines.get(at + 1).map(|line| line.message().trim()) else { return false };
    let mark = below.chars().next().filter(|mark| "=-~^*\"#+".contains(*mark));
    let rule = below.len() >= 4 && mark.is_some_and(|mark| below.chars().all(|c| c == mark));
    let words = || own.split([' ', '-', '/']).filter(|word| word.len() > 3);
    let known = |word: &str| {
        ["memory", "killed", "error", "fatal", "cuda"].contains(&word.to_ascii_lowercase().trim_end_matches(['!', '.']))
    };
    rule && below.len().abs_diff(own.chars().count()) <= 4
        && regex!(r"^[A-Z][A-Za-z0-9'(),/& -]*\??$|^[A-Z][^:]*[\x{201c}\x22`][^\x{201d}\x22`]+[\x{201d}\x22`]\??$")
            .is_match(own)
        && words().any(|word| !known(word))
}

/// Whether line `at` is an item of a list of texts to look for, such as the triggers in a runbook.
fn listed(lines: &Lines, at: usize) -> bool {
    let item = |line: &Line| regex!(r#"^(?:> )*\s*(?:- |["'`])"#).is_match(&line.text);
    if !item(&lines[at]) {
        return false;
    }
    let above = lines[at.saturating_sub(ABOVE)..at].iter().rev().find(|line| !item(line) || key(&line.text).is_some());
    above.and_then(|line| key(&line.text)).is_some_and(|key| {
        regex!(r"^(?:ignore|exclude|deny|allow|retry|match|filter|known|expected)[A-Z]\w*$|(?i)(?:^|[_ -])(?:triggers?|patterns?|keywords?|match(?:es|ers?)?|symptoms?|signatures?|phrases?|(?:sub)?strings?|contains|alias(?:es)?|queries|filters?|regex(?:es|ps?)?|(?:retry|ignore|alert|fail|match)[_ -]?on|ignored?|excludes?|examples?|allow_?list|deny_?list|indicators?|needles?|options|choices|(?:on|if|when|for)[_ -](?:messages?|errors?|reasons?|exit[_ -]?codes?|outputs?|logs?)|(?:retr|transient|known|fatal|expected|recoverable)\w*[_ -](?:errors?|messages?|reasons?|codes?|exceptions?))$")
            .is_match(key)
    })
}

/// The key whose list begins after `text`.
fn key(text: &str) -> Option<&str> {
    let found = regex!(r#"^(?:> )*\s*(?:- )?["']?([A-Za-z][\w -]*)["']?\s*[:=]\s*[\[({|>]?-?\s*$"#).captures(text)?;
    found.get(1).map(|key| key.as_str())
}

/// Whether line `at` is an item of a list under the heading of a release.
fn released(lines: &Lines, at: usize) -> bool {
    let bullet = |line: &Line| regex!(r"^(?:> ?)*\s*[-*+\u{2022}] +\S").is_match(&line.text);
    let deep = |line: &Line| line.text.starts_with("  ");
    // Indented lines continue an item.
    let mut first = at;
    while first > 0 && !bullet(&lines[first]) && deep(&lines[first]) && at - first < 6 {
        first -= 1;
    }
    if !bullet(&lines[first]) {
        return false;
    }
    let mut headings = 0;
    for index in (first.saturating_sub(ABOVE)..first).rev() {
        let text = lines[index].text.as_str();
        if package(text) {
            return true;
        }
        let rule = lines.get(index + 1).is_some_and(|next| regex!(r"^(?:> ?)*[=~-]{3,}$").is_match(&next.text));
        let heading = regex!(r"^(?:> ?)*#{1,6} +(.*)$").captures(text);
        let title = heading.as_ref().and_then(|found| found.get(1)).map(|title| title.as_str());
        let Some(title) = title.or((rule || bare(text)).then_some(text)) else { continue };
        if release(title) {
            return true;
        }
        headings += 1;
        if headings == HEADINGS {
            break;
        }
    }
    false
}

/// Whether a title is that of a release, or of a part of release notes.
fn release(title: &str) -> bool {
    regex!(
        r"(?i)^\W*(?:(?:version|release|v)? ?\d+\.\d+(?:\.\d+)*(?:[-+.]?\w+)*\]?(?:\W|$)|build \d+$|(?:\d+\.\d+\S* )?(?:unreleased|change ?log|release notes|what(?:'|\x{2019})?s (?:new|changed)|changes in\b)|(?:fix(?:ed|es)|(?:bugs? ?|bug-)fix(?:ed|es)?|bugs fixed|added|changed|removed|deprecated|new features?|improved|improvements|enhancements|breaking(?: changes)?|resolved issues|fixed issues|notable changes|highlights|upgrade notes)\W*$|[a-z]\w+(?: [a-z]\w+)? v?\d+\.\d+\.\d+$)"
    )
    .is_match(title)
}

/// A line that only names a part of release notes: `Bug fixes:`, `Version 1.2.3`.
fn bare(text: &str) -> bool {
    regex!(r"^(?:Bug ?[Ff]ixes|Fixed|Fixes|Added|Changed|Removed|New [Ff]eatures|Improvements|Enhancements|Changelog|Release [Nn]otes)\b(?:[^.]|\.\d){0,30}:?$|^(?:Highlights|Upgrade [Nn]otes|Known [Ii]ssues)\W*$|^[A-Z]\w+(?: [A-Z]\w+)? v?\d+\.\d+\.\d+$|^(?:[Vv]ersion |[Rr]elease |v)?\d+\.\d+\.\d+(?: \([^)]*\)| [-\x{2014}] [\w ,-]+|:)?$")
        .is_match(text.trim())
}

/// The head of an entry in a package's change log, of Debian or RPM.
fn package(text: &str) -> bool {
    regex!(r"^\S+ \([\w.:~+-]+\) [\w -]+; urgency=|^\* (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d{1,2} \d{4} ")
        .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::dismisses;

    /// The reason to dismiss the line that holds `what`.
    fn of(text: &str, what: &str) -> Option<&'static str> {
        let lines = Lines::hot(text);
        dismissed(&lines, lines.iter().position(|line| line.text.contains(what)).expect("the line"))
    }

    #[test]
    fn terms_codes_templates_and_titles_are_no_events() {
        let is = |text: &str, what: &str| of(text, what).is_some() || dismisses(described, text, what);
        for (text, what) in [
            (
                "code  name   meaning\n  -4  CL_MEM_OBJECT_ALLOCATION_FAILURE  no memory for it\n  12  ENOMEM  Cannot allocate memory\n",
                "ENOMEM",
            ),
            (
                "Leak: memory that is never freed.\nOOMKilled: reason that a container shows.\nPSI: the share of time in which tasks waited.\n",
                "OOMKilled",
            ),
            ("name: Out of memory\ndescription: It ended\n", "name: "),
            ("example:\n  state: failed\n  error: {code: 7, message: \"CUDA out of memory\"}\n", "CUDA"),
            ("options:\n  - \"CUDA out of memory\"\n  - \"Killed\"\n", "CUDA"),
            ("\"Out of Memory\" - sculptures from computers\n", "Out"),
        ] {
            assert!(is(text, what), "{text}");
        }
        for (text, what) in [
            ("job  code  host\n 12   137   a1  Killed\n", "Killed"),
            ("name: job-1\nerror: Out of memory\n", "error"),
            ("status:\n  state: failed\n  error: Out of memory\n", "error"),
            ("gpu0: waiting for work\ntrainer: out of memory for batch 3\ngpu1: waiting for peers\n", "out of"),
            ("\"CUDA out of memory\" - retrying with half of it\n", "CUDA"),
        ] {
            assert!(!is(text, what), "{text}");
        }
    }

    #[test]
    fn items_under_the_heading_of_a_release_are_notes_on_it() {
        for text in [
            "## [2.8.0] - 2024-05-14\n### Fixed\n- `OutOfMemoryError` no longer kills the broker\n",
            "# Changelog\n\n## Build 35\n### Fixed\n- `OutOfMemoryError`/`short read` error from tar\n",
            "Version 1.4.2\n-------------\n\n* The agent survives\n  an OutOfMemoryError of its child\n",
            "agent (1.4-2) unstable; urgency=medium\n\n  * OutOfMemoryError is reported\n",
            "* Tue May 14 2024 A Person <a@b.c> - 1.2-3\n- OutOfMemoryError is reported\n",
        ] {
            assert_eq!(of(text, "OutOfMemoryError"), Some("release notes"), "{text}");
        }
        for text in [
            "## Describe the bug\n- OutOfMemoryError: 2 GiB\n",
            "### Fixed\nOutOfMemoryError: 2 GiB\n",
            "loss 1.2.3\n- OutOfMemoryError: 2 GiB\n",
        ] {
            assert_eq!(of(text, "OutOfMemoryError"), None, "{text}");
        }
    }

    #[test]
    fn texts_to_look_for_titles_and_questions_are_no_events() {
        for (text, what) in [
            ("triggers:\n  - \"oom-kill:\"\n  - \"Out of memory: Killed process\"\n", "Killed process"),
            ("\"error_patterns\": [\n  \"CUDA out of memory\",\n  \"Killed\"\n]\n", "Killed"),
            ("Out-Of-Memory Prevention\n========================\n", "Prevention"),
            (
                "My model reports \u{201c}cuda runtime error(2): out of memory\u{201d}\n------------------------------------------------------\n",
                "cuda",
            ),
            ("### Why do I get `CUDA out of memory`?\n", "CUDA"),
            ("**Q: Killed by signal 9, what now?**\n", "Killed"),
        ] {
            assert!(of(text, what).is_some(), "{text}");
        }
        for (text, what) in [
            ("logs:\n  - \"CUDA out of memory\"\n", "CUDA"),
            ("Out of memory\n-------------\n", "Out"),
            ("CUDA out of memory\n==================\n", "CUDA"),
        ] {
            assert_eq!(of(text, what), None, "{text}");
        }
    }

    #[test]
    fn numbers_that_run_on_are_those_of_a_paste() {
        let pasted = Lines::hot(" 211 | loading\n 212 | out of memory\n 213 | failed\n");
        assert!(numbered(&pasted, 1));
        for table in ["| 11 | EAGAIN |\n| 12 | ENOMEM |\n| 13 | EACCES |\n", "11 | again\n137 | killed\n139 | fault\n"]
        {
            assert!(!numbered(&Lines::hot(table), 1), "{table}");
        }
    }
}
