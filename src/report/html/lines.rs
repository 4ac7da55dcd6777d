//! [`LoadLine`]: a ceiling drawn on a chart.

use crate::record::Record;
use plimsoll_memory::ceiling::{CeilingStatus, CeilingVerdict};
use plimsoll_memory::meter::{Part, When};

/// The memory that a chart shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sea {
    /// The memory of the process tree.
    Tree,
    /// The memory available on the system.
    System,
}

/// A ceiling drawn on a chart.
pub(super) struct LoadLine<'a> {
    pub(super) verdict: &'a CeilingVerdict,
    /// Where the line is drawn: at the limit, or for a growth ceiling, at the limit above the starting value.
    pub(super) at: u64,
}

/// The most ceilings that have a card and a line; the table of verdicts has more.
const MOST_CARDS: usize = 128;

/// The ceiling verdicts of `record`.
pub(super) fn ceilings(record: &Record) -> impl Iterator<Item = &CeilingVerdict> {
    record.verdicts.iter().filter_map(|verdict| verdict.ceiling.as_ref()).take(MOST_CARDS)
}

/// The ceilings that the chart of `sea` can show, the highest first.
pub(super) fn lines(record: &Record, sea: Sea) -> Vec<LoadLine<'_>> {
    let start = record.phases.first().and_then(|phase| phase.at_start);
    let place = |verdict: &CeilingVerdict| {
        let limit = verdict.limit.bytes();
        let above = |base: Option<plimsoll_memory::ByteSize>| Some((Sea::Tree, base?.bytes().saturating_add(limit)));
        let facts = verdict.metric.facts();
        match (facts.part, facts.when) {
            _ if verdict.metric.is_floor() => Some((Sea::System, limit)),
            (Part::Rss | Part::Anon | Part::Pss | Part::File | Part::Shmem, When::Peak) => Some((Sea::Tree, limit)),
            (Part::Rss, When::Growth | When::Retained) => above(start.map(|split| split.rss)),
            (Part::Anon, When::Growth | When::Retained) => above(start.and_then(|split| split.anon)),
            // The other metrics have no timeline.
            _ => None,
        }
    };
    let mut lines: Vec<_> = ceilings(record)
        .filter_map(|verdict| place(verdict).filter(|(on, _)| *on == sea).map(|(_, at)| LoadLine { verdict, at }))
        .collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.at));
    lines
}

impl LoadLine<'_> {
    /// The CSS class of its colour.
    pub(super) fn class(&self) -> &'static str {
        class(self.verdict.status)
    }

    /// `peak_rss ≤ 256 MiB`.
    pub(super) fn label(&self) -> String {
        let metric = self.verdict.metric;
        format!("{metric} {} {}", metric.sign(), super::axis::amount(self.verdict.limit.bytes()))
    }
}

/// The CSS class of a status.
pub(super) fn class(status: CeilingStatus) -> &'static str {
    match status {
        CeilingStatus::Holds => "good",
        CeilingStatus::Broken => "bad",
        CeilingStatus::NotMeasurable => "warn",
    }
}
