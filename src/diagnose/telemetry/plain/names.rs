//! What else a line of a person's own names: the step, the GPU, the rank.

use std::sync::LazyLock;

use super::super::line::Line;
use super::super::marks::Words;
use super::super::scan::whole;
use super::{Quantity, offset};
use crate::ascii::regex;

/// Words that come before a step, before a device, and before a figure.
pub(super) static NAMES: LazyLock<Words> = LazyLock::new(|| {
    Words::list(&[
        "step",
        "iteration",
        "iter",
        "batch",
        "epoch",
        "cuda:",
        "gpu ",
        "gpu",
        "device ",
        "alloc",
        "reserved",
        "cached",
        "mem",
        "rss",
        "vram",
        "peak",
        "max",
        "cuda",
        "torch",
    ])
});
/// The indices of the names of each kind.
const STEPS: [usize; 5] = [0, 1, 2, 3, 4];
const DEVICES: [usize; 4] = [5, 6, 7, 8];
pub(super) const FIGURES: [usize; 11] = [9, 10, 11, 12, 13, 14, 15, 16, 7, 17, 18];

/// Where each word first begins and ends.
pub(super) type First = [Option<(usize, usize)>];

/// The step that a line states: `step 12`, `global_step=12`, `iter: 12/500`.
pub(super) fn step(lower: &str, first: &First) -> Option<u64> {
    STEPS.into_iter().find_map(|word| {
        let rest = lower[first[word]?.1..].trim_start_matches([' ', ':', '=', '#', '[', '_', '\'', '"']);
        whole(rest)
    })
}

/// The device that a line names: `cuda:1`, `GPU 1`, `gpu1`.
fn device(lower: &str, first: &First) -> Option<u64> {
    DEVICES.into_iter().find_map(|word| {
        let rest = &lower[first[word]?.1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let next = rest[digits..].chars().next();
        (digits > 0 && digits < 4 && next.is_none_or(|c| !c.is_alphanumeric() && c != '.')).then(|| whole(rest))?
    })
}

/// The step in a prefix such as `[step 12]`.
pub(super) fn step_of(prefix: &str) -> Option<u64> {
    let lower = prefix.to_ascii_lowercase();
    let first = NAMES.first(&lower);
    step(&lower, &first)
}

/// The rank at the start of a message: `rank 3: allocated 4 GB`.
pub(super) fn rank_of(text: &str) -> Option<u64> {
    let rest = text.get(..4).filter(|start| start.eq_ignore_ascii_case("rank")).map(|_| &text[4..])?;
    let rest = rest.trim_start_matches([' ', ':', '=', '#']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let apart = rest[digits..].starts_with([':', ',', '|', ' ', ']', ')']);
    rest[..digits].parse().ok().filter(|_| apart)
}

/// Whether a line is about the version that it begins with: `5.2.4   Maximum resident set size (kbytes): 1822104`. An
/// address has four numbers, and a date the year of two digits.
pub(super) fn begins_with_a_version(text: &str) -> bool {
    let version = regex!(
        r"^v?(?P<major>0|[1-9]\d{0,2})\.(?P<minor>0|[1-9]\d{0,2})\.(?P<patch>0|[1-9]\d{0,2})(?:[-+][0-9A-Za-z.]{1,12}|\.?(?:rc|dev|post|a|b)\d{0,4})?(?:\s{2,}|\s*[:|]\s*)[a-zA-Z]"
    );
    let Some(found) = version.captures(text) else { return false };
    let part = |name: &str| found[name].parse::<u64>().unwrap_or(0);
    !((1..=31).contains(&part("major")) && (1..=12).contains(&part("minor")) && (19..=39).contains(&part("patch")))
}

/// The device that `text` names.
pub(super) fn device_of(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let first = NAMES.first(&lower);
    device(&lower, &first)
}

/// The GPU of a row of comma-separated values: the one whole number before the amount that stands alone.
pub(super) fn column(text: &str, quantities: &[Quantity<'_>]) -> Option<u64> {
    let used = quantities.iter().find(|quantity| quantity.unit.is_some())?;
    let mut alone = text[..offset(text, used)]
        .split(',')
        .map(str::trim)
        .filter(|field| !field.is_empty() && field.len() < 3 && field.bytes().all(|byte| byte.is_ascii_digit()));
    let (first, second) = (alone.next()?, alone.next());
    // A larger number is a temperature or a share.
    first.parse().ok().filter(|gpu| second.is_none() && *gpu < 16)
}

/// The GPU of a row of nvidia-smi's table, whose name and number are in the row above, or of a line of gpustat.
pub(super) fn row_of_a_gpu(line: &Line<'_>, said: &str) -> Option<u64> {
    let rest = said.strip_prefix('|').filter(|_| line.text.trim_start().starts_with('|'));
    let number = rest.map(str::trim_start).or_else(|| {
        let rest = line.text.trim_start().strip_prefix('[')?;
        rest.contains(" MB |").then_some(rest)
    })?;
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let apart = number[digits..].starts_with([' ', ']']);
    number[..digits].parse().ok().filter(|_| digits < 3 && apart)
}
