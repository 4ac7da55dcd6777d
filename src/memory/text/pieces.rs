//! Pieces of text: cleaned, measured, cut to a width; readable figures.

use std::fmt::Write;

use anstyle::Style;
use unicode_width::UnicodeWidthChar;

use super::style::Screen;

/// The columns of a label at the start of a line.
pub const LABEL: usize = 12;

/// Whether `c` is a control character, changes the reading order, or is not a character.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn cleaned(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    }
}

/// `text` on one line without control characters, characters that change the reading order, and invalid ones. Use it
/// for names, messages and everything else from a file, a program or a user.
pub fn clean(text: &str) -> String {
    text.chars().map(cleaned).collect()
}

/// A document of several lines that may contain colours, without other control characters. Text from elsewhere must be
/// [`clean`]ed before it goes into one: afterwards, its newlines and colours cannot be distinguished from the
/// document's own.
pub fn document(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colour(rest);
        let length = if colour > 0 { colour } else { c.len_utf8() };
        match c {
            '\x1b' if colour > 0 => made.push_str(&rest[..length]),
            '\n' => made.push(c),
            c => made.push(cleaned(c)),
        }
        rest = &rest[length..];
    }
    made
}

/// The length of the colour sequence at the start of `text`; 0 if there is none.
fn colour(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\x1b[") else { return 0 };
    let end = parameters.bytes().position(|byte| !matches!(byte, b'0'..=b'9' | b';'));
    end.filter(|&end| parameters.as_bytes()[end] == b'm').map_or(0, |end| 2 + end + 1)
}

/// The columns that `text` takes on a terminal: two for an ideograph, none for a combining accent.
pub fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// A control character is [`clean`]ed before it is shown, and counts as its replacement.
fn columns_of(c: char) -> usize {
    UnicodeWidthChar::width(c).unwrap_or(1)
}

/// The bytes of the first `characters` that fit in `columns`.
fn fitting(characters: impl Iterator<Item = char>, mut columns: usize) -> usize {
    let fits = |c: &char| columns.checked_sub(columns_of(*c)).map(|left| columns = left).is_some();
    characters.take_while(fits).map(char::len_utf8).sum()
}

/// `text` in at most `columns`, its end replaced by `…` if it is longer.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    format!("{}…", &text[..fitting(text.chars(), room)])
}

/// `text` in at most `columns`, its start replaced by `…` if it is longer: the end of a file name identifies it best.
pub fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let kept = &text[text.len() - fitting(text.chars().rev(), room)..];
    // An accent without its letter would attach to the `…`.
    format!("…{}", kept.trim_start_matches(|c| columns_of(c) == 0))
}

/// `text` in lines of at most `columns`, broken between words, and within a word only if it is longer than a line. A
/// character wider than a line gets its own line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for mut word in text.split_whitespace() {
        loop {
            let line = lines.last_mut().expect("there is always a line");
            let gap = usize::from(!line.is_empty());
            let long = width(word);
            if used + gap + long <= columns {
                line.extend((gap == 1).then_some(' '));
                line.push_str(word);
                used += gap + long;
                break;
            }
            if line.is_empty() {
                let first = word.chars().next().map_or(0, char::len_utf8);
                let (front, rest) = word.split_at(fitting(word.chars(), columns).max(first));
                line.push_str(front);
                word = rest;
                if word.is_empty() {
                    used = width(front);
                    break;
                }
            }
            lines.push(String::new());
            used = 0;
        }
    }
    lines
}

/// `text` in `style`, [`clean`]ed.
pub fn styled(text: &str, style: Style) -> String {
    let text = clean(text);
    if style == Style::new() || text.is_empty() { text } else { format!("{style}{text}{style:#}") }
}

/// A time in readable form with three digits: `568 ns`, `1.23 µs`, `45.6 ms`, `2.50 s`, `4 min 05 s`, `2 h 07 min`.
pub fn duration(ns: f64) -> String {
    let seconds = (ns / 1e9).round();
    if seconds >= 3600.0 {
        let minutes = (seconds / 60.0).round();
        return format!("{} h {:02} min", (minutes / 60.0).floor(), minutes % 60.0);
    }
    if seconds >= 60.0 {
        return format!("{} min {:02} s", (seconds / 60.0).floor(), seconds % 60.0);
    }
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    // The unit is chosen after rounding, so that 999.9 ns becomes 1.00 µs.
    let (unit, scale) = units.into_iter().find(|(_, scale)| ns / scale < 999.5).unwrap_or(("s", 1e9));
    format!("{} {unit}", digits(ns / scale))
}

