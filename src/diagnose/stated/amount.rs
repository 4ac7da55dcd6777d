//! Amounts of memory in the words of people: `1.2 to 4 GB`, `112Mi`, `2.6g`.

use std::borrow::Cow;

use ::regex::Captures;

use super::regex;

/// A line whose amounts have English units, neither blanks within their numbers nor commas before decimals:
/// `1 093 МБ` is `1093 MB`, `2,4 Go` is `2.4 GB`.
pub(super) fn plain(line: Cow<'_, str>) -> Cow<'_, str> {
    let french = regex!(r"\d ?[KMGT]i?o\b");
    if line.is_ascii() && !french.is_match(&line) {
        return line;
    }
    let grouped = regex!(r"[1-9]\d{0,2}(?:[\x{a0}\x{202f}\x{2009}]\d{3})+");
    let closed = grouped.replace_all(&line, |found: &Captures<'_>| found[0].replace(is_gap, ""));
    let foreign = regex!(
        r"(?P<whole>[1-9]\d{0,2}(?: \d{3})+|\d+)(?:[.,](?P<part>\d{1,2}))?[ \x{a0}\x{202f}\x{2009}]?(?P<unit>[ГМК]и?[Бб]|[Гг]иг\pL*|[Мм]ег\pL*|[KMGT]i?o\b|ギガ(?:バイト)?|メガ(?:バイト)?|기가(?:바이트)?|메가(?:바이트)?)"
    );
    // A version of Go is no amount.
    let go = regex!(r"^1\.\d\d Go");
    let english = |found: &Captures<'_>| {
        if go.is_match(&found[0]) {
            return found[0].to_owned();
        }
        let part = found.name("part").map_or(String::new(), |part| format!(".{}", part.as_str()));
        let unit = match found["unit"].chars().next() {
            Some('Г' | 'г' | 'ギ' | '기') => 'G',
            Some('М' | 'м' | 'メ' | '메') => 'M',
            Some('К') => 'K',
            other => other.unwrap_or_default(),
        };
        format!("{}{part} {unit}B", found["whole"].replace(is_gap, ""))
    };
    Cow::Owned(foreign.replace_all(&closed, english).into_owned())
}

/// Whether a blank may stand between the digits of a number.
fn is_gap(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// An amount in a text.
pub(super) struct Amount {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) bytes: f64,
}

/// The bytes of a unit, which is binary in every spelling.
pub(super) fn unit(name: &str) -> f64 {
    match name.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'k') => f64::from(1u32 << 10),
        Some(b'm') => f64::from(1u32 << 20),
        Some(b'g') => f64::from(1u32 << 30),
        Some(b't') => (1u64 << 40) as f64,
        _ => 1.0,
    }
}

/// The amounts in `text`: the first of `1.2 to 4 GB` has the unit of the second.
pub(super) fn amounts(text: &str) -> Vec<Amount> {
    let written = regex!(
        r"(?i)(?P<number>\d+(?:,\d{3})*(?:\.\d+)?) ?(?P<unit>[kmgt]i?b|[kmg]i|bytes|g|m|gigs?|megs?|gigabytes?|megabytes?|kilobytes?)\b|(?P<bare>\d+(?:\.\d+)?)(?: ?(?:-|\x{2013}|to|->|\x{2192}) ?)(?P<next>\d+(?:\.\d+)?) ?(?P<of>[kmgt]i?b|[kmg]i|g|m)\b"
    );
    let mut found = Vec::new();
    for one in written.captures_iter(text) {
        let whole = one.get(0).expect("the match");
        // A part of a name or of a version, a speed, a count.
        let named = text[..whole.start()].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '$'));
        let rest = &text[whole.end()..];
        let fast = rest.starts_with("/s") || rest.starts_with("ps");
        let counted = whole.as_str().ends_with(['m', 'M', 'g']) && regex!(r"^ [a-z]+s\b").is_match(rest);
        if named || fast || counted {
            continue;
        }
        let mut push = |number: regex::Match<'_>, end: usize, of: &str| {
            let value = number.as_str().replace(',', "").parse::<f64>();
            found.extend(value.map(|value| Amount { start: number.start(), end, bytes: value * unit(of) }));
        };
        match (one.name("number"), one.name("bare"), one.name("next")) {
            (Some(number), ..) => push(number, whole.end(), &one["unit"]),
            (_, Some(bare), Some(next)) => {
                // `21:14 -> 1104M` begins with a time.
                if !regex!(r"\d:$").is_match(&text[..bare.start()]) {
                    push(bare, bare.end(), &one["of"]);
                }
                push(next, whole.end(), &one["of"]);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_other_languages_are_written_as_in_english() {
        for (line, expected) in [
            ("20:00 \u{2014} 1 093 МБ", "20:00 \u{2014} 1093 MB"),
            ("2,4 Go puis 3,1 Go", "2.4 GB puis 3.1 GB"),
            ("RSS 1\u{202f}744 MiB", "RSS 1744 MiB"),
            ("уже 7 гигов", "уже 7 GB"),
            ("\u{30e1}\u{30e2}\u{30ea} 512 \u{30e1}\u{30ac}", "\u{30e1}\u{30e2}\u{30ea} 512 MB"),
            ("GPU 0 412 MiB, 3 go, since 1.22 Go", "GPU 0 412 MiB, 3 go, since 1.22 Go"),
        ] {
            assert_eq!(plain(line.into()), expected);
        }
    }

    #[test]
    fn amounts_are_found_in_any_spelling() {
        let mib = |text: &str| amounts(text).iter().map(|one| (one.bytes / 1048576.0) as u64).collect::<Vec<_>>();
        assert_eq!(mib("from 1.5 to 4 GB, 112Mi, 2.0g RSS and 1,024 KiB"), [1536, 4096, 112, 2048, 1]);
        assert_eq!(mib("v2.4g, 300 MB/s, 5m rows, gemma3-4b, 7 GBps"), [] as [u64; 0]);
    }
}
