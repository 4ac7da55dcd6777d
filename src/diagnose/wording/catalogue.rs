//! Texts that a list holds, recognised by the lines beside them: tables of messages, titles of other pages, sections of
//! a docstring, answers of a command that explains numbers.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines away the next entry of a table of texts may be.
const BESIDE: usize = 3;
/// How many lines above an item the head of its list may be.
const LIST: usize = 16;

/// Why line `at` is not an event, judged by the list that it belongs to.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    if named(lines, at) || coded(lines, at) {
        return Some("a text for users, in a file of texts");
    }
    if titled(lines, at) {
        return Some("the title of an issue or a page");
    }
    if documented(lines, at) || sectioned(lines, at) {
        return Some("a manual");
    }
    if explained(lines, at) {
        return Some("a value that an interpreter printed");
    }
    given(lines, at).then_some("a setting")
}

/// Whether line `at` is an entry of a table of texts: its key names the error, and the next entry has a text, too.
fn named(lines: &Lines, at: usize) -> bool {
    let entry = regex!(
        r#"^\s*(?:- )?["']?(?P<key>[A-Za-z_][\w.-]*|\d{1,6})["']?\s*[:=]\s*["'](?:[A-Za-z][^"'\d]*|[^"']*\{\w*\}[^"']*)["'][,;]?$"#
    );
    let key = |line: &Line| Some(entry.captures(line.text.trim_end())?.name("key")?.as_str().to_owned());
    let names = regex!(r"(?i)oom|mem|killed|heap|alloc|vram|^\d+$|^[a-z]{1,4}[_-]?\d{2,6}$");
    key(&lines[at]).is_some_and(|own| {
        names.is_match(&own) && lines.beside(at, BESIDE).any(|line| key(line).is_some_and(|other| other != own))
    })
}

