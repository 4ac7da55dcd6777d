//! Lines that people print themselves: `Allocated: 4.5 GB, Reserved: 8.5 GB`, `mem=12.3GiB`, loops of nvidia-smi.
//!
//! A line is telemetry if it has a word for a kind of memory and, before or after it, a number with a unit of bytes (or
//! a whole number of bytes). Words and numbers keep one order throughout a line.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Captures;

use super::bare;
use super::figure::Figure;
use super::kind::{is_of_a_gpu, kind};
use super::label;
use super::line::Line;
use super::marks::Words;
use super::runtimes;
use super::sample::{Format, Metric, Sample};
use super::scan::{LEAST_BYTES, Number, number, of_bytes};
use super::spelled::{spelled_out, titled};
use crate::ascii::regex;

mod calls;
mod listed;
mod names;
mod unitless;

use calls::{information, is_of_the_host, on_host};
use listed::{listed, reserved};
use names::{FIGURES, NAMES, column, device_of, rank_of, row_of_a_gpu, step, step_of};
use unitless::without_units;

/// Texts of lines that mention memory and are not telemetry: errors, warnings, requirements, kernel logs, code,
/// downloads.
const OTHER: [&str; 35] = [
    "work_mem",
    "reserved for KV",
    "out of memory",
    "OutOf",
    " to allocate",
    "educe memory",
    "anon-rss",
    "total-vm",
    "oom",
    "OOM",
    "print(",
    "f\"",
    "f'",
    "ownload",
    "unallocated",
    "MemTotal",
    "enough memory",
    "ot enough",
    "kernel code",
    "block size",
    "heap usage:",
    "Billed Duration",
    "estimat",
    "ailed to",
    "annot ",
    "nable to",
    "ould not",
    "nsufficient",
    "xceed",
    "equire",
    "large alloc",
    "onsider ",
    "ecommend",
    "achine with ",
    "bad_alloc",
];

/// A number with a unit, and the text around it.
struct Quantity<'a> {
    /// The text between the previous quantity and this one.
    before: &'a str,
    number: Number<'a>,
    unit: Option<u64>,
}

/// The most readings of a line: GPUs of a machine.
const READINGS: usize = 16;

/// The most quantities of a line.
const MOST_QUANTITIES: usize = 32;

/// Reads a line that a person's own code printed; `said` is the last text that is not a figure. A line may have the
/// figures of several devices or phases.
pub(super) fn plain(line: &Line<'_>, said: &str) -> Vec<Sample> {
    let text = line.message();
    if let Some((metric, figure, label)) = runtimes::read(text) {
        return line.reading(metric, Some(figure), Some(label.into_owned())).into_iter().collect();
    }
    // An option with its help or value is a setting, not a reading.
    static OTHERS: LazyLock<Words> = LazyLock::new(|| Words::list(&OTHER));
    if text.starts_with("--") || OTHERS.set(text) != 0 {
        return Vec::new();
    }
    let Some((text, scale)) = spelled_out(text) else { return Vec::new() };
    let scale = scale.or_else(|| titled(said));
    let text = ungrouped(reserved(text));
    let quantities = quantities(&text);
    let mut figures = information(&text, &quantities);
    if figures.is_empty() {
        figures = listed(&quantities);
    }
    if figures.is_empty() {
        figures = pairs(&text, &quantities);
    }
    if figures.is_empty() {
        figures = words(&text, &quantities, scale);
    }
    if figures.is_empty() {
        return bare::read(line, &text, said).into_iter().collect();
    }
    let prefix = &line.text[..offset_of(&line.text, line.message())];
    let lower = text.to_ascii_lowercase();
    let first = NAMES.first(&lower);
    let step = step(&lower, &first).or_else(|| step_of(prefix));
    let of_the_host = is_of_the_host(&lower);
    let groups = grouped(&quantities, figures);
    let several = groups.len() > 1;
    let mut samples = Vec::with_capacity(groups.len());
    for (index, group) in groups {
        let peaks = |(metric, _): &(Metric, Figure)| {
            matches!(metric, Metric::MaxAllocated | Metric::MaxReserved | Metric::HostPeak)
        };
        let of_peaks = group.iter().all(peaks);
        let mut sample = Sample::new(Format::Plain, line.position);
        for (metric, figure) in group {
            sample.with(if of_the_host { on_host(metric) } else { metric }, Some(figure));
        }
        let own = quantities[index].before;
        (sample.step, sample.device) = (step, device_of(own));
        let end = offset(&text, &quantities[index]);
        // More data takes more, and so do more clients.
        if label::is_of_data(&text[..end]) || !several && label::counts_work(&text) {
            continue;
        }
        if several {
            sample.label = label::of(own);
        } else {
            let others = || device_of(&text).or_else(|| device_of(prefix)).or_else(|| row_of_a_gpu(line, said));
            sample.device = sample.device.or_else(others).or_else(|| column(&text, &quantities));
            let named = FIGURES.into_iter().filter_map(|word| Some(first[word]?.0)).min();
            sample.label = label::right_before(own)
                .or_else(|| label::before(&text, named.map(|at| at.min(end))))
                .or_else(|| label::placed(&text[..end]))
                .or_else(|| label::in_brackets(prefix))
                .or_else(|| label::behind(&text))
                .or_else(|| label::said(said));
        }
        // The peak of one size is compared with none of another.
        if of_peaks && let Some(size) = label::sized(&text) {
            sample.label = Some(size);
        }
        sample.rank = rank_of(&text);
        if names::begins_with_a_version(&text) {
            sample.format = Format::Versions;
        }
        line.sign(&mut sample);
        samples.push(sample);
    }
    samples
}

