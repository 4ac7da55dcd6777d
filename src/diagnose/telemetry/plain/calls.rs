//! Calls of Python by which people print memory: `mem_get_info()`, `tracemalloc`.

use super::{Figure, LEAST_BYTES, Metric, Quantity, offset};

/// What `torch.cuda.mem_get_info()` returns: the free memory of a device, and all of it.
pub(super) fn information(text: &str, quantities: &[Quantity<'_>]) -> Vec<(usize, Metric, Figure)> {
    let Some(from) = text.find("mem_get_info") else { return Vec::new() };
    let large = |quantity: &Quantity<'_>| quantity.unit.is_none() && quantity.number.value >= LEAST_BYTES;
    let amounts = quantities.iter().enumerate().filter(|(_, quantity)| {
        offset(text, quantity) > from && large(quantity) && !quantity.before.contains(['=', ':'])
    });
    let [free, total] = amounts.take(2).collect::<Vec<_>>()[..] else { return Vec::new() };
    let figure = |(index, quantity): (usize, &Quantity<'_>), metric| Some((index, metric, quantity.number.figure(1)?));
    [figure(free, Metric::DeviceFree), figure(total, Metric::DeviceTotal)].into_iter().flatten().collect()
}

/// Whether a line without a GPU is of the host's memory: Python's own counter, as `tracemalloc` is usually printed, or a
/// word in brackets.
pub(super) fn is_of_the_host(lower: &str) -> bool {
    let counter =
        lower.contains("tracemalloc") || lower.contains("current memory usage is") && lower.contains("peak was");
    let named = ["(host)", "[host]", "(cpu)", "[cpu]"].iter().any(|name| lower.contains(name));
    (counter || named) && !lower.contains("gpu") && !lower.contains("cuda")
}

/// What a figure of a device is if it is of the host.
pub(super) fn on_host(metric: Metric) -> Metric {
    match metric {
        Metric::Allocated | Metric::DeviceUsed | Metric::Active => Metric::HostUsed,
        Metric::MaxAllocated => Metric::HostPeak,
        other => other,
    }
}
