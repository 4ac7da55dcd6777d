//! Names of figures that are calls and divisions: `torch.cuda.memory_allocated() / 1024**3 = 3.57`.

use std::borrow::Cow;

use super::scan::{of_bytes, unit};
use crate::ascii::regex;

/// `text` without the calls and divisions that it names its figures by, and what they were divided by:
/// `memory_allocated()/1e9: 3.57`. `None` for code.
pub(super) fn spelled_out(text: &str) -> Option<(Cow<'_, str>, Option<u64>)> {
    let calls = text.contains('(')
        && ["memory_allocated", "memory_reserved", "memory_cached"].iter().any(|name| text.contains(name));
    let divides =
        || text.split('/').skip(1).any(|rest| rest.trim_start_matches(['/', ' ', '(']).starts_with(['1', '2']));
    if !calls && !divides() {
        return Some((text.into(), None));
    }
    let divisor = regex!(
        r"\s*/{1,2}\s*\(?\s*(?:1e(\d{1,2})|10\s?(?:\*\*|\^)\s?(\d)|1024(?:\.0)?\s?(?:\*\*|\^)\s?(\d)|2\s?(?:\*\*|\^)\s?(\d0)|1\s?<<\s?(\d0)|(1024|1_?000_?000_?000|1_?000_?000|1000))(?:\.0)?\b\s*\)?"
    );
    let (mut out, mut from, mut scale) = (String::new(), 0, None);
    for found in divisor.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        // `512/1024 MB` is an amount of a total: only words, calls and other divisions are divided.
        let before = text[..whole.start()].trim_end();
        let divided = from == whole.start() && from > 0;
        let word = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if unit(word).is_some() || matches!(word, "G" | "M") {
            continue;
        }
        if !divided && !before.ends_with(|c: char| c.is_alphabetic() || matches!(c, ')' | '_' | ']')) {
            continue;
        }
        let power = |at: usize| found.get(at).and_then(|power| power.as_str().parse::<u32>().ok());
        let by = match (power(1).or(power(2)), power(3), power(4).or(power(5))) {
            (Some(ten), ..) => 10u64.checked_pow(ten),
            (_, Some(kibi), _) => 1024u64.checked_pow(kibi),
            (.., Some(two)) => 2u64.checked_pow(two),
            _ => found.get(6).and_then(|plain| plain.as_str().replace('_', "").parse().ok()),
        };
        scale = Some(by?.checked_mul(scale.filter(|_| divided).unwrap_or(1))?);
        out.push_str(&text[from..whole.start()]);
        from = whole.end();
    }
    out.push_str(&text[from..]);
    let calls = regex!(r"(memory_(?:allocated|reserved|cached)\w*)\([^()]{0,40}\)(\s*[:=]\s*|\s+|, *)(\d)");
    let text = calls.replace_all(&out, "$1$2$3").into_owned();
    // What is left of a call is code.
    let code = regex!(r"memory_(?:allocated|reserved|cached)\w*\(").is_match(&text);
    (!code).then_some((text.into(), scale))
}

/// The unit that a title gives to the figures below it: `[after 20 iterations] memory (MB)`.
pub(super) fn titled(said: &str) -> Option<u64> {
    let title = said.trim_end_matches([':', ' ', '-', '=']).strip_suffix([')', ']'])?;
    let (words, unit) = title.rsplit_once(['(', '['])?;
    let named = ["emory", "mem ", "llocated", "eserved"].iter().any(|name| words.contains(name));
    of_bytes(unit.strip_prefix("in ").unwrap_or(unit))
        .filter(|(_, rest)| named && rest.is_empty())
        .map(|(size, _)| size)
}
