//! Amounts whose words stand together in brackets: `memory (allocated/reserved): 4.0/5.5 GB`, `4.0 | 5.5 GB (alloc | peak)`.

use std::borrow::Cow;

use super::{Figure, Metric, Quantity, kind, of_bytes, unit_of_key};

/// What stands between words or amounts of a list.
const BETWEEN: [char; 3] = ['/', '|', ','];
/// The most amounts of a list.
const MOST_AMOUNTS: usize = 4;

/// The amounts of the first list of `text`, each with what its word says.
pub(super) fn listed(quantities: &[Quantity<'_>]) -> Vec<(usize, Metric, Figure)> {
    let follows = |index: usize| quantities.get(index).is_some_and(|next| is_between(next.before));
    let runs = (0..quantities.len()).filter(|&index| !follows(index));
    let found = runs.filter_map(|first| {
        let end = (first + 1..=quantities.len()).find(|&index| !follows(index))?;
        of_run(first, &quantities[first..end])
    });
    found.into_iter().next().unwrap_or_default()
}

/// Whether nothing but a unit's end and a separator stands between two amounts.
fn is_between(text: &str) -> bool {
    text.trim().len() == 1 && text.contains(BETWEEN)
}

fn of_run(first: usize, run: &[Quantity<'_>]) -> Option<Vec<(usize, Metric, Figure)>> {
    if !(2..=MOST_AMOUNTS).contains(&run.len()) {
        return None;
    }
    let (before, last) = (run[0].before, run.last()?);
    let behind = of_bytes(last.number.rest).map_or(last.number.rest, |(_, rest)| rest);
    let metrics =
        [in_brackets(before), opened(behind)].into_iter().flatten().find_map(|list| words(list, run.len()))?;
    let unit = last.unit.or_else(|| unit_of_key(before))?;
    let figure = |(at, (quantity, metric)): (usize, (&Quantity<'_>, Metric))| {
        Some((first + at, metric, quantity.number.figure(quantity.unit.unwrap_or(unit))?))
    };
    run.iter().zip(metrics).enumerate().map(figure).collect()
}

/// The last words in brackets of a text that ends behind them: `memory (allocated/reserved): `.
fn in_brackets(text: &str) -> Option<&str> {
    let text = text.trim_end_matches([' ', ':', '=', '[']);
    let text = text.strip_suffix([')', ']'])?;
    text.rsplit_once(['(', '[']).map(|(_, inner)| inner)
}

/// The words in brackets that a text begins with.
fn opened(text: &str) -> Option<&str> {
    let text = text.trim_start().strip_prefix(['(', '['])?;
    text.split_once([')', ']']).map(|(inner, _)| inner)
}

/// What each of `count` words of a list says, if all say something else.
fn words(list: &str, count: usize) -> Option<Vec<Metric>> {
    let each = |word: &str| match word.trim().to_ascii_lowercase().as_str() {
        "res" => Some(Metric::Reserved),
        word => kind(word).or_else(|| kind(&format!("{word} memory"))),
    };
    let found: Vec<Metric> = list.split(BETWEEN).map(each).collect::<Option<_>>()?;
    let apart = found.iter().enumerate().all(|(at, metric)| !found[..at].contains(metric));
    (found.len() == count && apart).then_some(found)
}

/// `text`, in which `res` beside an allocation is what the allocator has reserved.
pub(super) fn reserved(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("alloc") {
        return text;
    }
    let is_word = |at: usize| {
        let apart = |c: char| !c.is_ascii_alphanumeric();
        text[..at].chars().next_back().is_none_or(apart) && text[at + 3..].chars().next().is_none_or(apart)
    };
    match text.match_indices("res").find(|(at, _)| is_word(*at)) {
        Some((at, _)) => format!("{}reserved{}", &text[..at], &text[at + 3..]).into(),
        None => text,
    }
}