/// `text` with numbers in one piece whose digits stand in groups before a unit: `6,979,321,856 bytes`.
fn ungrouped(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(',') {
        return text;
    }
    // Or millions, which need no unit.
    let grouped = regex!(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)? ?(?:[kKMGT]i?B|bytes|B)\b|\b\d{1,3}(?:,\d{3}){2,}\b");
    let joined = match grouped.replace_all(&text, |found: &Captures<'_>| found[0].replace(',', "")) {
        Cow::Borrowed(_) => None,
        Cow::Owned(joined) => Some(joined),
    };
    joined.map_or(text, Cow::Owned)
}

/// The figures of one reading after another: an amount of a kind that was read begins another reading, if it has words
/// of its own. Each has the index of its first quantity.
fn grouped(quantities: &[Quantity<'_>], figures: Vec<(usize, Metric, Figure)>) -> Vec<(usize, Vec<(Metric, Figure)>)> {
    let mut groups: Vec<(usize, Vec<(Metric, Figure)>)> = Vec::new();
    for (index, metric, figure) in figures {
        let known = groups.last().is_some_and(|(_, group)| group.iter().any(|(other, _)| *other == metric));
        let own = quantities[index].before;
        let apart = || device_of(own).is_some() || label::of(own).is_some();
        let full = groups.len() >= READINGS;
        match groups.last_mut() {
            Some((_, group)) if !known => group.push((metric, figure)),
            Some(_) if full || !apart() => {}
            _ => groups.push((index, vec![(metric, figure)])),
        }
    }
    groups
}

/// The numbers of `text`, each with its unit if it has one.
fn quantities(text: &str) -> Vec<Quantity<'_>> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(next) = text[at..].find(|c: char| c.is_ascii_digit()).map(|next| at + next) {
        // Digits of a name (`fp16`, `cuda:0`, `A100`) are not a number; those of a longer number are skipped with it.
        let named = text[..next].ends_with(|c: char| c.is_alphabetic() || c == '_')
            || counts_devices(&text[..next])
            || is_of_a_name(&text[..next]);
        let Some(number) = number(&text[next..]) else { break };
        let end = text.len() - number.rest.len();
        at = end.max(next + 1);
        if named || found.len() >= MOST_QUANTITIES {
            continue;
        }
        let unit = of_bytes(number.rest);
        let before = &text[start..next];
        if let Some((_, rest)) = unit {
            at = text.len() - rest.len();
        }
        start = at;
        found.push(Quantity { before, number, unit: unit.map(|unit| unit.0) });
    }
    found
}

/// Whether a number behind `text` belongs to a name that ends with it: `A100-SXM4-40GB`.
fn is_of_a_name(text: &str) -> bool {
    let name = text.strip_suffix('-').filter(|name| name.ends_with(|c: char| c.is_ascii_alphanumeric()));
    let word = name.and_then(|name| name.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '-').next());
    word.is_some_and(|word| word.contains(|c: char| c.is_ascii_uppercase()))
}

/// Whether a number behind `text` is that of a device or of a process.
fn counts_devices(text: &str) -> bool {
    ["cuda:", "gpu ", "gpu:", "gpu[", "gpu #", "device ", "device:", "rank "].iter().any(|name| {
        let start = text.len().checked_sub(name.len());
        start.and_then(|start| text.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(name))
    })
}

