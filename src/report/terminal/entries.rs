//! The entries of a record, one row each.

use crate::record::{CaptureSemantics, EntryResult, Profile, ProfileStatus, Validation, ValidationStatus};
use plimsoll_capture::compare::{Elements, LeafOutcome};
use plimsoll_capture::timing::Protocol;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::{Align, Cell, Column, Table};
use plimsoll_memory::text::{Palette, Screen};
use plimsoll_memory::text::{clean, duration, number};

/// Placeholder for a figure that was not taken.
const ABSENT: &str = "-";

/// The table of entries. Its layout depends only on the semantics, so that rows can be printed as results arrive.
#[derive(Clone, Debug)]
pub struct EntryTable {
    table: Table,
    palette: Palette,
    validated: bool,
    times: Times,
}

/// The times per launch that are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    None,
    Mean,
    MedianAndMean,
}

impl EntryTable {
    /// Creates the table for a run of these semantics: validation columns if outputs are compared, times if launches
    /// are timed.
    pub fn new(semantics: &CaptureSemantics, screen: &Screen) -> Self {
        let validated = semantics.comparison.is_some();
        let times = match semantics.timing {
            None => Times::None,
            Some(Protocol::KernelForge { .. }) => Times::Mean,
            Some(Protocol::Samples { .. } | Protocol::Cold { .. } | Protocol::Until { .. }) => Times::MedianAndMean,
        };
        let mut columns = vec![Column::new("entry", Align::Left, 0), Column::new("bytes", Align::Right, 1)];
        for entry in &semantics.entries {
            columns[0].fit(&clean(&entry.name));
            columns[1].fit(&entry.bytes.to_string());
        }
        let mut add = |title, align, expendable, widest| {
            let mut column = Column::new(title, align, expendable);
            column.fit(widest);
            columns.push(column);
        };
        if validated {
            add("validation", Align::Left, 0, "✗ channel-closed");
            add("max abs err", Align::Right, 2, "-1.23e-10");
            add("max rel err", Align::Right, 3, "-1.23e-10");
        }
        match times {
            Times::None => {}
            Times::Mean => add("mean/launch", Align::Right, 0, "59 min 59 s"),
            Times::MedianAndMean => {
                add("median/launch", Align::Right, 0, "59 min 59 s");
                add("mean/launch", Align::Right, 4, "59 min 59 s");
            }
        }
        Self { table: Table::new(columns, 1, *screen), palette: screen.palette, validated, times }
    }

    /// The titles of the columns.
    pub fn header(&self) -> String {
        self.table.header()
    }

    /// Formats one entry as one line.
    pub fn row(&self, bytes: Option<ByteSize>, result: &EntryResult) -> String {
        let bytes = bytes.map_or(ABSENT.to_owned(), |bytes| bytes.to_string());
        let mut cells = vec![Cell::plain(clean(&result.name)), Cell::new(bytes, self.palette.dim)];
        let timed = result.profile.as_ref().is_some_and(|profile| profile.status == ProfileStatus::Timed);
        if self.validated {
            let validation = result.validation.as_ref();
            cells.push(validation.map_or(self.absent(), |validation| self.validation(validation)));
            // A message replaces the figures only if there are none.
            if let Some(message) = validation.and_then(note).filter(|_| !timed) {
                cells.push(Cell::spanning(clean(&message), self.palette.dim));
                return self.table.row(&cells);
            }
            let leaves = validation.map_or(&[][..], |validation| &validation.leaves);
            for figure in [|e: &Elements| e.max_abs_error, |e: &Elements| e.max_rel_error] {
                cells.push(largest(leaves, figure).map_or(self.absent(), |error| Cell::plain(number(error))));
            }
        }
        if self.times != Times::None {
            cells.extend(self.times(result.profile.as_ref()));
        }
        self.table.row(&cells)
    }

    fn absent(&self) -> Cell {
        Cell::new(ABSENT, self.palette.dim)
    }

    fn validation(&self, validation: &Validation) -> Cell {
        let palette = &self.palette;
        match validation.status {
            ValidationStatus::Passed if validation.blindness.is_some_and(|blindness| blindness.any()) => {
                Cell::new("! match, blind", palette.warn)
            }
            ValidationStatus::Passed => Cell::new("✓ match", palette.good),
            ValidationStatus::Mismatch => Cell::new("✗ mismatch", palette.bad),
            ValidationStatus::Error => {
                let kind = validation.error.as_ref().map_or("error", |error| error.kind.name());
                Cell::new(format!("✗ {kind}"), palette.bad)
            }
            ValidationStatus::NotRun => Cell::new("– not run", palette.dim),
        }
    }

    fn times(&self, profile: Option<&Profile>) -> Vec<Cell> {
        let Some(profile) = profile else { return vec![self.absent()] };
        match (profile.status, profile.statistics) {
            (ProfileStatus::Timed, Some(statistics)) => {
                let time = |ns| Cell::plain(duration(ns));
                match self.times {
                    Times::MedianAndMean => vec![time(statistics.median_ns), time(statistics.mean_ns)],
                    _ => vec![time(statistics.mean_ns)],
                }
            }
            (ProfileStatus::Error, _) => {
                let error = profile.error.as_ref();
                let words =
                    error.map_or("error".to_owned(), |error| format!("{}: {}", error.kind.name(), error.message));
                vec![Cell::spanning(clean(&format!("✗ {words}")), self.palette.bad)]
            }
            (ProfileStatus::NotRun, _) => vec![Cell::spanning("– not run", self.palette.dim)],
            (ProfileStatus::Timed, None) => vec![self.absent()],
        }
    }
}

/// Why the row has no figures.
fn note(validation: &Validation) -> Option<String> {
    let wrong = || validation.leaves.iter().find_map(|leaf| leaf.problem.clone());
    let failed = || validation.error.as_ref().map(|error| error.message.clone());
    failed().or_else(|| validation.not_run.clone()).or_else(wrong)
}

fn largest(leaves: &[LeafOutcome], figure: impl Fn(&Elements) -> Option<f64>) -> Option<f64> {
    leaves.iter().filter_map(|leaf| figure(leaf.elements.as_ref()?)).reduce(f64::max)
}
