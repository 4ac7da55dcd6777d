//! Amounts of memory in the words of people: `1.2 to 4 GB`, `112Mi`, `2.6g`.

use super::regex;

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
                push(bare, bare.end(), &one["of"]);
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
    fn amounts_are_found_in_any_spelling() {
        let mib = |text: &str| amounts(text).iter().map(|one| (one.bytes / 1048576.0) as u64).collect::<Vec<_>>();
        assert_eq!(mib("from 1.5 to 4 GB, 112Mi, 2.0g RSS and 1,024 KiB"), [1536, 4096, 112, 2048, 1]);
        assert_eq!(mib("v2.4g, 300 MB/s, 5m rows, gemma3-4b, 7 GBps"), [] as [u64; 0]);
    }
}
