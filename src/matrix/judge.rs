//! Builds the table from runs.

use std::collections::BTreeMap;

use super::document::{Change, Matrix, Row, RowVerdict, SCHEMA};
use super::figure::Figure;
use super::plan::{Configuration, Expect, Plan};
use super::run::Run;
use crate::gate::Outcome;
use plimsoll_diagnose::trend::{self, ConfigurationVerdict, Readings, Spread, compare};
use plimsoll_memory::bytes::ByteSize;

impl Matrix {
    /// Builds the table of those `runs` that match the present configurations of `plan`.
    pub fn of(plan: &Plan, runs: &[Run]) -> Self {
        let sides: Vec<Side<'_>> = plan.configurations.iter().map(|known| Side::of(plan, known, runs)).collect();
        let baseline = sides.iter().find(|side| side.configuration.name == plan.baseline().name);
        let baseline = baseline.expect("the baseline is one of the configurations");
        let rows: Vec<Row> = sides.iter().map(|side| row(plan, baseline, side)).collect();
        let (outcome, message) = outcome(plan, baseline, &rows);
        Self {
            schema: SCHEMA.to_owned(),
            baseline: baseline.configuration.name.clone(),
            gate: plan.gate,
            repeats: plan.repeats,
            rows,
            outcome,
            message,
        }
    }
}

/// The runs of a configuration.
struct Side<'a> {
    configuration: &'a Configuration,
    good: Vec<&'a Run>,
    failed: Vec<&'a Run>,
    figures: BTreeMap<Figure, Change>,
}

impl<'a> Side<'a> {
    fn of(plan: &Plan, configuration: &'a Configuration, runs: &'a [Run]) -> Self {
        let digest = plan.digest(configuration);
        let own = runs.iter().filter(|run| run.digest == digest && run.repeat <= plan.runs_of(configuration));
        let (good, failed): (Vec<_>, Vec<_>) = own.partition(|run| run.succeeded());
        let figures = Figure::ALL.into_iter().filter_map(|figure| Some((figure, summary(&good, figure)?))).collect();
        Self { configuration, good, failed, figures }
    }

    /// The log's figures over all runs.
    fn readings(&self) -> Readings {
        let bytes = |figure| self.figures.get(&figure).map(|change| ByteSize::new(change.value));
        let logs = || self.good.iter().filter_map(|run| run.log.as_ref()).map(|log| &log.readings);
        let widest = |of: fn(&Readings) -> Option<Spread>| {
            logs().filter_map(of).max_by_key(|spread| spread.highest.saturating_sub(spread.lowest))
        };
        Readings {
            label: logs().next().map(|readings| readings.label.clone()).unwrap_or_default(),
            seconds: self.figures.get(&Figure::StepTime).map(|change| change.value as f64 / 1e9),
            rises: logs().any(|readings| readings.rises),
            unseen_ranks: logs().filter_map(|readings| readings.unseen_ranks).max(),
            allocated: bytes(Figure::Allocated),
            reserved: bytes(Figure::Reserved),
            allocated_spread: widest(|readings| readings.allocated_spread),
            reserved_spread: widest(|readings| readings.reserved_spread),
        }
    }

    fn notes(&self, plan: &Plan) -> Vec<String> {
        let failed = self.failed.iter().filter_map(|run| {
            let log = run.log_file.as_ref().map_or(String::new(), |log| format!(": see {log}"));
            Some(format!("run {} {}{log}", run.repeat, run.end.as_ref()?))
        });
        let mut notes: Vec<String> = failed.collect();
        notes.extend(self.good.iter().filter_map(|run| run.note.clone()));
        let readings = self.readings();
        if let Some(unseen) = readings.unseen_ranks {
            notes.push(format!(
                "{unseen} ranks were not seen: Ray shows one line for several; set RAY_DEDUP_LOGS=0 to see them all"
            ));
        }
        if plan.label.is_none() && !readings.label.is_empty() {
            notes.push(format!("read at the label `{}`; `label = \"..\"` chooses another", readings.label));
        }
        notes.dedup();
        let due = plan.runs_of(self.configuration) as usize;
        let made = self.good.len() + self.failed.len();
        if made < due {
            notes.push(format!("{made} of {due} runs are done"));
        }
        notes
    }
}

