//! [`Layer`]: one kind of memory, or one process, over the time of a run.

use std::collections::BTreeMap;

use super::course::Course;
use crate::report::terminal::clean;
use plimsoll_memory::meter::Metric;

/// Maximum number of processes with a layer of their own; the others share one.
const PROCESSES: usize = 6;

/// One kind of memory, or one process, over time.
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) note: &'static str,
    pub(super) class: String,
    /// Its value at each moment.
    pub(super) values: Vec<Option<u64>>,
    /// Its upper edge: its value plus everything below it.
    pub(super) tops: Vec<Option<u64>>,
    /// Whether it is drawn as a line because it does not stack with the others.
    pub(super) line: bool,
    /// The ceilings above which the layer is highlighted.
    pub(super) limited_by: &'static [Metric],
}

impl Layer {
    fn new(name: &str, note: &'static str, class: &str, values: Vec<Option<u64>>) -> Self {
        let tops = values.clone();
        Self { name: name.to_owned(), note, class: class.to_owned(), values, tops, line: false, limited_by: &[] }
    }

    /// Whether any moment has a value above zero.
    fn any(&self) -> bool {
        self.values.iter().any(|value| value.is_some_and(|bytes| bytes > 0))
    }
}

/// The memory of the process tree by kind, the uppermost layer first.
pub(super) fn kinds(course: &Course<'_>) -> Vec<Layer> {
    let of = |value: fn(&super::course::Moment) -> Option<u64>| course.moments.iter().map(value).collect::<Vec<_>>();
    let mut rss = Layer::new(
        "RSS",
        "all resident memory; the part above the other layers is of files",
        "rss",
        of(|m| Some(m.rss)),
    );
    rss.limited_by = &[Metric::PeakRss, Metric::PeakRssGrowth];
    let mut shared = Layer::new("shared", "memfd, tmpfs, System V", "shmem", of(|moment| moment.shmem));
    shared.tops = of(|moment| Some(moment.shmem?.saturating_add(moment.anon?).min(moment.rss)));
    let mut anon = Layer::new("anonymous", "heap, stacks, private copies", "anon", of(|moment| moment.anon));
    anon.limited_by = &[Metric::PeakAnon, Metric::PeakAnonGrowth];
    let mut swap =
        Layer::new("swap", "of the processes, beside their resident memory", "swap", of(|moment| moment.swap));
    swap.line = true;
    let mut layers = vec![rss];
    layers.extend([shared, anon, swap].into_iter().filter(Layer::any));
    layers
}

/// The memory available on the system; empty if it was not read.
pub(super) fn system(course: &Course<'_>) -> Vec<Layer> {
    let values = course.moments.iter().map(|moment| moment.available).collect();
    let mut layer = Layer::new("available", "on the whole system", "available", values);
    layer.limited_by = &[Metric::AvailableFloor];
    if layer.any() { vec![layer] } else { Vec::new() }
}

/// The largest processes stacked, the uppermost first; empty if only one process ran at a time.
///
/// A process has a value while it is among the largest. At other times its memory counts among the others, with that of
/// short-lived processes.
pub(super) fn processes(course: &Course<'_>) -> Vec<Layer> {
    let mut peaks: BTreeMap<u32, u64> = BTreeMap::new();
    for process in course.moments.iter().flat_map(|moment| &moment.largest) {
        let peak = peaks.entry(process.pid).or_default();
        *peak = (*peak).max(process.rss.bytes());
    }
    if peaks.len() < 2 {
        return Vec::new();
    }
    let mut order: Vec<(u64, u32)> = peaks.into_iter().map(|(pid, peak)| (peak, pid)).collect();
    order.sort_unstable_by(|a, b| b.cmp(a));
    order.truncate(PROCESSES);
    let names: BTreeMap<u32, &str> = course
        .stretches
        .iter()
        .flat_map(|stretch| &stretch.phase.processes)
        .map(|process| (process.pid, process.name.as_str()))
        .collect();
    let mut below = vec![0u64; course.moments.len()];
    let mut layers: Vec<Layer> = Vec::new();
    for (at, &(_, pid)) in order.iter().enumerate() {
        let held = |moment: &super::course::Moment| match &*moment.largest {
            // A single process is the whole tree.
            [] => None,
            largest => largest.iter().find(|process| process.pid == pid).map(|process| process.rss.bytes()),
        };
        let values: Vec<_> = course.moments.iter().map(held).collect();
        let name = names.get(&pid).map_or_else(|| format!("process {pid}"), |name| format!("{} {pid}", clean(name)));
        let mut layer = Layer::new(&name, "", &format!("hue-{at}"), values);
        for (top, (below, value)) in layer.tops.iter_mut().zip(below.iter_mut().zip(&layer.values)) {
            *below = below.saturating_add(value.unwrap_or(0));
            *top = Some(*below);
        }
        layers.push(layer);
    }
    let rest =
        course.moments.iter().zip(&below).map(|(moment, &below)| Some(moment.rss.saturating_sub(below))).collect();
    let mut others = Layer::new("others", "and all processes beyond the four largest", "others", rest);
    others.tops = course.moments.iter().map(|moment| Some(moment.rss)).collect();
    layers.push(others);
    // The uppermost layer is drawn first and the lower ones over it.
    layers.reverse();
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn processes_lie_above_each_other_and_the_rest_above_them() {
        let phases = sample::command().phases;
        let layers = processes(&Course::of(&phases));
        let names: Vec<_> = layers.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["others", "process 4241", "worker 1 4242"]);
        for at in 0..layers[0].tops.len() {
            assert_eq!(layers[0].tops[at], Some(phases[0].timeline[at].rss.bytes()));
            let sum: u64 = layers.iter().map(|layer| layer.values[at].unwrap()).sum();
            assert_eq!(sum, phases[0].timeline[at].rss.bytes(), "nothing is counted twice");
        }
        assert!(layers.is_sorted_by(|a, b| a.tops >= b.tops));
        let mut alone = phases;
        alone[0].timeline.iter_mut().for_each(|point| point.largest.clear());
        assert!(processes(&Course::of(&alone)).is_empty());
    }

    #[test]
    fn a_kind_that_was_not_read_has_no_layer() {
        let phases = sample::command().phases;
        let layers = kinds(&Course::of(&phases));
        assert_eq!(layers.iter().map(|layer| layer.name.as_str()).collect::<Vec<_>>(), ["RSS", "anonymous"]);
    }
}
