//! Regular expressions whose classes and word borders are those of ASCII.
//!
//! Logs write their numbers and names in ASCII, while `\d`, `\w` and `\b` of Unicode take most of the time in which an
//! expression is compiled, and `\b` takes the fast engines away from a text with one letter beyond ASCII.

use regex::Regex;

/// A regular expression that is compiled on first use.
macro_rules! regex {
    ($text:expr) => {{
        static REGEX: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| $crate::ascii::compile($text));
        &*REGEX
    }};
}
pub(super) use regex;

/// Compiles `text`, an expression of this package, with `\d`, `\w`, `\s` and `\b` of ASCII. An expression with letters
/// beyond ASCII keeps Unicode's: its words end with them.
pub(super) fn compile(text: &str) -> Regex {
    let expression = if text.is_ascii() { Regex::new(&with_ascii_classes(text)) } else { Regex::new(text) };
    expression.expect("a valid expression")
}

fn with_ascii_classes(text: &str) -> String {
    let (mut out, mut in_class) = (String::with_capacity(text.len() * 2), false);
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match (rest.next(), in_class) {
                (Some('d'), true) => out.push_str("0-9"),
                (Some('d'), false) => out.push_str("[0-9]"),
                (Some('w'), true) => out.push_str("0-9A-Za-z_"),
                (Some('w'), false) => out.push_str("[0-9A-Za-z_]"),
                (Some('s'), true) => out.push_str(r"\t\n\v\f\r\x20"),
                (Some('s'), false) => out.push_str(r"[\t\n\v\f\r\x20]"),
                (Some('b'), false) => out.push_str(r"(?-u:\b)"),
                (Some(other), _) => out.extend(['\\', other]),
                (None, _) => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push(next);
            }
            ']' if in_class => {
                in_class = false;
                out.push(next);
            }
            _ => out.push(next),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_borders_are_those_of_ascii() {
        assert_eq!(
            with_ascii_classes(r"\b\d+[\w.\]-]\\d\.[^\s]"),
            r"(?-u:\b)[0-9]+[0-9A-Za-z_.\]-]\\d\.[^\t\n\v\f\r\x20]"
        );
        let number = compile(r"^\d+\s\w+\b");
        assert!(number.is_match("137 killed") && !number.is_match("\u{0661} killed") && number.is_match("137 a\u{e4}"));
        assert!(
            compile(r"\bGet\u{f6}tet\b").is_match("7: Get\u{f6}tet")
                && compile("t\u{e9}\\b").is_match("arr\u{ea}t\u{e9} 1")
        );
    }
}
