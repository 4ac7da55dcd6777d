//! The arguments by name.

/// What an argument takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The limit of a metric, in bytes.
    Metric,
    /// The limit of a counter of the heap in bytes.
    HeapBytes,
    /// The limit of a counter of the heap in calls.
    HeapCalls,
    /// A time.
    Duration,
    /// Yes or no.
    Bool,
}

/// Every argument, the variant of `plimsoll` that it stands for, and what it takes.
pub const NAMES: [(&str, &str, Kind); 23] = [
    ("peak_rss", "PeakRss", Kind::Metric),
    ("peak_rss_growth", "PeakRssGrowth", Kind::Metric),
    ("retained_rss", "RetainedRss", Kind::Metric),
    ("peak_anon", "PeakAnon", Kind::Metric),
    ("peak_anon_growth", "PeakAnonGrowth", Kind::Metric),
    ("retained_anon", "RetainedAnon", Kind::Metric),
    ("peak_file", "PeakFile", Kind::Metric),
    ("peak_shmem", "PeakShmem", Kind::Metric),
    ("peak_pss", "PeakPss", Kind::Metric),
    ("peak_swap", "PeakSwap", Kind::Metric),
    ("swap_growth", "SwapGrowth", Kind::Metric),
    ("peak_cgroup", "PeakCgroup", Kind::Metric),
    ("gpu_peak", "GpuPeak", Kind::Metric),
    ("unified_peak", "UnifiedPeak", Kind::Metric),
    ("peak_heap", "PeakHeap", Kind::Metric),
    ("retained_heap", "RetainedHeap", Kind::Metric),
    ("available_floor", "AvailableFloor", Kind::Metric),
    ("allocations", "Allocations", Kind::HeapCalls),
    ("reallocations", "Reallocations", Kind::HeapCalls),
    ("allocated", "Allocated", Kind::HeapBytes),
    ("timeout", "", Kind::Duration),
    ("sample_interval", "", Kind::Duration),
    ("enforce", "", Kind::Bool),
];

/// The argument of this name.
pub fn find(name: &str) -> Option<(&'static str, &'static str, Kind)> {
    NAMES.into_iter().find(|(known, ..)| *known == name)
}

/// The name that may have been meant: the nearest, where it is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let near = name.len().max(3) / 3;
    let distances = NAMES.iter().map(|(known, ..)| (distance(name, known), *known));
    distances.min().filter(|(distance, _)| *distance <= near).map(|(_, known)| known)
}

/// How many letters have to be put in, left out or changed to make `a` of `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.bytes().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
