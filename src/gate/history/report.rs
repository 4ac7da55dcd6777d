//! [`HistoryReport`]: figures over the commits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::commit::{Commit, ten};
use super::steps::{Step, steps};
use super::store::Entry;
use crate::gate::{Subject, Summary};
use crate::record::{Direction, Figure, Record, Unit, figures_of, timestamp};
use plimsoll_memory::schema::Document;

/// The figures of a subject over the commits of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryReport {
    /// `plimsoll.history/1`.
    #[schemars(extend("const" = "plimsoll.history/1"))]
    pub schema: String,
    /// What was measured.
    #[serde(flatten)]
    pub subject: Subject,
    /// The branch.
    pub branch: String,
    /// Its figures.
    pub series: Vec<Series>,
}

/// A figure over the commits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// The name of the figure.
    pub figure: String,
    /// The unit.
    pub unit: Unit,
    /// Whether more or less is better.
    pub direction: Direction,
    /// One point per commit, oldest first.
    pub points: Vec<Point>,
    /// Where the level changed, judging by the commits' medians.
    pub steps: Vec<Step>,
}

/// A figure at a commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The commit.
    pub commit: String,
    /// The time of the commit: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub committed: String,
    /// The first line of its message.
    pub title: String,
    /// Its values.
    pub values: Summary,
}

impl Point {
    /// The shortest name that identifies the commit.
    pub fn short(&self) -> &str {
        ten(&self.commit)
    }

    /// The day of the commit.
    pub fn day(&self) -> &str {
        ten(&self.committed)
    }
}

impl HistoryReport {
    /// Creates the report of `subject` on `branch`.
    pub fn new(subject: Subject, branch: &str, series: Vec<Series>) -> Self {
        Self { schema: "plimsoll.history/1".to_owned(), subject, branch: branch.to_owned(), series }
    }
}

/// The figures of `entries` that `wanted` selects, each over the commits; several records of a commit count as its
/// runs.
pub fn series(entries: &[Entry], wanted: &dyn Fn(&Figure) -> bool) -> Vec<Series> {
    let commits = entries.chunk_by(|a, b| a.commit.id == b.commit.id).map(|of_commit| {
        let records = of_commit.iter().map(|entry: &Entry| -> &Record { &entry.record });
        (of_commit[0].commit.clone(), figures_of(records))
    });
    series_of(commits, wanted)
}

/// The figures that `wanted` selects, each over the commits in the given order.
pub fn series_of(
    commits: impl IntoIterator<Item = (Commit, Vec<Figure>)>,
    wanted: &dyn Fn(&Figure) -> bool,
) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for (commit, figures) in commits {
        for figure in figures.iter().filter(|figure| wanted(figure)) {
            let Some(values) = Summary::of(&figure.values) else { continue };
            let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(commit.committed.max(0).unsigned_abs());
            let point =
                Point { commit: commit.id.clone(), committed: timestamp(at), title: commit.title.clone(), values };
            match found.iter_mut().find(|series| series.figure == figure.name) {
                Some(series) => series.points.push(point),
                None => found.push(Series {
                    figure: figure.name.clone(),
                    unit: figure.unit,
                    direction: figure.direction,
                    points: vec![point],
                    steps: Vec::new(),
                }),
            }
        }
    }
    for series in &mut found {
        series.steps = steps(&series.points.iter().map(|point| point.values.median).collect::<Vec<_>>());
    }
    found
}

impl Document for HistoryReport {
    const NAME: &'static str = "plimsoll.history/1";
    const TITLE: &'static str = "What figures were over the commits";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll history show --json` prints.
pub fn schema() -> serde_json::Value {
    HistoryReport::document_schema()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_memory::bytes::ByteSize;
    use plimsoll_memory::meter::Metric;
    use plimsoll_memory::testing::faults;

    /// Twenty-four commits; from the fourteenth on, usage is a tenth higher.
    pub(crate) fn sample() -> HistoryReport {
        let entry = |number: u64| {
            let mut record = sample::command();
            let level = if number < 14 { 200 << 20 } else { 220 << 20 };
            record.phases[0].readings.get_mut(&Metric::PeakRss).unwrap().bytes =
                ByteSize::new(level + (number * 37 % 11) * 40_960);
            let commit = Commit {
                id: format!("{:040x}", number * 0x1234_5678_9abc),
                branch: "main".to_owned(),
                committed: 1_767_225_600 + number as i64 * 86_400,
                title: format!("Change number {number} of the reader"),
            };
            Entry { commit, record }
        };
        let entries: Vec<Entry> = (0..24).map(entry).collect();
        let series = series(&entries, &|figure| figure.name == "peak_rss");
        HistoryReport::new(Subject::of(&entries[0].record), "main", series)
    }

    #[test]
    fn a_step_is_at_the_commit_that_made_it() {
        let report = self::sample();
        let [series] = &report.series[..] else { panic!("{report:?}") };
        let [step] = &series.steps[..] else { panic!("{:?}", series.steps) };
        assert_eq!(series.points[step.at].title, "Change number 14 of the reader");
        assert_eq!(series.points[0].committed, "2026-01-01T00:00:00.000Z");
    }

    #[test]
    fn the_committed_schema_is_up_to_date_and_a_report_follows_it() {
        let report = serde_json::to_value(self::sample()).unwrap();
        assert_eq!(faults(&schema(), &report), [""; 0]);
    }
}