/// The median, minimum and maximum of `figure`; `None` if no run has it.
fn summary(runs: &[&Run], figure: Figure) -> Option<Change> {
    let mut values: Vec<u64> = runs.iter().filter_map(|run| run.figure(figure)).collect();
    values.sort_unstable();
    let (lowest, highest) = (*values.first()?, *values.last()?);
    let value = values[(values.len() - 1) / 2].midpoint(values[values.len() / 2]);
    Some(Change { value, lowest, highest, share: None, allowed: None, near: None })
}

fn row(plan: &Plan, baseline: &Side<'_>, side: &Side<'_>) -> Row {
    let is_baseline = side.configuration.name == baseline.configuration.name;
    let readings = side.readings();
    let mut figures = side.figures.clone();
    if !is_baseline {
        for (figure, change) in &mut figures {
            beside(plan, *figure, baseline.figures.get(figure), change);
        }
    }
    let verdict = match (is_baseline, side.good.is_empty(), side.failed.is_empty()) {
        (_, true, false) => RowVerdict::Failed,
        (true, ..) => RowVerdict::Baseline,
        _ => verdict(plan, &baseline.readings(), &readings, &figures),
    };
    let spreads = [readings.allocated_spread, readings.reserved_spread];
    let by_rank = spreads.into_iter().flatten().any(|spread| spread.rank_dependent);
    let mut reading = words(verdict, &figures);
    for (is_so, words) in [(readings.rises, ", growing"), (by_rank, ", varies by rank")] {
        if is_so {
            reading.push_str(words);
        }
    }
    Row {
        name: side.configuration.name.clone(),
        verdict,
        reading,
        runs: side.good.len() as u32,
        failed: side.failed.len() as u32,
        label: Some(readings.label).filter(|label| !label.is_empty()),
        allocated_spread: readings.allocated_spread,
        reserved_spread: readings.reserved_spread,
        expect: plan.expect(side.configuration),
        passes: passes(plan, verdict, side, &figures),
        figures,
        notes: side.notes(plan),
    }
}

/// Compares `change` with the baseline's figure.
fn beside(plan: &Plan, figure: Figure, base: Option<&Change>, change: &mut Change) {
    change.allowed = plan.gate.allowance(figure);
    let Some(base) = base.map(|base| base.value as f64) else { return };
    change.share = (base > 0.0).then(|| change.value as f64 / base - 1.0);
    let margin = plan.gate.near(figure).margin(base, figure.unit()).unwrap_or(0.0);
    change.near = Some(change.value as f64 <= base + margin);
}

/// Compares the logs if both sides have allocated and reserved memory, otherwise the meter's readings.
fn verdict(plan: &Plan, base: &Readings, own: &Readings, figures: &BTreeMap<Figure, Change>) -> RowVerdict {
    let allowance = trend::Allowance {
        allocated: plan.gate.near(Figure::Allocated),
        reserved: plan.gate.near(Figure::Reserved),
        time: plan.gate.near(Figure::StepTime),
    };
    match compare(base, own, &allowance).verdict {
        ConfigurationVerdict::Leak => return RowVerdict::Leak,
        ConfigurationVerdict::Fragmentation => return RowVerdict::Fragmentation,
        // Without step times, the time of the process decides.
        ConfigurationVerdict::Cured | ConfigurationVerdict::Solved => {
            return if time(figures).is_some_and(|time| time.near == Some(true)) {
                RowVerdict::Solved
            } else {
                RowVerdict::Cured
            };
        }
        ConfigurationVerdict::Unknown => {}
    }
    let metered = [Figure::PeakRss, Figure::PeakAnon, Figure::GpuPeak].map(|figure| figures.get(&figure)?.near);
    match time(figures).and_then(|time| time.near) {
        _ if metered.contains(&Some(false)) => RowVerdict::MoreMemory,
        Some(false) if metered.contains(&Some(true)) => RowVerdict::MoreTime,
        Some(true) if metered.contains(&Some(true)) => RowVerdict::Near,
        _ => RowVerdict::Unknown,
    }
}

