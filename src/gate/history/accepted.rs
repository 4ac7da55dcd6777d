//! Regressions: which steps somebody has accepted, and which remain.

use super::report::{HistoryReport, Series};
use super::steps::{Accepted, Step};

/// A step found within this many commits of an accepted one is the same step: additional commits may shift its
/// position.
const NEAR: usize = 5;

impl HistoryReport {
    /// Marks the steps that `accepted` names: each entry marks the nearest step in its direction.
    pub fn accept(&mut self, accepted: &[Accepted]) {
        for series in &mut self.series {
            for accepted in accepted.iter().filter(|accepted| accepted.figure == series.figure) {
                let place = series.points.iter().position(|point| point.commit == accepted.commit);
                let worse = |step: &&mut Step| series.direction.is_worse(step.before, step.after);
                let near = series.steps.iter_mut().filter(worse).filter_map(|step| {
                    let far = place?.abs_diff(step.at);
                    (far <= NEAR).then_some((far, step))
                });
                if let Some((_, step)) = near.min_by_key(|(far, _)| *far) {
                    step.accepted = Some(accepted.why.clone());
                }
            }
        }
    }

    /// The regressions that nobody has accepted and that persist: no later level is as good as the one before them.
    pub fn regressions(&self) -> impl Iterator<Item = (&Series, &Step)> {
        self.series.iter().flat_map(|series| {
            let stands = |number: usize, step: &Step| {
                let undone = |later: &Step| !series.direction.is_worse(step.before, later.after);
                step.accepted.is_none()
                    && series.direction.is_worse(step.before, step.after)
                    && !series.steps[number + 1..].iter().any(undone)
            };
            series
                .steps
                .iter()
                .enumerate()
                .filter(move |(number, step)| stands(*number, step))
                .map(move |(_, step)| (series, step))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::history::sample;

    #[test]
    fn a_step_stands_until_it_is_accepted_or_undone() {
        let report = sample();
        assert_eq!(report.regressions().map(|(_, step)| step.at).collect::<Vec<_>>(), [14]);

        // With more commits, the step may be found two commits later.
        let accepted = |commit: usize, figure: &str| Accepted {
            commit: report.series[0].points[commit].commit.clone(),
            figure: figure.to_owned(),
            why: "it caches more".to_owned(),
        };
        for (by, left) in [(accepted(12, "peak_rss"), 0), (accepted(14, "wall"), 1), (accepted(2, "peak_rss"), 1)] {
            let mut report = report.clone();
            report.accept(&[by]);
            assert_eq!(report.regressions().count(), left);
        }

        let mut undone = report.clone();
        let step = undone.series[0].steps[0].clone();
        undone.series[0].steps.push(Step { at: 20, before: step.after, after: step.before, ..step });
        assert_eq!(undone.regressions().count(), 0);
    }
}
