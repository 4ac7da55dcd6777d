//! The parts of a record as reports show them: one row per shard or rank, memory per node, and the imbalance between
//! ranks.

use std::collections::BTreeMap;

use crate::record::{Part, Record, RunState, TimedBeside, VerdictStatus};
use crate::report::runs::end_words;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, Reading, worst_reading};

/// One part as a row.
#[derive(Clone, Debug)]
pub(crate) struct PartRow {
    /// `3 of 8`.
    pub(crate) name: String,
    pub(crate) host: String,
    /// The number of entries and their bytes; absent for a rank.
    pub(crate) entries: Option<(usize, ByteSize)>,
    pub(crate) wall_ns: u64,
    pub(crate) peak_rss: Option<Reading>,
    pub(crate) peak_anon: Option<Reading>,
    /// How the part ended, or what ran while it was timed.
    pub(crate) end: String,
    pub(crate) status: VerdictStatus,
    node: Option<u32>,
}

impl PartRow {
    fn of(part: &Part) -> Self {
        let peak = |metric| worst_reading(&part.phases, metric).map(|(_, reading)| reading.clone());
        let beside = part.shard.as_ref().and_then(|shard| shard.timing);
        let words = match (&part.end, part.state, beside) {
            (Some(end), ..) => end_words(end),
            (None, RunState::Interrupted, _) => "interrupted".to_owned(),
            (None, RunState::Failed, _) => "could not continue".to_owned(),
            (None, RunState::Complete, Some(TimedBeside::Shared)) => "timed beside other shards".to_owned(),
            (None, RunState::Complete, Some(TimedBeside::InTurns)) => "timed in turns".to_owned(),
            (None, RunState::Complete, _) => String::new(),
        };
        let any = |status| part.verdicts.iter().any(|verdict| verdict.status == status);
        let failed = part.end.as_ref().is_some_and(|end| !end.success());
        let status = match () {
            () if any(VerdictStatus::Fail) => VerdictStatus::Fail,
            () if failed || any(VerdictStatus::NotMeasurable) => VerdictStatus::NotMeasurable,
            () if any(VerdictStatus::Inconclusive) => VerdictStatus::Inconclusive,
            () => VerdictStatus::Pass,
        };
        let name = part.name();
        Self {
            name: name.split_once(' ').map_or(name.clone(), |(_, number)| number.to_owned()),
            host: part.environment.hostname.clone().unwrap_or_default(),
            entries: part.shard.as_ref().map(|shard| (shard.places.len(), shard.bytes)),
            wall_ns: part.wall_ns,
            peak_rss: peak(Metric::PeakRss),
            peak_anon: peak(Metric::PeakAnon),
            end: words,
            status,
            node: part.rank.as_ref().and_then(|rank| rank.node),
        }
    }
}

/// All parts of a record.
pub(crate) struct Parts {
    /// `shard` or `rank`.
    pub(crate) what: &'static str,
    pub(crate) rows: Vec<PartRow>,
}

/// The peaks of one node's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRow {
    pub(crate) name: String,
    pub(crate) parts: usize,
    /// The largest peak among them.
    pub(crate) largest: ByteSize,
    /// The sum of their peaks, which may have occurred at different times.
    pub(crate) sum: ByteSize,
}

impl Parts {
    /// The parts of `record`; `None` for a single run.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        (!record.parts.is_empty()).then(|| Self::all(&record.parts))
    }

    pub(crate) fn all<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Self {
        let mut all = Self { what: "shard", rows: Vec::new() };
        parts.into_iter().for_each(|part| all.add(part));
        all
    }

    pub(crate) fn add(&mut self, part: &Part) {
        if part.shard.is_none() {
            self.what = "rank";
        }
        self.rows.push(PartRow::of(part));
    }

    /// The rows to show if there is room for `room` of them: those that did not pass, then the largest, in their
    /// original order.
    pub(crate) fn shown(&self, room: usize) -> Vec<&PartRow> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        if order.len() > room {
            let key = |at: &usize| {
                let row = &self.rows[*at];
                let peak = row.peak_rss.as_ref().map(|reading| reading.bytes);
                (row.status == VerdictStatus::Pass, std::cmp::Reverse(peak), *at)
            };
            order.sort_by_key(key);
            order.truncate(room);
            order.sort_unstable();
        }
        order.into_iter().map(|at| &self.rows[at]).collect()
    }

    /// One row per node, if a node ran several parts.
    pub(crate) fn nodes(&self) -> Vec<NodeRow> {
        let mut nodes: BTreeMap<(&str, Option<u32>), Vec<ByteSize>> = BTreeMap::new();
        for row in &self.rows {
            let peaks = nodes.entry((&row.host, row.node)).or_default();
            peaks.extend(row.peak_rss.as_ref().map(|reading| reading.bytes));
        }
        let name = |host: &str, node: Option<u32>| match node {
            Some(node) => format!("{node} {host}").trim_end().to_owned(),
            None => host.to_owned(),
        };
        let rows = nodes.into_iter().filter(|(_, peaks)| !peaks.is_empty()).map(|((host, node), peaks)| NodeRow {
            name: name(host, node),
            parts: peaks.len(),
            largest: peaks.iter().copied().max().unwrap_or(ByteSize::ZERO),
            sum: peaks.iter().copied().sum(),
        });
        let rows: Vec<NodeRow> = rows.collect();
        if rows.iter().any(|row| row.parts > 1) { rows } else { Vec::new() }
    }

    /// A sentence on how far the largest peak exceeds the mean. `None` for shards, whose peaks are not comparable, and
    /// for fewer than two ranks.
    pub(crate) fn imbalance(&self) -> Option<String> {
        let peak = |row: &PartRow| row.peak_rss.as_ref().map(|reading| reading.bytes);
        let peaks: Vec<ByteSize> = self.rows.iter().filter_map(peak).collect();
        if self.what != "rank" || peaks.len() < 2 {
            return None;
        }
        let (at, largest) = peaks.iter().copied().enumerate().rev().max_by_key(|(_, bytes)| *bytes)?;
        let mean = peaks.iter().copied().sum::<ByteSize>().bytes() as f64 / peaks.len() as f64;
        let least = peaks.iter().copied().min()?;
        let ratio = if mean > 0.0 { largest.bytes() as f64 / mean } else { 1.0 };
        let rank = &self.rows[at].name;
        Some(format!(
            "rank {rank} has the largest peak RSS, {largest}: {ratio:.2} times the mean of {}; the least is {least}",
            ByteSize::new(mean as u64)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn of_many_parts_those_that_did_not_pass_and_the_largest_are_shown_in_their_order() {
        let parts = Parts::of(&sample::ranks(40)).unwrap();
        let names: Vec<&str> = parts.shown(3).iter().map(|row| &*row.name).collect();
        assert_eq!((parts.what, names), ("rank", vec!["7 of 40", "38 of 40", "39 of 40"]));
        assert_eq!(parts.shown(40).len(), 40);
        let nodes = parts.nodes();
        assert_eq!((nodes.len(), nodes[0].parts, &*nodes[0].name), (20, 2, "0 node-0"));
        assert!(nodes[0].sum > nodes[0].largest);
        let words = parts.imbalance().unwrap();
        assert!(words.starts_with("rank 39 of 40 has the largest peak RSS, 49.00 MiB: 1.66 times the mean"), "{words}");
    }
}