/// The time to compare: of a step if possible, otherwise of the whole run.
fn time(figures: &BTreeMap<Figure, Change>) -> Option<&Change> {
    let of = |figure| figures.get(&figure).filter(|change: &&Change| change.near.is_some());
    of(Figure::StepTime).or_else(|| of(Figure::WallTime))
}

fn words(verdict: RowVerdict, figures: &BTreeMap<Figure, Change>) -> String {
    let share = time(figures).and_then(|time| time.share);
    match (verdict, share) {
        (RowVerdict::Cured, Some(share)) => format!("cured at {:+.1} % time", share * 100.0),
        (RowVerdict::Cured, None) => "cured at unknown time".to_owned(),
        (RowVerdict::MoreTime, Some(share)) => format!("near the baseline at {:+.1} % time", share * 100.0),
        _ => verdict.to_string(),
    }
}

/// Whether a configuration passes the gate; `None` if undecided or not judged.
fn passes(plan: &Plan, verdict: RowVerdict, side: &Side<'_>, figures: &BTreeMap<Figure, Change>) -> Option<bool> {
    if plan.gate.is_empty() || side.configuration.name == plan.baseline().name {
        return None;
    }
    // A configuration is not usable if any of its runs fails.
    if verdict == RowVerdict::Failed || !side.failed.is_empty() {
        return Some(false);
    }
    let near = |figure: Figure| match figure {
        Figure::StepTime | Figure::WallTime => time(figures)?.near,
        _ => figures.get(&figure)?.near,
    };
    let judged = Figure::ALL.into_iter().filter(|figure| plan.gate.allowance(*figure).is_some());
    let judged: Vec<Option<bool>> = judged.map(near).collect();
    if judged.contains(&Some(false)) {
        return Some(false);
    }
    // Ranks that were not seen might not pass.
    let seen = side.readings().unseen_ranks.is_none();
    (seen && !judged.contains(&None)).then_some(true)
}

fn outcome(plan: &Plan, baseline: &Side<'_>, rows: &[Row]) -> (Outcome, String) {
    if baseline.good.is_empty() {
        let name = &baseline.configuration.name;
        return (
            Outcome::Inconclusive,
            format!("nothing can be compared: the baseline `{name}` has no run that succeeded"),
        );
    }
    let names = |of: &dyn Fn(&Row) -> bool| {
        let names: Vec<String> = rows.iter().filter(|row| of(row)).map(|row| format!("`{}`", row.name)).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let wanted = |row: &Row, expect, passes| row.expect == expect && row.passes == Some(passes);
    if let Some(names) = names(&|row| wanted(row, Expect::Pass, false)) {
        return (Outcome::Fail, format!("not near the baseline: {names}"));
    }
    if let Some(names) = names(&|row| wanted(row, Expect::Fail, true)) {
        return (Outcome::Fail, format!("unexpectedly near the baseline: {names}; remove `expect`"));
    }
    if let Some(names) = names(&|row| row.expect != Expect::Any && row.passes.is_none()) {
        let unseen = rows.iter().flat_map(|row| &row.notes).any(|note| note.contains("RAY_DEDUP_LOGS"));
        let why = if unseen {
            "ranks were not seen (RAY_DEDUP_LOGS=0 shows them)"
        } else {
            "a figure of the gate was not measured"
        };
        return (Outcome::Inconclusive, format!("{why}: {names}"));
    }
    if plan.gate.is_empty() {
        return (Outcome::Pass, "nothing is judged: the plan has no gate".to_owned());
    }
    if let Some(names) = names(&|row| wanted(row, Expect::Pass, true)) {
        return (Outcome::Pass, format!("near the baseline: {names}"));
    }
    (Outcome::Pass, "everything is as expected".to_owned())
}
