//! Figures whose unit is not printed, by their keys.

use super::super::figure::Figure;
use super::super::sample::Metric;
use super::Quantity;

/// Figures whose unit is not printed: the allocator's, with a fraction, and a key that says memory. Below 200 they are
/// GiB, because a tensor of MB is no matter and no device has 200 GB of them in one; otherwise MiB.
pub(super) fn without_units(quantities: &[Quantity<'_>], bare: &[(usize, Metric)]) -> Vec<(usize, Metric, Figure)> {
    const OTHER: [&str; 16] = [
        "ratio", "frac", "rate", "percent", "pct", "util", "time", "sec", "count", "num", "hit", "token", "block",
        "page", "%", "retr",
    ];
    let allocator =
        |metric| matches!(metric, Metric::Allocated | Metric::MaxAllocated | Metric::Reserved | Metric::MaxReserved);
    let kept: Vec<_> = bare
        .iter()
        .filter(|(index, metric)| {
            let Quantity { before, number, .. } = &quantities[*index];
            let key = before.trim_end().trim_end_matches(['\'', '"']);
            let lower = key.to_ascii_lowercase();
            let of_gpu = of_gpu(&lower);
            (allocator(*metric) || of_gpu)
                && key.ends_with(['=', ':'])
                && number.decimals > 0
                && number.value > 0.0
                && !number.rest.trim_start().starts_with(['%', '/'])
                && !number.rest.starts_with(|c: char| c.is_alphanumeric())
                && !counts_things(number.rest)
                && !OTHER.iter().any(|other| lower.contains(other))
                && (of_gpu || lower.contains("alloc") || lower.contains("reserv"))
                // A share in the names of wandb, whose amounts end with `Bytes`.
                && !lower.trim_end_matches(|c: char| !c.is_alphanumeric()).ends_with("memoryallocated")
        })
        .collect();
    let of = |metric| kept.iter().find(|(_, other)| *other == metric).map(|(index, _)| quantities[*index].number.value);
    let memory = kept.iter().all(|(index, _)| {
        let lower = quantities[*index].before.to_ascii_lowercase();
        ["mem", "gpu", "cuda", "vram"].iter().any(|word| lower.contains(word))
    });
    // Both figures of the allocator in their order are memory, whatever their keys.
    let both = of(Metric::Allocated).zip(of(Metric::Reserved)).is_some_and(|(used, held)| used <= held);
    if !memory && !both {
        return Vec::new();
    }
    let most = kept.iter().map(|(index, _)| quantities[*index].number.value).fold(0.0, f64::max);
    let unit = if most < 200.0 { 1 << 30 } else { 1 << 20 };
    let figure = |(index, metric): &&(usize, Metric)| Some((*index, *metric, quantities[*index].number.figure(unit)?));
    kept.iter().filter_map(figure).collect()
}

/// Whether a key in lower case names the memory of a GPU: `gpu_mem:`, `max gpu memory used =`, `vram:`.
fn of_gpu(key: &str) -> bool {
    let key = key.trim_end_matches(|c: char| !c.is_alphanumeric());
    let key = key.strip_suffix("used").or_else(|| key.strip_suffix("usage")).unwrap_or(key);
    let key = key.trim_end_matches([' ', '_', '.', '/']);
    let Some(owner) = key.strip_suffix("memory").or_else(|| key.strip_suffix("mem")) else {
        return key.ends_with("vram");
    };
    let owner = owner.trim_end_matches([' ', '_', '.', '/', '-']);
    ["gpu", "cuda"].iter().any(|name| owner.ends_with(name))
}

/// Whether a word that is not the next key follows a number: `1.5 cpus`.
fn counts_things(rest: &str) -> bool {
    let rest = rest.trim_start();
    let word = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    word > 0 && !rest[word..].trim_start().starts_with(['=', ':'])
}
