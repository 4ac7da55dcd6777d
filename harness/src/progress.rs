//! Progress on a terminal's standard error; nothing if it is not a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll::ByteSize;
use plimsoll::record::{EntryResult, Record};
use plimsoll::run::{Observer, Phase};

use crate::keep::Keeper;
use crate::signals::Cancel;

/// A bar over an amount of bytes, labelled with the action.
pub fn bytes(what: &'static str, total: ByteSize) -> ProgressBar {
    let style = "{msg:>10} [{bar:32}] {binary_bytes}/{binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    ProgressBar::with_draw_target(Some(total.bytes()), ProgressDrawTarget::stderr())
        .with_style(ProgressStyle::with_template(style).expect("a template that parses"))
        .with_message(what)
}

/// Shows the progress of a run.
pub struct RunProgress<'a> {
    cancel: &'a Cancel,
    bar: ProgressBar,
    keeper: Keeper,
}

impl<'a> RunProgress<'a> {
    /// Progress that a signal cancels; `keeper` keeps the known facts.
    pub fn new(cancel: &'a Cancel, keeper: Keeper) -> Self {
        Self { cancel, bar: ProgressBar::hidden(), keeper }
    }

    /// Clears the drawing, and returns the keeper.
    pub fn finish(self) -> Keeper {
        self.bar.finish_and_clear();
        self.keeper
    }
}

impl Observer for RunProgress<'_> {
    fn phase(&mut self, phase: Phase, entries: usize) {
        self.bar.finish_and_clear();
        let style = if entries > 0 {
            "{msg:>10} [{bar:32}] {pos}/{len} entries, {elapsed}"
        } else {
            "{msg:>10} {spinner} {elapsed}"
        };
        self.bar = ProgressBar::with_draw_target(Some(entries as u64), ProgressDrawTarget::stderr())
            .with_style(ProgressStyle::with_template(style).expect("a template that parses"))
            .with_message(phase.name());
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    fn entry(&mut self, _phase: Phase, _result: &EntryResult) {
        self.bar.inc(1);
    }

    fn keeps(&self) -> Option<Instant> {
        self.keeper.keeps()
    }

    fn keep(&mut self, so_far: &Record) {
        self.keeper.keep(so_far);
    }

    fn cancelled(&self) -> bool {
        self.cancel.requested()
    }
}