/// Whether line `at` is the text of a numbered entry, and another entry has the same form.
fn coded(lines: &Lines, at: usize) -> bool {
    let text = regex!(r#"^\s+(?:text|title|label|meaning|desc|description|message|msg): ["']?[A-Za-z][^"'\d]*["']?$"#);
    let number = regex!(r"^\s*- (?:code|id|errno|number|value|key): \S+$");
    // What a test gives, and what it expects.
    let gives = regex!(r#"^\s*(?:- )?(?:input|line|text|log|message|given|sample): ["']"#);
    let expects = regex!(r"^\s*(?:- )?(?:expect(?:ed|s)?|want|should|label|category|class): \S");
    if gives.is_match(&lines[at].text) && lines.beside(at, 1).any(|line| expects.is_match(&line.text)) {
        return true;
    }
    let is = |index: usize| {
        index.checked_sub(1).is_some_and(|above| number.is_match(lines[above].text.trim_end()))
            && lines.get(index).is_some_and(|line| text.is_match(line.text.trim_end()))
    };
    is(at) && (at.saturating_sub(BESIDE)..lines.len().min(at + BESIDE + 1)).any(|index| index != at && is(index))
}

/// Whether line `at` is a title in a list of other pages, or of the parts of this one.
fn titled(lines: &Lines, at: usize) -> bool {
    let head = regex!(
        r"(?i)^\W*(?:(?:related|similar|linked|further|popular|hot(?: network)?|suggested|recommended|frequent|open|known) (?:questions?|issues?|posts?|articles?|topics?|links?|reading|threads?|discussions?|pages?|tickets?|searches|results)|related|see also|people also ask(?:ed)?|(?:table of )?contents|outline|agenda|search results)\s*:?\W*$"
    );
    // A title has neither a time nor a figure with a unit.
    let title = |line: &&Line| {
        let text = line.text.trim();
        !text.is_empty()
            && text.len() < 160
            && !regex!(r"\d\d:\d\d:\d\d|\d ?(?:[KMGT]i?B|bytes)\b|\bpid[ =:]?\d|^\s+at ").is_match(&line.text)
    };
    title(&&lines[at])
        && lines[at.saturating_sub(LIST)..at].iter().rev().take_while(title).any(|line| head.is_match(line.text.trim()))
}

/// Whether line `at` belongs to the part of a docstring that says what is raised or returned.
fn documented(lines: &Lines, at: usize) -> bool {
    let indent = |line: &Line| line.text.len() - line.text.trim_start().len();
    let own = indent(&lines[at]);
    let above =
        lines[at.saturating_sub(LIST)..at].iter().rev().find(|line| indent(line) < own && !line.text.is_empty());
    above
        .is_some_and(|head| regex!(r"^\s*:?(?:Raises|Throws|Returns|Yields|Warns):?:?$").is_match(head.text.trim_end()))
}

/// Whether line `at` belongs to the section of a manual that lists errors or what a command returns.
fn sectioned(lines: &Lines, at: usize) -> bool {
    let deep = |line: &&Line| line.text.starts_with("    ") || line.text.starts_with('\t') || line.text.is_empty();
    deep(&&lines[at])
        && lines[at.saturating_sub(LIST)..at].iter().rev().find(|line| !deep(line)).is_some_and(|head| {
            regex!(r"^(?:EXIT (?:STATUS|CODES?)|RETURN (?:VALUES?|CODES?)|ERRORS|DIAGNOSTICS|(?:Exit (?:status(?:es)?|codes?)|Return (?:values?|codes?)):?)$")
                .is_match(head.text.trim_end())
        })
}

/// Whether line `at` answers a command that explains a number or a name, which was typed above it.
fn explained(lines: &Lines, at: usize) -> bool {
    let typed = |line: &&Line| regex!(r"^\S{0,60}[$#%>] \S").is_match(&line.text);
    lines[at.saturating_sub(LIST)..at].iter().rev().find(typed).is_some_and(|line| {
        regex!(r"[$#%>] (?:sudo )?(?:\S*/)?(?:perror|errno|strerror|kill -l|apropos|whatis|man|tldr)\b")
            .is_match(&line.text)
    })
}

/// Whether line `at` gives a variable its value: the name stands on a line beside it.
fn given(lines: &Lines, at: usize) -> bool {
    // Or it is the message of a task in a playbook.
    if regex!(r"^\s*(?:- )?(?:name|(?:fail_|success_)?msg): \S").is_match(&lines[at].text)
        && lines.beside(at, 2).any(|line| regex!(r"^\s*(?:- )?(?:when|fail|assert|that|debug):").is_match(&line.text))
    {
        return true;
    }
    regex!(r"^\s*(?:- )?(?:value|default): ").is_match(&lines[at].text)
        && lines.beside(at, 1).any(|line| regex!(r"^\s*(?:- )?name: \S+$").is_match(line.text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::super::dismisses;
    use super::*;

    /// Whether the line that holds `what` is dismissed.
    fn is(text: &str, what: &str) -> bool {
        dismisses(dismissed, text, what)
    }

    #[test]
    fn texts_of_a_list_are_no_events() {
        for (text, what) in [
            ("E1201: \"out of memory\"\nE1202: \"disk full\"\n", "out of"),
            ("  \"outOfMemory\": \"Out of memory\",\n  \"diskFull\": \"The disk is full\"\n", "Out of"),
            ("\"OOM\" = \"Not enough memory.\";\n\n\"DISK\" = \"Disk full.\";\n", "Not"),
            ("no_memory: \"failed to allocate {n} bytes\"\ndisk: \"full\"\n", "failed"),
            ("- code: 7\n  text: out of memory\n- code: 8\n  text: disk full\n", "out of"),
            ("Related:\n- How do I sort?\n- OutOfMemoryError: Java heap space in Maven\n", "OutOf"),
            ("See also\n * OOMKilled: how to find the reason\n", "OOM"),
            ("    Raises:\n        RuntimeError: out of memory at batch one.\n", "out of"),
            ("EXIT STATUS\n       137    The command was killed with SIGKILL.\n", "137"),
            ("$ perror 12\nOS error code  12:  Cannot allocate memory\n", "Cannot"),
            ("  fail:\n    msg: \"OOMKilled\"\n  when: oom_count > 0\n", "OOM"),
            ("- name: TEXT\n  value: \"container was OOMKilled\"\n", "OOM"),
        ] {
            assert!(is(text, what), "{text}");
        }
        for (text, what) in [
            ("\"reason\": \"OOMKilled\",\n\"state\": \"terminated\"\n", "OOM"),
            ("\"error\": \"CUDA out of memory\",\n\"worker\": \"trainer\"\n", "CUDA"),
            ("\"memory_mb\": 512,\n\"error\": \"out of memory\"\n", "out of"),
            ("- code: 7\n  message: out of memory\n", "out of"),
            ("Related:\nTraceback (most recent call last):\n12:01:02 OutOfMemoryError: Java heap space\n", "OutOf"),
            ("$ ./solve\nsolve: out of memory\n", "out of"),
        ] {
            assert!(!is(text, what), "{text}");
        }
    }
}
