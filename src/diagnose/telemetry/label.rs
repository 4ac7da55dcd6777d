//! The label of a line that a person's own code printed: the phase in which memory was read.

use super::headers::is_of_work;
use super::scan::unit;
use crate::ascii::regex;

/// Words that count steps, or name a kind of memory or its unit: a label of these alone says no phase.
const COUNTED: [&str; 9] = ["step", "epoch", "iter", "iteration", "batch", "loss", "lr", "global_step", "rank"];
const MEMORY: &str = "cpu gpu cuda host device ram vram current currently used peak max maximum total torch pytorch \
                      memory mem process usage allocated reserved alloc cached and or of the is psutil info debug \
                      warning warn error using";
/// Words before a phase.
const PLACES: [&str; 9] = ["before", "after", "at", "in", "during", "start", "end", "begin", "post"];

/// The longest label that is taken from words around a figure.
const LONGEST_LABEL: usize = 60;

/// Whether a reading at `label` is of what remains while an engine sleeps, or when it has given its memory back.
pub(crate) fn is_of_what_remains(label: &str) -> bool {
    regex!(r"(?i)\basleep|\bafter[_ ](?:\w+[_ ])?(?:sleep|offload|unload|release)|\brelease_memory_occupation\b")
        .is_match(label)
}

/// The words of `text` that name a phase, without numbers.
pub(super) fn of(text: &str) -> Option<String> {
    let mut label = String::new();
    let mut after_place = false;
    let mut named = false;
    let parts = text.split(|c: char| c.is_whitespace() || matches!(c, '|' | ',' | ';'));
    let mut parts = parts.filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let word = part.trim_matches(|c: char| !c.is_alphanumeric());
        let counted = COUNTED.iter().any(|counted| word.eq_ignore_ascii_case(counted));
        // `step 7` is a number; `after step 7` and `after optimizer step` are phases.
        let mut begins = |with: fn(char) -> bool| parts.peek().is_some_and(|next| next.starts_with(with));
        let (valued, listed) = (begins(|c| c.is_ascii_digit()), begins(|c| "[(#".contains(c)));
        // A word before a number is the name of a value: `time 12 ms`, `grad_norm: 1.2`.
        let value = !after_place && (valued || counted && (listed || label.is_empty()));
        if part.chars().any(|c| c.is_ascii_digit() || c == '=') || word.is_empty() || value {
            after_place = false;
            continue;
        }
        if ["mb", "gb", "mib", "gib", "ms", "s", "sec", "it/s"].iter().any(|unit| word.eq_ignore_ascii_case(unit)) {
            continue;
        }
        after_place = PLACES.iter().any(|place| word.eq_ignore_ascii_case(place));
        let memory = MEMORY.split(' ').any(|known| word.eq_ignore_ascii_case(known));
        if memory && label.is_empty() {
            continue;
        }
        named |= !memory;
        label.push_str(if label.is_empty() { "" } else { " " });
        label.push_str(word);
    }
    named.then_some(label)
}

/// Whether `text` says how much work is held at the time.
pub(super) fn counts_work(text: &str) -> bool {
    let counted = regex!(r"\b(?P<name>[A-Za-z_]+)[=:] ?\d");
    counted.captures_iter(text).any(|found| is_of_work(&found["name"]))
}

/// Whether `text` says how much data is held, at its beginning or as a program that loads it does.
pub(crate) fn is_of_data(text: &str) -> bool {
    regex!(r"(?i)^\W*(?:(?:loaded|read|inserted|indexed|imported|ingested|added|parsed) )?\d[\d.,]* ?[kMG]? ?(?:rows|records|edges|nodes|vertices|documents|docs|vectors|keys|items|entries|lines|triples|points|embeddings|tuples|objects)\b|\b(?:inserted|indexed|imported|ingested|loaded|added) {1,4}\d[\d.,]*(?:/\d+)?\b|-\d{5}-of-\d{5}\b|\bshard \d+(?:/| of )\d+\b|\b(?:nodes|ways|edges|vertices|rows|records|documents|docs|vectors|keys|triples) {1,8}\d[\d,]{4,}\b")
        .is_match(text)
}

