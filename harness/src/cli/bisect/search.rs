//! The search itself.

use std::collections::BTreeSet;

use plimsoll::gate::bisect::{Bisected, Effort, SearchEnd, Tried, TriedCommit, growths, side};
use plimsoll::gate::{Baseline, GateReport, Outcome, Rules, evaluate, evaluate_pairs};
use plimsoll::random::SplitMix64;
use plimsoll::record::{Record, figures_of};

use super::super::output;
use super::measure::{Runs, Stop, Worker};
use super::repository::Repository;
use super::state::State;

/// The pairs of runs after which the two ends are first compared.
const FIRST_PAIRS: usize = 10;

/// A search and the tools that it uses.
pub struct Search<'a> {
    pub repository: &'a Repository,
    pub worker: Worker<'a>,
    pub rules: Rules,
    pub state: State,
    pub quiet: bool,
}

impl Search<'_> {
    /// Makes the search, or the rest of one that was stopped. Returns the two records that are compared in the end.
    pub fn make(&mut self) -> Result<Vec<Record>, Stop> {
        let (good, bad) = (self.state.search.good.clone(), self.state.search.bad.clone());
        let (report, ends) = self.ends(&good.commit, &bad.commit)?;
        let Some(figure) = Bisected::between(&report) else {
            self.state.search.end = Some(SearchEnd::NoDifference { why: no_difference(&report) });
            self.state.search.report = Some(report);
            return Ok(ends.to_vec());
        };
        let levels = format!("{} changes by {:+.1} %", figure.name, figure.change / figure.before * 100.0);
        self.say(&format!("{levels} from GOOD to BAD"));
        self.state.search.figure = Some(figure.clone());
        let commits = self.repository.between(&[&good.commit], &bad.commit)?.len();
        let effort = Effort::of(commits, self.rules.confidence, self.worker.run.repeat.get() as usize);
        let mut goods = vec![good.commit.clone()];
        for base in self.repository.bases(&good.commit, &bad.commit)? {
            if base == good.commit {
                continue;
            }
            match self.tried(&base, &figure, &ends[0], effort)? {
                Tried::Good => goods.push(base),
                Tried::Bad => {
                    self.state.search.end = Some(SearchEnd::BaseIsBad { base: self.repository.named(&base)? });
                    self.state.search.report = Some(report);
                    return Ok(ends.to_vec());
                }
                Tried::Skipped => {}
            }
        }
        let mut found = bad.commit.clone();
        loop {
            let known: Vec<&str> = goods.iter().map(String::as_str).collect();
            let left = self.repository.between(&known, &found)?;
            let skipped: BTreeSet<&str> =
                self.state.search.of(Tried::Skipped).map(|named| named.commit.as_str()).collect();
            let open: Vec<&String> =
                left.iter().filter(|commit| **commit != found && !skipped.contains(commit.as_str())).collect();
            if open.is_empty() {
                return self.conclude(&report, left.len(), &found, &goods, &ends, effort);
            }
            let near = skipped.iter().filter(|commit| left.iter().any(|one| one == *commit)).count();
            let next = open[away(near, open.len())].clone();
            self.say(&format!("{} left to judge", open.len()));
            match self.tried(&next, &figure, &ends[0], effort)? {
                Tried::Good => goods.push(next),
                Tried::Bad => found = next,
                Tried::Skipped => {}
            }
        }
    }

    /// Runs both ends in turns until the gate can decide whether they differ, or no runs are left.
    fn ends(&mut self, good: &str, bad: &str) -> Result<(GateReport, [Record; 2]), Stop> {
        if let (Some(before), Some(now)) = (self.state.record(good), self.state.record(bad)) {
            return Ok((self.pairs(&before, &now), [before, now]));
        }
        let trees = [self.state.tree(true), self.state.tree(false)];
        for ((tree, commit), name) in trees.iter().zip([good, bad]).zip(["GOOD", "BAD"]) {
            self.say(&format!("building {name}"));
            self.repository.checkout(tree, commit)?;
            self.worker.build(tree).map_err(|stop| of_end(name, stop))?;
        }
        let mut sides = [Runs::new(), Runs::new()];
        let mut lots = SplitMix64::new(0);
        let most = self.worker.run.repeat.get() as usize;
        let mut wanted = FIRST_PAIRS.min(most);
        loop {
            while sides[0].count() < wanted {
                for at in if lots.coin() { [0, 1] } else { [1, 0] } {
                    let name = ["GOOD", "BAD"][at];
                    self.say(&format!("{name}, run {} of {wanted}", sides[at].count() + 1));
                    self.worker.once(&trees[at], &mut sides[at]).map_err(|stop| of_end(name, stop))?;
                }
            }
            let records = [0, 1].map(|at| sides[at].record(self.worker.run));
            let report = self.pairs(&records[0], &records[1]);
            if report.outcome != Outcome::Inconclusive || wanted == most {
                for (commit, record) in [good, bad].into_iter().zip(&records) {
                    self.state.keep(commit, record)?;
                }
                return Ok((report, records));
            }
            wanted = (2 * wanted).min(most);
        }
    }

    fn pairs(&self, good: &Record, bad: &Record) -> GateReport {
        let name = format!("GOOD, {}", self.state.search.good.short());
        evaluate_pairs(&name, good, bad, &self.rules)
    }

    /// The side of a commit, by what is known already or else by runs.
    fn tried(&mut self, commit: &str, figure: &Bisected, good: &Record, effort: Effort) -> Result<Tried, Stop> {
        if let Some(found) = self.state.known(commit) {
            return Ok(found);
        }
        let named = self.repository.named(commit)?;
        let mut runs = Runs::new();
        let (found, level, why) = match self.side(commit, figure, good, effort, &mut runs) {
            Ok((level, changed)) => {
                let why = changed
                    .is_none()
                    .then(|| format!("its figure is still between GOOD and BAD after {} runs", runs.count()));
                let found = changed.map_or(Tried::Skipped, |bad| if bad { Tried::Bad } else { Tried::Good });
                (found, Some(level), why)
            }
            Err(Stop::Skip(why)) => (Tried::Skipped, None, Some(why)),
            Err(other) => return Err(other),
        };
        self.say(&format!("{}: {}", named.short(), why.as_deref().unwrap_or(word(found))));
        self.state.note(TriedCommit { named, found, runs: runs.count() as u64, level, why })?;
        Ok(found)
    }

    /// The level of a commit, and whether the commit has the change.
    fn side(
        &self,
        commit: &str,
        figure: &Bisected,
        good: &Record,
        effort: Effort,
        runs: &mut Runs,
    ) -> Result<(f64, Option<bool>), Stop> {
        let [beside, tree] = [self.state.tree(true), self.state.tree(false)];
        self.repository.checkout(&tree, commit)?;
        self.worker.build(&tree)?;
        let in_turns = figure.in_turns();
        if in_turns && !beside.exists() {
            self.repository.checkout(&beside, &self.state.search.good.commit)?;
            self.worker.build(&beside)?;
        }
        let before = values(good, figure);
        let mut others = Runs::new();
        let mut lots = SplitMix64::new(0);
        let mut wanted = effort.first(before.len(), in_turns);
        loop {
            while runs.count() < wanted {
                let turns = if !in_turns {
                    &[1][..]
                } else if lots.coin() {
                    &[0, 1]
                } else {
                    &[1, 0]
                };
                for turn in turns {
                    let (tree, runs) = if *turn == 0 { (&beside, &mut others) } else { (&tree, &mut *runs) };
                    self.worker.once(tree, runs)?;
                }
            }
            let record = runs.record(self.worker.run);
            let now = values(&record, figure);
            let before = if in_turns { values(&others.record(self.worker.run), figure) } else { before.clone() };
            let found = side(&before, &now, figure.change, effort.confidence, in_turns);
            let (by, changed) = found.ok_or_else(|| Stop::Skip(format!("{} was not measured", figure.name)))?;
            let next = effort.next(wanted);
            if changed.is_some() || next.is_none() {
                self.state.keep(commit, &record)?;
                return Ok((figure.before + by, changed));
            }
            wanted = next.unwrap_or(wanted);
        }
    }

    /// The result of the search: nothing is left to try among `left` commits, of which `found` has the change.
    fn conclude(
        &mut self,
        report: &GateReport,
        left: usize,
        found: &str,
        goods: &[String],
        ends: &[Record; 2],
        effort: Effort,
    ) -> Result<Vec<Record>, Stop> {
        if left > 1 {
            let known: Vec<&str> = goods.iter().map(String::as_str).collect();
            let commits = self.repository.titled(&known, found)?;
            self.state.search.end = Some(SearchEnd::Suspects { commits });
            self.state.search.report = Some(report.clone());
            return Ok(ends.to_vec());
        }
        let figure = self.state.search.figure.clone().expect("it was found before the search");
        let parents = self.repository.parents(found)?;
        let mut parent = parents.iter().find(|parent| goods.contains(parent)).cloned();
        if parent.is_none()
            && let Some(first) = parents.first()
        {
            // The commit is good because a later one is, but was not measured: if that fails, GOOD stands in for it.
            parent = (self.tried(first, &figure, &ends[0], effort)? != Tried::Skipped).then(|| first.clone());
        }
        let parent = parent.unwrap_or_else(|| self.state.search.good.commit.clone());
        let record = |commit: &str| self.state.record(commit);
        let before = record(&parent).unwrap_or_else(|| ends[0].clone());
        let now = record(found).unwrap_or_else(|| ends[1].clone());
        let share = (self.level(found, &figure) - self.level(&parent, &figure)) / figure.change;
        let (commit, before_it) = (self.repository.named(found)?, self.repository.named(&parent)?);
        let baseline = Baseline {
            name: before_it.short(),
            records: vec![(parent.clone(), before.clone())],
            remedy: String::new(),
        };
        let rules = self.rules.clone();
        self.state.search.report = Some(evaluate(std::slice::from_ref(&now), Some(&baseline), &|_| rules.clone()));
        self.state.search.growths = growths(&before, &now, &|path| self.state.shorten(path));
        let merge = parents.len() > 1;
        self.state.search.end = Some(SearchEnd::Found { commit, merge, before: before_it, share });
        Ok(vec![before, now])
    }

    /// The level of the figure at a commit that was tried, or at an end.
    fn level(&self, commit: &str, figure: &Bisected) -> f64 {
        let search = &self.state.search;
        if commit == search.good.commit {
            return figure.before;
        }
        let tried = search.tried.iter().find(|tried| tried.named.commit == commit).and_then(|tried| tried.level);
        tried.unwrap_or(figure.before + figure.change)
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            output::note(&line);
        }
    }
}