/// A positive figure below 1000 with three digits; whole nanoseconds and zero have no point.
fn digits(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// A time that was set rather than measured, without trailing zeros.
pub fn interval(ns: u64) -> String {
    duration(ns as f64).replace(".00 ", " ").replace(".0 ", " ")
}

/// An error of a comparison with three digits: `0`, `0.25`, `3.05e-5`.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if (1e-3..1e4).contains(&value.abs()) {
        let decimals = (2 - value.abs().log10().floor() as i32).max(0) as usize;
        let text = format!("{value:.decimals$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    format!("{value:.2e}")
}

/// The change from `before` to `after` in percent, with its sign; `=` if there is none, `-` if there is no ratio.
pub fn percent(before: f64, after: f64) -> String {
    if before == after {
        "=".to_owned()
    } else if before > 0.0 && after.is_finite() {
        format!("{:+.1} %", (after / before - 1.0) * 100.0)
    } else {
        "-".to_owned()
    }
}

/// A line with a label in `style`, at least `columns` wide; a long value continues below itself.
pub fn labelled(label: &str, style: Style, value: &str, columns: usize, screen: &Screen) -> String {
    let label = cut(label, screen.width() / 2);
    let indent = if label.is_empty() { 0 } else { columns.max(width(&label) + 1) };
    let pad = indent - width(&label);
    let mut start = format!(" {}{:pad$}", styled(&label, style), "");
    let mut text = String::new();
    for line in wrap(&clean(value), screen.width() - 1 - indent) {
        let _ = writeln!(text, "{start}{line}");
        start = " ".repeat(1 + indent);
    }
    text
}

/// The first 12 hexadecimal digits of a digest, with the name of its function if it has one.
pub fn short(digest: &str) -> String {
    let (function, hex) = digest.split_once(':').unwrap_or(("blake3", digest));
    format!("{}:{}", clean(function), clean(&hex.chars().take(12).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_unit_of_what_is_printed() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (3.25, "3.25 ns"),
            (568.25, "568 ns"),
            (999.6, "1.00 µs"),
            (1_234.5, "1.23 µs"),
            (45_600_000.0, "45.6 ms"),
            (999_700_000.0, "1.00 s"),
            (59.4e9, "59.4 s"),
            (59.6e9, "1 min 00 s"),
            (245e9, "4 min 05 s"),
            (3_599.6e9, "1 h 00 min"),
            (7_620e9, "2 h 07 min"),
        ] {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn a_time_that_was_set_has_no_zeros() {
        for (ns, text) in
            [(10_000_000, "10 ms"), (1_500_000_000, "1.50 s"), (2_000_000_000, "2 s"), (90_000_000_000, "1 min 30 s")]
        {
            assert_eq!(interval(ns), text);
        }
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in
            [(0.0, "0"), (0.25, "0.25"), (1.0, "1"), (3.051_757_8e-5, "3.05e-5"), (1234.0, "1234"), (6e7, "6.00e7")]
        {
            assert_eq!(number(value), text, "{value}");
        }
    }

    #[test]
    fn a_name_cannot_move_the_cursor_or_turn_the_line() {
        assert_eq!(clean("a\x1b[2Jb\nc\u{202e}d\te"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d e");
        assert_eq!(
            document("\x1b[1;31ma\x1b[0m\nb\x1b[2J\x1b]0;t\x07\r\x1b["),
            "\x1b[1;31ma\x1b[0m\nb\u{fffd}[2J\u{fffd}]0;t\u{fffd}\u{fffd}\u{fffd}["
        );
    }

    #[test]
    fn wide_characters_take_two_columns_and_accents_none() {
        assert_eq!((width("Qwen-通義"), width("e\u{301}te"), width("…─█µ"), width("\u{fffd}")), (9, 3, 4, 1));
        assert_eq!(
            (cut("通義千問", 5), cut("通義千問", 4), cut("通義", 4)),
            ("通義…".into(), "通…".into(), "通義".into())
        );
        assert_eq!((cut_start("通義千問", 5), cut_start("通義千問", 4)), ("…千問".to_owned(), "…問".to_owned()));
        assert_eq!((cut("通", 1), cut_start("通", 1), cut("通", 0)), ("…".to_owned(), "…".to_owned(), String::new()));
        // An accent stays with its letter.
        assert_eq!((cut("e\u{301}te", 2), cut_start("me\u{301}t", 2)), ("e\u{301}…".to_owned(), "…t".to_owned()));
        assert_eq!(cut_start("ame\u{301}t", 3), "…e\u{301}t");
        assert_eq!(wrap("通義 千問 a", 5), ["通義", "千問", "a"]);
        assert_eq!(wrap("通義千問", 5), ["通義", "千問"]);
        assert_eq!(wrap("a 通義", 1), ["a", "通", "義"]);
    }

    proptest! {
        #[test]
        fn cut_text_fits_and_keeps_its_end(text in "[a-zé通\u{301}]{0,30}", columns in 0usize..20) {
            for (cut, kept) in [(cut(&text, columns), false), (cut_start(&text, columns), true)] {
                prop_assert!(width(&cut) <= columns.max(width(&text).min(columns)), "{cut}");
                if width(&text) <= columns {
                    prop_assert_eq!(&cut, &text);
                } else if columns > 1 {
                    let rest = cut.trim_matches('…');
                    prop_assert!(width(&cut) + 2 > columns, "{}", cut);
                    let ends = if kept { text.ends_with(rest) } else { text.starts_with(rest) };
                    prop_assert!(ends, "{}", cut);
                }
            }
        }

        #[test]
        fn wrapped_text_fits_and_loses_nothing(text in "[a-z 通]{0,80}", columns in 2usize..20) {
            let lines = wrap(&text, columns);
            prop_assert!(lines.iter().all(|line| width(line) <= columns));
            let letters = |s: &str| s.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
