//! Lines as the readers of rows want them: numbers without gaps, units beside their amounts, and nothing that a terminal
//! left.

use std::borrow::Cow;

use ::regex::Captures;

use super::amount;
use super::numbers;
use super::regex;
use super::tongue::Language;
use crate::window::drawn;

/// The lines of `text`.
pub(super) fn lines(text: &str, language: Language) -> Vec<Cow<'_, str>> {
    let spaced = regex!(
        r"(?P<before>^|\s{2,}|\t|[=:|(\x{2013}\x{2014}-] )(?P<number>\d{1,3}(?: \d{3})+ ?[kKMG]i?B|\d{1,3}(?:,\d{3})+[KMG](?:i?B)?)\b"
    );
    // `0 412 MiB` counts from nothing: a count stands before each amount.
    let counted = regex!(r"(?m)^0 \d").is_match(text);
    let joined = |found: &Captures<'_>| match &found["before"] {
        "" if counted => found[0].to_owned(),
        before => format!("{before}{}", found["number"].replace([' ', ','], "")),
    };
    let closed = |line| match amount::plain(language.in_english(line)) {
        Cow::Borrowed(line) => numbers::closed(spaced.replace_all(line, joined)),
        Cow::Owned(line) => numbers::closed(Cow::Owned(spaced.replace_all(&line, joined).into_owned())),
    };
    let mut plain: Vec<Cow<'_, str>> = text.lines().map(|line| closed(drawn(line))).collect();
    plain.iter_mut().for_each(shared);
    // `1,42 GB`: no group of digits is as short.
    let decimal = regex!(r"\b(\d{1,3}),(\d{1,2} ?[kKMGT]i?B)\b");
    for line in plain.iter_mut().filter(|line| decimal.is_match(line)) {
        *line = decimal.replace_all(line, "$1.$2").into_owned().into();
    }
    // An amount alone on its line belongs to the name above it.
    let alone = |line: &str| regex!(r"^\s*\d[\d.,]* ?[KMGT]i?B\s*$").is_match(line);
    for at in 1..plain.len() {
        if plain[at - 1].ends_with(':') && alone(&plain[at]) {
            plain[at] = format!("{} {}", plain[at - 1], plain[at].trim()).into();
        }
    }
    plain
}

/// Reads what a row shares with its neighbours: the role of a version in its cell makes rows differ that are of the same
/// thing, and `pmap -x` names the unit once.
fn shared(line: &mut Cow<'_, str>) {
    let role =
        regex!(r"(\|\s*v?\d+(?:\.\d+)+) (?:baseline|base|current|control|candidate|latest|stable|new|old)(\s*\|)");
    let total = regex!(r"\btotal kB((?:\s+\d+){1,4})\s*$");
    if role.is_match(line) {
        *line = role.replace(line, "$1$2").into_owned().into();
    } else if let Some(found) = total.captures(line) {
        let amounts: String = found[1].split_whitespace().map(|amount| format!("  {amount} kB")).collect();
        *line = format!("{}total{amounts}", &line[..found.get(0).map_or(0, |all| all.start())]).into();
    }
}