/// Amounts with their totals, of GPUs: `4567MiB / 81920MiB`, `4567 MiB, 81920 MiB`, `GPU0 3.1/24.0 GB`.
fn pairs(text: &str, quantities: &[Quantity<'_>]) -> Vec<(usize, Metric, Figure)> {
    let mut found = Vec::new();
    let figures = |index: usize, size: u64, found: &mut Vec<_>| {
        let (used, total) = (&quantities[index].number, &quantities[index + 1].number);
        let both = [(Metric::DeviceUsed, used.figure(size)), (Metric::DeviceTotal, total.figure(size))];
        found.extend(both.into_iter().filter_map(|(metric, figure)| Some((index, metric, figure?))));
    };
    for (index, pair) in quantities.windows(2).enumerate() {
        let [used, total] = pair else { continue };
        let worded = kind(used.before).is_some() || text.contains("llocated");
        let (Some(size), between) = (total.unit, total.before.trim()) else { continue };
        if worded || used.number.value > total.number.value || used.unit.is_some_and(|unit| unit != size) {
            continue;
        }
        let mebibytes = size == 1 << 20 && used.unit.is_some();
        match between {
            "/" if mebibytes || is_of_a_gpu(text) => figures(index, size, &mut found),
            // nvidia-smi prints whole MiB.
            "," if mebibytes && used.number.decimals == 0 && found.is_empty() => figures(index, size, &mut found),
            _ => {}
        }
    }
    found
}

/// Pairs each quantity with the word before it, or with the word after it if the first has no word before it. Numbers
/// without a unit are amounts of `scale` bytes.
fn words(text: &str, quantities: &[Quantity<'_>], scale: Option<u64>) -> Vec<(usize, Metric, Figure)> {
    let sized = |quantity: &Quantity<'_>| quantity.unit.or_else(|| unit_of_key(quantity.before));
    let behind = |index: usize| {
        let quantity = &quantities[index];
        let rest = match quantity.unit {
            Some(_) => of_bytes(quantity.number.rest).map_or("", |(_, rest)| rest),
            None => quantity.number.rest,
        };
        let end = quantities
            .get(index + 1)
            .map_or(rest.len(), |next| rest.len().min(offset(text, next) - offset_of(text, rest)));
        let own = rest[..end].split([',', ';', '|']).next().unwrap_or("");
        // `12.31 GiB allocated (peak 12.90 GiB)`: the bracket has words of its own.
        let bracket = own.find('(').filter(|&at| own[..at].contains(char::is_alphabetic));
        bracket.map_or(own, |at| &own[..at])
    };
    let mut kinds: Vec<Option<Metric>> = quantities.iter().map(|quantity| kind(quantity.before)).collect();
    for index in 0..quantities.len() {
        // `RSS after step 1: 18.0 GB`: the words before the count are those of the amount.
        if let Some(counted) = counted(quantities, index).filter(|counted| kinds[*counted].is_some()) {
            kinds[index] = kinds[counted].take();
        }
        // `rss(8 workers) 11.9GB`: the count is one of the words.
        let bracket = |at: usize, end: char| quantities[at].before.trim_end().ends_with(end);
        if kinds[index].is_none() && index > 0 && bracket(index - 1, '(') && bracket(index, ')') {
            kinds[index] = kinds[index - 1].take();
        }
        // `gpu0: 12.3GB used`: the device stands before the amount, and what it is behind.
        if kinds[index].is_none() && quantities[index].unit.is_some() && device_of(quantities[index].before).is_some() {
            let own = behind(index);
            kinds[index] = kind(&format!("{} memory {own}", quantities[index].before)).filter(|_| states(own));
        }
    }
    // `RAM: 18.02GB  GPU: 12.31GB`; the size of a GPU as it is sold has no decimals.
    for (quantity, kind) in quantities.iter().zip(&mut kinds) {
        let name = quantity.before.trim_end_matches([' ', ':', '=']).rsplit([' ', ',', '|', ';']).next();
        let measured = quantity.unit.is_some() && quantity.number.decimals > 0;
        if kind.is_none() && measured && name.is_some_and(|name| name.eq_ignore_ascii_case("gpu")) {
            // Beside a loss it is what the training holds.
            let trains = text.contains("loss=") || text.contains("loss:");
            *kind = Some(if trains { Metric::Allocated } else { Metric::DeviceUsed });
        }
    }
    // `gpu[0] used=12.3GB free=3.1GB`: what the first amount is of, the others are of.
    for index in 1..quantities.len() {
        if matches!(kinds[index - 1], Some(Metric::DeviceUsed | Metric::DeviceFree | Metric::DeviceTotal)) {
            let alone = quantities[index].before.trim_matches(|c: char| !c.is_alphabetic());
            kinds[index] = kinds[index].or(match alone {
                "used" => Some(Metric::DeviceUsed),
                "free" => Some(Metric::DeviceFree),
                "total" => Some(Metric::DeviceTotal),
                _ => None,
            });
        }
    }
    let first = quantities.iter().zip(&kinds).position(|(quantity, kind)| sized(quantity).is_some() || kind.is_some());
    let Some(first) = first else { return Vec::new() };
    // `memory: 3.2 GB allocated / 4.5 GB reserved`: each amount has its own word behind it.
    let own = |index: usize| {
        let behind = behind(index);
        (!behind.trim_end().ends_with([':', '='])).then_some(behind)
    };
    let mut amounts = (0..quantities.len()).filter(|&index| sized(&quantities[index]).is_some()).peekable();
    let trailing = amounts.peek().is_some() && amounts.all(|index| own(index).and_then(kind).is_some());
    let leading = kinds[first].is_some() && !trailing;
    let mut found: Vec<(usize, Metric, Figure)> = Vec::new();
    let mut bare: Vec<(usize, Metric)> = Vec::new();
    for (index, quantity) in quantities.iter().enumerate() {
        // `peak 12.9 GiB, 12.3 GiB allocated`: words on either side.
        let also = || own(index).filter(|words| quantity.unit.is_some() && states(words)).and_then(kind);
        let named = if leading { kinds[index].or_else(also) } else { own(index).and_then(kind).or(kinds[index]) };
        let divided = quantity.before.trim() == "/" && index > 0;
        // `12.3/80.0 GB`: only the second number has a unit.
        let next = quantities.get(index + 1).filter(|next| next.before.trim() == "/").and_then(|next| next.unit);
        let unit = sized(quantity).or(next).or(scale);
        let metric = if divided { Some(Metric::DeviceTotal).filter(|_| !found.is_empty()) } else { named };
        let bytes = quantity.number.value >= LEAST_BYTES && quantity.number.decimals <= 0;
        // getrusage counts in KiB.
        let plain = if quantity.before.contains("maxrss") { 1 << 10 } else { 1 };
        match (metric, unit.or(bytes.then_some(plain))) {
            (Some(metric), Some(unit)) => {
                found.extend(quantity.number.figure(unit).map(|figure| (index, metric, figure)));
            }
            (Some(metric), None) => bare.push((index, metric)),
            _ => {}
        }
    }
    if found.is_empty() {
        found = without_units(quantities, &bare);
    }
    found
}

/// The count that stands between the amount at `index` and its words: `after step 1: ` or `epoch 3/10 = `.
fn counted(quantities: &[Quantity<'_>], index: usize) -> Option<usize> {
    let apart = |quantity: &Quantity<'_>| !quantity.before.contains(char::is_alphabetic);
    let sized = quantities[index].unit.is_some() && apart(&quantities[index]) && index > 0;
    let first = (0..index).rev().find(|&before| !apart(&quantities[before])).filter(|_| sized)?;
    let word = quantities[first].before.trim_end_matches(|c: char| !c.is_alphabetic());
    let word = word.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let counts = ["step", "steps", "epoch", "iteration", "iter", "batch", "round", "phase", "stage", "layer", "run"];
    let alone = quantities[first..index].iter().all(|count| count.unit.is_none() && count.number.decimals <= 0);
    (alone && counts.iter().any(|count| word.eq_ignore_ascii_case(count))).then_some(first)
}

/// Whether the words behind an amount begin with what it is.
fn states(behind: &str) -> bool {
    let word = behind.trim_start_matches([' ', '(', '[']);
    let word = &word[..word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len())];
    ["used", "free", "allocated", "reserved", "total", "in", "available", "avail", "cached", "peak"]
        .iter()
        .any(|state| word.eq_ignore_ascii_case(state))
        && (!word.eq_ignore_ascii_case("in") || behind.trim_start().starts_with("in use"))
}

/// Where a part of `text` begins in it.
fn offset_of(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

fn offset(text: &str, quantity: &Quantity<'_>) -> usize {
    offset_of(text, quantity.before) + quantity.before.len()
}

/// A unit in the words before a number: `allocated_gb=`, `Memory (MiB):`, `memory.rssMB:`, `gb_free=`.
fn unit_of_key(key: &str) -> Option<u64> {
    let key = key.trim_end_matches([' ', ':', '=', ')', ']', '\'', '"', '|']);
    let name = key.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()?;
    let word = match name.strip_prefix("gb_") {
        Some(_) => "gb",
        None => key.rsplit(|c: char| !c.is_ascii_alphabetic()).next()?,
    };
    let word = ["Bytes", "MB", "GB"].into_iter().find(|unit| word.len() > 2 && word.ends_with(unit)).unwrap_or(word);
    match word.to_ascii_lowercase().as_str() {
        "bytes" => Some(1),
        "kb" | "kib" | "kbytes" => Some(1 << 10),
        "mb" | "mib" => Some(1 << 20),
        "gb" | "gib" => Some(1 << 30),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
