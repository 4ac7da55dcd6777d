//! [`required`]: the words that a text must hold for a pattern to match it.

use regex_syntax::hir::{Class, Hir, HirKind};

/// How many words a pattern may require one of.
const WORDS: usize = 48;

/// Letters that Unicode takes for `s` and `k` where case does not matter. The words that are required do not have
/// them: a text that has one may match whatever its words are.
pub(super) const FOLDED: [char; 2] = ['\u{17f}', '\u{212a}'];

fn shortest(words: &[Vec<u8>]) -> usize {
    words.iter().map(Vec::len).min().unwrap_or(0)
}

/// The more selective of two sets of words: that whose shortest word is longer.
fn better(one: Option<Vec<Vec<u8>>>, other: Option<Vec<Vec<u8>>>) -> Option<Vec<Vec<u8>>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if shortest(&other) > shortest(&one) { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// Words of at least `length` bytes of which every match of `hir` holds one, in lower case; `None` if there are none, or
/// too many.
pub(super) fn required(hir: &Hir, length: usize) -> Option<Vec<Vec<u8>>> {
    selective(hir).filter(|words| shortest(words) >= length)
}

fn selective(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    exact(hir).or_else(|| match hir.kind() {
        HirKind::Capture(capture) => selective(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => selective(&repetition.sub),
        HirKind::Alternation(all) => {
            let words: Option<Vec<_>> = all.iter().map(selective).collect();
            words.map(|words| distinct(words.concat())).filter(|words| words.len() <= WORDS)
        }
        HirKind::Concat(parts) => {
            // Neighbours that are known exactly make longer words.
            let (mut best, mut run) = (None, Some(vec![Vec::new()]));
            for part in parts {
                let longer = exact(part).and_then(|next| product(run.as_ref()?, &next));
                if longer.is_none() {
                    best = better(better(best, run.take()), selective(part));
                    run = exact(part);
                } else {
                    run = longer;
                }
                run = run.or_else(|| Some(vec![Vec::new()]));
            }
            better(best, run)
        }
        _ => None,
    })
}

/// All that `hir` matches, in lower case, if that is a few words.
fn exact(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![Vec::new()]),
        HirKind::Literal(literal) => Some(vec![literal.0.to_ascii_lowercase()]),
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.iter().map(|range| range.start()..=range.end());
            let bytes: Vec<Vec<u8>> = ranges.flatten().take(256).map(|byte| vec![byte.to_ascii_lowercase()]).collect();
            Some(distinct(bytes)).filter(|bytes| bytes.len() <= 4)
        }
        HirKind::Class(Class::Unicode(class)) => {
            // The two letters that Unicode folds to `k` and `s`: see [`FOLDED`].
            let chars = class.iter().flat_map(|range| range.start()..=range.end());
            let chars = chars.take(256).filter(|letter| !FOLDED.contains(letter));
            let words = chars.map(|letter| letter.to_ascii_lowercase().to_string().into_bytes()).collect();
            Some(distinct(words)).filter(|words| words.len() <= 4)
        }
        HirKind::Capture(capture) => exact(&capture.sub),
        HirKind::Repetition(repetition) if repetition.max == Some(1) => {
            let mut words = exact(&repetition.sub)?;
            words.extend((repetition.min == 0).then(Vec::new));
            Some(words)
        }
        HirKind::Repetition(_) => None,
        HirKind::Concat(parts) => parts.iter().try_fold(vec![Vec::new()], |words, part| product(&words, &exact(part)?)),
        HirKind::Alternation(all) => {
            let words: Option<Vec<_>> = all.iter().map(exact).collect();
            words.map(|words| distinct(words.concat())).filter(|words| words.len() <= WORDS)
        }
    }
}

/// Each word of `one` followed by each of `other`, if these are few.
fn product(one: &[Vec<u8>], other: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    (one.len() * other.len() <= WORDS).then(|| {
        distinct(one.iter().flat_map(|start| other.iter().map(move |end| [&start[..], end].concat())).collect())
    })
}

fn distinct(mut words: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use regex_syntax::ParserBuilder;

    use super::*;

    fn words(pattern: &str) -> Vec<String> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(pattern).unwrap();
        let words = required(&hir, 1).unwrap_or_default();
        words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect()
    }

    #[test]
    fn what_a_pattern_requires_is_its_most_selective_part() {
        for (pattern, required) in [
            (r"\bvllm\b|EngineCore_", &["enginecore_", "vllm"][..]),
            (r"(?i)Out of memory", &["out of memory"]),
            (r"^\s*\d+ (?:MiB|GiB) were refused(?: at once)?$", &[" gib were refused", " mib were refused"]),
            (r"colou?r \d", &["color ", "colour "]),
            (r"a[bc]{2}\d+(tail)+", &["tail"]),
            (r"\d+", &[]),
            (r"either|\d+", &[]),
            (r"(?:optional)?x", &["optionalx", "x"]),
        ] {
            let mut found = words(pattern);
            // What follows optional words is among them.
            found.retain(|word| !word.contains(" at once"));
            assert_eq!(found, required, "{pattern}");
        }
    }
}
