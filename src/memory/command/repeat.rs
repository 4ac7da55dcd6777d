//! [`Repeats`]: several runs of one command, judged together.

use std::time::Duration;

use super::running::Ended;
use crate::bytes::ByteSize;
use crate::ceiling::CeilingVerdict;
use crate::meter::{Metric, worst_reading};

/// Several runs of one command in bounded memory: all readings of each run are kept, but the timeline and processes
/// only of the run with the largest resident memory.
#[derive(Clone, Debug, Default)]
pub struct Repeats {
    runs: Vec<(Duration, Ended)>,
    largest: usize,
}

impl Repeats {
    /// Adds a run that began `offset` after the start of the first.
    pub fn push(&mut self, offset: Duration, ended: Ended) {
        let number = self.runs.len();
        self.runs.push((offset, ended));
        // In a tie the first is kept.
        let smaller = if number > 0 && peak(&self.runs[number].1) > peak(&self.runs[self.largest].1) {
            std::mem::replace(&mut self.largest, number)
        } else {
            number
        };
        if smaller != self.largest {
            self.runs[smaller].1.phases.iter_mut().for_each(|phase| *phase = phase.without_details());
        }
    }

    /// The runs in order, each with its start relative to the first.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (Duration, &Ended)> {
        self.runs.iter().map(|(offset, ended)| (*offset, ended))
    }

    /// The run with the largest resident memory; `None` without runs.
    pub fn largest(&self) -> Option<&Ended> {
        self.runs.get(self.largest).map(|(_, ended)| ended)
    }

    /// The first run that did not exit with code 0, and its number from 1.
    pub fn failure(&self) -> Option<(usize, &Ended)> {
        self.runs
            .iter()
            .enumerate()
            .find(|(_, (_, ended))| !ended.end.success())
            .map(|(at, (_, ended))| (at + 1, ended))
    }

    /// The verdict on each ceiling, from the run that did worst.
    pub fn verdicts(&self) -> Vec<CeilingVerdict> {
        let count = self.runs.len();
        let ceilings = self.runs.first().map_or(0, |(_, ended)| ended.verdicts.len());
        let worst = |ceiling: usize| {
            let verdicts = self
                .runs
                .iter()
                .enumerate()
                .filter_map(|(at, (_, ended))| Some((at + 1, ended.verdicts.get(ceiling)?)));
            let (number, worst) =
                verdicts.reduce(|before, next| if next.1.is_worse_than(before.1) { next } else { before })?;
            let mut verdict = worst.clone();
            if count > 1 {
                verdict.message += &format!("; run {number} of {count} was the worst by it");
            }
            Some(verdict)
        };
        (0..ceilings).filter_map(worst).collect()
    }
}

fn peak(ended: &Ended) -> Option<ByteSize> {
    worst_reading(&ended.phases, Metric::PeakRss).map(|(_, reading)| reading.bytes)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::ceiling::CeilingStatus;
    use crate::command::Metered;

    /// A run that holds a buffer of this many MiB and exits with this code. A pipe that nobody reads makes it hold the
    /// buffer until it is sampled: the mark of a child that ends at once is hidden below what it inherited from this
    /// process, which may be larger because of other tests.
    fn run(mib: u64, code: u8) -> Ended {
        let mut command = Command::new("sh");
        let script = format!("dd if=/dev/zero count=1 bs={mib}M | sleep 0.5; exit {code}");
        command.args(["-c", &script]).stdin(Stdio::null()).stderr(Stdio::null());
        let ceilings = "peak_rss = 40 MiB, gpu_peak = 1 GiB".parse().unwrap();
        Metered::new(command).ceilings(ceilings).spawn().unwrap().wait().unwrap()
    }

    #[test]
    fn the_worst_run_decides_and_the_largest_alone_keeps_its_timeline() {
        let mut repeats = Repeats::default();
        assert!(repeats.largest().is_none() && repeats.verdicts().is_empty() && repeats.failure().is_none());
        for (second, (mib, code)) in [(8, 0), (64, 0), (24, 3)].into_iter().enumerate() {
            repeats.push(Duration::from_secs(second as u64), run(mib, code));
        }
        let details = |ended: &Ended| !ended.phases[0].timeline.is_empty() && !ended.phases[0].processes.is_empty();
        assert_eq!(repeats.runs().map(|(_, ended)| details(ended)).collect::<Vec<_>>(), [false, true, false]);
        assert!(repeats.runs().all(|(_, ended)| ended.phases[0].readings.contains_key(&Metric::PeakRss)));
        assert!(peak(repeats.largest().unwrap()) > Some(ByteSize::mib(60)));
        let (number, failed) = repeats.failure().unwrap();
        assert_eq!((number, failed.end.exit_code), (3, Some(3)));
        let verdicts = repeats.verdicts();
        assert_eq!(verdicts[0].status, CeilingStatus::Broken);
        assert!(verdicts[0].message.ends_with("; run 2 of 3 was the worst by it"), "{}", verdicts[0].message);
        assert_eq!(verdicts.len(), 2);
    }

    #[test]
    fn one_run_is_reported_as_it_is() {
        let mut repeats = Repeats::default();
        let ended = run(1, 0);
        repeats.push(Duration::ZERO, ended.clone());
        assert_eq!(repeats.verdicts(), ended.verdicts);
        assert_eq!(repeats.largest().unwrap().phases, ended.phases);
    }
}
