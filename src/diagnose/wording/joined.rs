//! A message over several lines: joins lines that a logger or a terminal wrapped.

use super::super::window::{Line, Lines};
use super::regex;

/// How many lines after the first may belong to a message.
const LINES: usize = 24;
/// How many bytes a message may have.
const BYTES: usize = 4 << 10;

/// The text of line `at` and the following lines of the same process, until `whole` holds or something else begins.
///
/// Lines are joined with `glue`: a space if the text was wrapped between words, nothing if a terminal broke it inside a
/// word.
pub(super) fn joined(lines: &Lines, at: usize, glue: &str, whole: impl Fn(&str) -> bool) -> String {
    let mut text = lines[at].message().trim().to_owned();
    let mut before = lines[at].message();
    for line in lines.after(at).take(LINES) {
        if whole(&text) || text.len() > BYTES || begins_anew(line) {
            break;
        }
        let next = unboxed(line.message());
        if !next.is_empty() {
            let apart = glue.is_empty() && blank_between(before, line.message());
            text.push_str(match glue {
                _ if apart => " ",
                BROKEN => gap(&text, next),
                _ => glue,
            });
            text.push_str(next);
            before = line.message();
        }
    }
    text
}

/// Whether a terminal broke a text beside a blank, which then ends one line or begins the next. More blanks indent.
fn blank_between(before: &str, after: &str) -> bool {
    before.ends_with(' ') || (after.starts_with(' ') && !after.starts_with("  "))
}

/// The line above line `at`, if it is prose that goes on in line `at`: it has no end, and the next word no capital.
pub(super) fn sentence_above(lines: &Lines, at: usize) -> Option<&str> {
    let above = lines[at.checked_sub(1)?].text.as_str();
    let own = lines[at].text.as_str();
    let prose = regex!(r"^[^:=|{}\[\]]{50,}[a-z,]$");
    let worded = above.split_whitespace().filter(|word| word.chars().all(char::is_lowercase)).count() >= 6;
    (worded && prose.is_match(above) && own.starts_with(char::is_lowercase)).then_some(above)
}

/// A glue that decides by the text whether a terminal broke a word or a number at its last column.
pub(super) const BROKEN: &str = "?";

/// What was between `text` and `next` before the line was broken.
fn gap(text: &str, next: &str) -> &'static str {
    const WORDS: [&str; 40] = [
        "memory",
        "tried",
        "allocate",
        "allocated",
        "unallocated",
        "which",
        "total",
        "capacity",
        "capacty",
        "free",
        "process",
        "including",
        "non-pytorch",
        "pytorch",
        "reserved",
        "already",
        "this",
        "have",
        "with",
        "private",
        "pools",
        "graphs",
        "large",
        "setting",
        "avoid",
        "fragmentation",
        "documentation",
        "management",
        "cannot",
        "failed",
        "device",
        "bytes",
        "runtimeerror",
        "outofmemoryerror",
        "killed",
        "cuda",
        "gib",
        "mib",
        "kib",
        "but",
    ];
    let last = text.rsplit(' ').next().unwrap_or_default();
    let first = next.split(' ').next().unwrap_or_default();
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    if last.ends_with(digit)
        && first.starts_with(digit)
        && !last.ends_with(". ")
        && !(last.ends_with('.') && last.len() == 1)
    {
        return "";
    }
    let known = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
        WORDS.contains(&word.rsplit('.').next().unwrap_or_default())
    };
    if known(&format!("{last}{first}")) && !(known(last) && known(first)) { "" } else { " " }
}

/// The text of a line without the box that a pretty printer drew around it.
pub(super) fn unboxed(text: &str) -> &str {
    text.trim().trim_matches(['│', '║', '┃', '|', '╭', '╰', '─', '╮', '╯']).trim()
}

/// Whether a line begins something new instead of continuing a message.
fn begins_anew(line: &Line) -> bool {
    let text = line.message().trim_start();
    text.starts_with("Traceback")
        || text.starts_with("File \"")
        || text.starts_with("During handling")
        || text.starts_with("The above exception")
        || text.starts_with("```")
        || text.starts_with("Exception raised from")
        || regex!(r"^(?:[\w.]+(?:Error|Exception|Interrupt|Exit)\b|W\d{4} |E\d{4} )").is_match(text)
}