/// How large the work of a line was, as the key and the number of it: `seq_len=4096`.
pub(super) fn sized(text: &str) -> Option<String> {
    let size = regex!(r"(?i)(?P<key>\b[a-z_]+)[\x22']?\s*[=:]\s*[\x22']?(?P<number>\d+)\b");
    let is =
        |found: &::regex::Captures<'_>| is_a_size(&text[..found.name("number").map_or(0, |number| number.start())]);
    let found = size.captures_iter(text).find(is)?;
    Some(format!("{}={}", &found["key"], &found["number"]))
}

/// Whether `text` ends with a key of how large the work is.
pub(crate) fn is_a_size(text: &str) -> bool {
    regex!(r"(?i)\b(?:seq(?:uence)?_?len(?:gth)?|prompt_?(?:len|tokens)|context_?len(?:gth)?|ctx_?len|n_?ctx|resolution|(?:[a-z]+_)?batch_?size|m?bs|(?:max_|num_|n_)tokens|ima?ge?_?size|(?:num_|n_)?rows)[\x22']?\s*[=:]\s*[\x22']?$")
        .is_match(text)
}

/// The label before the first word for memory, which begins at `end`: `after forward` of `after forward: mem 3 GB`.
pub(super) fn before(text: &str, end: Option<usize>) -> Option<String> {
    // A word that only contains one for memory, such as `pmem`, begins before it.
    of(text.get(..end?)?.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The phase in the words of a figure: `Memory after forward: `.
pub(super) fn placed(words: &str) -> Option<String> {
    let lower = words.to_ascii_lowercase();
    let at = ["before ", "after ", "at ", "during ", "post "].iter().filter_map(|place| {
        let at = lower.find(place)?;
        (at == 0 || !lower.as_bytes()[at - 1].is_ascii_alphanumeric()).then_some(at)
    });
    of(&words[at.min()?..]).filter(|label| label.contains(' ') && !label.ends_with(" peak"))
}

/// The phase with which the words before a figure end: `POST /release -> 200  used after release: `.
pub(super) fn right_before(words: &str) -> Option<String> {
    let phase = regex!(r"(?i)(?:^|[\s,;(])(?P<phase>(?:before|after) [a-z_]{3,20}(?: [a-z_]{3,20})?)[:=]\s*$");
    of(&phase.captures(words)?["phase"])
}

/// The label in the last bracket of a line's prefixes: `forward` of `[INFO] [forward] allocated=3GB`.
pub(super) fn in_brackets(prefix: &str) -> Option<String> {
    const LEVELS: [&str; 12] =
        ["info", "debug", "warning", "warn", "error", "critical", "fatal", "trace", "notice", "mem", "memory", "gpu"];
    let close = prefix.rfind(']')?;
    let content = prefix[prefix[..close].rfind('[')? + 1..close].trim();
    let level = LEVELS.iter().any(|level| content.eq_ignore_ascii_case(level));
    let words = content.chars().all(|c| c.is_alphabetic() || matches!(c, ' ' | '_' | '-'));
    (!level && words && content.len() <= LONGEST_LABEL).then(|| of(content)).flatten()
}

/// The label behind the last figure: `allocated 3 GB after forward`, `allocated=3GB (forward)`.
pub(super) fn behind(text: &str) -> Option<String> {
    let rest = &text[text.rfind(|c: char| c.is_ascii_digit())? + 1..];
    let rest = unit(rest).map_or(rest, |(_, rest)| rest).trim();
    let marked = rest.starts_with(['(', '[', '@', '<']);
    let placed = PLACES.iter().any(|place| {
        rest.get(..place.len()).is_some_and(|start| start.eq_ignore_ascii_case(place))
            && rest[place.len()..].starts_with([' ', '_'])
    });
    let words = rest.chars().all(|c| c.is_alphabetic() || " _-()[]@<>.:".contains(c));
    ((marked || placed) && words && rest.len() <= LONGEST_LABEL).then(|| of(rest)).flatten()
}

/// The label that a line of its own says: `== after forward ==`.
pub(super) fn said(text: &str) -> Option<String> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let first = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let placed = PLACES[..7].iter().any(|place| first.eq_ignore_ascii_case(place));
    let words = text.chars().all(|c| c.is_alphanumeric() || " _-().:".contains(c));
    (placed && words && text.len() <= LONGEST_LABEL).then(|| of(text)).flatten()
}