/// The values of the figure in a record.
fn values(record: &Record, figure: &Bisected) -> Vec<f64> {
    let mut figures = figures_of([record]).into_iter();
    figures.find(|one| one.name == figure.name).map(|one| one.values).unwrap_or_default()
}

/// Picks the open commit to try after this many were skipped. The first pick halves the rest best; later picks move
/// away, as neighbours of a commit that does not build mostly do not build either.
fn away(skipped: usize, open: usize) -> usize {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let share = (skipped as f64 * GOLDEN).fract();
    ((open as f64 * share.powf(1.5)) as usize).min(open - 1)
}

fn word(found: Tried) -> &'static str {
    match found {
        Tried::Good => "as GOOD",
        Tried::Bad => "as BAD",
        Tried::Skipped => "skipped",
    }
}

/// The search ends if an end cannot be measured.
fn of_end(name: &str, stop: Stop) -> Stop {
    match stop {
        Stop::Skip(why) => Stop::Skip(format!("{name} cannot be measured: {why}")),
        other => other,
    }
}

fn no_difference(report: &GateReport) -> String {
    match report.outcome {
        Outcome::Inconclusive => "cannot decide whether GOOD and BAD differ: give more runs with --repeat, a larger \
                                  --limit, or a quieter machine"
            .to_owned(),
        Outcome::Fail => "a run of BAD failed".to_owned(),
        _ => "GOOD and BAD do not differ by more than the limit, so there is no change to find".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_tried_first_and_after_skips_one_further_away() {
        assert_eq!((away(0, 50), away(0, 1), away(9, 1)), (0, 0, 0));
        let tried: BTreeSet<usize> = (0..10).map(|skipped| away(skipped, 1000)).collect();
        assert!(
            tried.len() == 10 && tried.iter().any(|at| *at > 500) && tried.iter().all(|at| *at < 1000),
            "{tried:?}"
        );
    }
}
