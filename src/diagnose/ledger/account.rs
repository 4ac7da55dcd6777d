//! Turns readings into a ledger.

use super::cause::name;
use super::document::{Excess, ExpectedItem, Ledger, LedgerError, Movement, SCHEMA, StageExcess};
use super::reading::{MemoryKind, Reading};
use super::stage::Stage;
use crate::estimate::{Estimate, Group, Item, Model, Phase, Setup};
use crate::telemetry::Sample;
use crate::trend::{Collector, TrendVerdict};
use plimsoll_memory::bytes::ByteSize;

/// The smallest difference that counts, in bytes per parameter.
const LEAST_DIFFERENCE: f64 = 0.25;

/// The fraction of an excess that must disappear, or appear again, to count as gone or repeated.
const MOST_OF_IT: f64 = 0.75;

impl Ledger {
    /// Accounts `readings` of `place`, and the trends of `samples`; `at` is a number of parameters to project excesses to.
    ///
    /// # Errors
    /// If the setup cannot be estimated, there are fewer than one reading beyond the start, or they are out of order.
    pub fn account(
        model: &Model,
        setup: &Setup,
        place: MemoryKind,
        readings: Vec<Reading>,
        samples: &[Sample],
        at: Option<u64>,
    ) -> Result<Self, LedgerError> {
        let estimate = Estimate::of(model, setup)?;
        if let Some(pair) = readings.windows(2).find(|pair| pair[1].stage < pair[0].stage) {
            return Err(LedgerError::Order { stage: pair[1].stage, after: pair[0].stage });
        }
        let mut collector = Collector::default();
        samples.iter().for_each(|sample| collector.push(sample));
        let trends = collector.trends();
        let grave = |verdict: TrendVerdict| verdict != TrendVerdict::ReportOnly;
        let findings: Vec<_> = trends.findings.into_iter().filter(|finding| grave(finding.verdict)).collect();
        let accountable = readings.iter().any(|reading| reading.stage > Stage::Start);
        if !accountable && findings.is_empty() {
            return Err(LedgerError::NoReadings);
        }
        let parameters = model.parameters as f64;
        // Readings without a start count as growth from zero.
        let start = readings.first().filter(|first| first.stage == Stage::Start);
        let from = start.map_or(ByteSize::ZERO, |start| start.bytes);
        let rest = &readings[usize::from(start.is_some())..];
        let movements = movements(&estimate, place, from, rest);
        let resolution =
            readings.iter().map(|reading| reading.resolution.bytes()).max().unwrap_or(0) as f64 / parameters;
        let least = LEAST_DIFFERENCE.max(2.0 * resolution);
        let excesses = excesses(&movements, least, setup, place, parameters, at);
        let expected = movements.iter().map(|movement| movement.expected).sum::<f64>();
        let measured = movements.iter().map(|movement| movement.measured).sum::<f64>();
        let beyond = measured - expected;
        Ok(Self {
            schema: SCHEMA.to_owned(),
            model: *model,
            setup: *setup,
            place,
            measured,
            beyond,
            exceeds: beyond > (expected / 20.0).max(least),
            expected,
            stages: stages(&excesses, at),
            readings,
            movements,
            excesses,
            at,
            verdict: Some(trends.verdict).filter(|&verdict| grave(verdict)),
            findings,
        })
    }
}

/// Measured and expected growth between readings. State expected at a stage without a reading is expected by the next
/// reading.
fn movements(estimate: &Estimate, place: MemoryKind, from: ByteSize, readings: &[Reading]) -> Vec<Movement> {
    let parameters = estimate.model.parameters as f64;
    let mut pending: Vec<ExpectedItem> = Vec::new();
    let mut until = Stage::Start;
    let mut before = from;
    let mut movements = Vec::with_capacity(readings.len());
    for (index, reading) in readings.iter().enumerate() {
        pending.extend(appearing(estimate, place, until, reading.stage));
        until = until.max(reading.stage);
        let measured = (reading.bytes.bytes() as f64 - before.bytes() as f64) / parameters;
        before = reading.bytes;
        let mut rest = readings[index + 1..].iter().take_while(|next| next.stage <= reading.stage).peekable();
        let items = match rest.peek() {
            None => std::mem::take(&mut pending),
            // The optimizer's state comes with the update of the weights, if that has a label of its own.
            Some(_) => {
                take(&mut pending, measured, !is_update(&reading.label) && rest.any(|next| is_update(&next.label)))
            }
        };
        movements.push(Movement {
            stage: reading.stage,
            label: reading.label.clone(),
            position: reading.position,
            measured,
            expected: items.iter().map(|item| item.rate).sum(),
            items,
        });
    }
    movements
}

/// The state that an estimate has by `to` and not by `from`.
fn appearing(estimate: &Estimate, place: MemoryKind, from: Stage, to: Stage) -> Vec<ExpectedItem> {
    let parameters = estimate.model.parameters as f64;
    let at = |row: &crate::estimate::Row, phase: Option<Phase>| {
        let places = phase.map(|phase| row.phases[phase as usize]);
        let bytes =
            places.map_or(ByteSize::ZERO, |places| if place == MemoryKind::Host { places.host } else { places.device });
        bytes.bytes() as f64 / parameters
    };
    let fixed = estimate.rows.iter().filter(|row| row.group == Group::Fixed);
    let items = fixed.map(|row| ExpectedItem { item: row.item, rate: at(row, to.phase()) - at(row, from.phase()) });
    items.filter(|item| item.rate > 0.0).collect()
}

/// Whether a label is that of the update of the weights.
fn is_update(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    !label.starts_with("before") && ["adam", "optimizer", "update"].iter().any(|word| label.contains(word))
}

/// The largest items that fit into `measured`, if more readings of the stage follow; without the optimizer's state if it
/// comes `later`.
fn take(pending: &mut Vec<ExpectedItem>, measured: f64, later: bool) -> Vec<ExpectedItem> {
    pending.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    let mut left = measured + LEAST_DIFFERENCE;
    let (taken, kept) = std::mem::take(pending).into_iter().partition(|item: &ExpectedItem| {
        let fits = item.rate <= left && !(later && item.item == Item::Optimizer);
        left -= if fits { item.rate } else { 0.0 };
        fits
    });
    *pending = kept;
    taken
}

/// The total excess of each stage.
fn stages(excesses: &[Excess], at: Option<u64>) -> Vec<StageExcess> {
    let of = |stage: Stage| excesses.iter().filter(move |excess| excess.stage == stage);
    let sums = Stage::ALL.into_iter().filter(|&stage| of(stage).next().is_some()).map(|stage| StageExcess {
        stage,
        rate: of(stage).map(|excess| excess.rate).sum(),
        bytes: of(stage).map(|excess| excess.bytes).sum(),
        projected: at.map(|_| of(stage).filter_map(|excess| excess.projected).sum()),
    });
    sums.collect()
}

fn excesses(
    movements: &[Movement],
    least: f64,
    setup: &Setup,
    place: MemoryKind,
    parameters: f64,
    at: Option<u64>,
) -> Vec<Excess> {
    let size = |rate: f64, parameters: f64| ByteSize::new((rate * parameters).round().max(0.0) as u64);
    // The excess so far, at each reading.
    let beyond = movements.iter().scan(0.0, |beyond, movement| {
        *beyond += movement.measured - movement.expected;
        Some(*beyond)
    });
    let beyond: Vec<f64> = beyond.collect();
    let mut excesses: Vec<(usize, Excess)> = Vec::new();
    for (index, movement) in movements.iter().enumerate() {
        let rate = movement.measured - movement.expected;
        if rate <= least {
            continue;
        }
        let appeared: Vec<String> = excesses.iter().map(|(_, excess)| excess.name.clone()).collect();
        for (name, rate, ground) in name((movement.stage, &movement.label), rate, least, (setup, place), &appeared) {
            let lowest = beyond[index + 1..].iter().copied().min_by(f64::total_cmp);
            excesses.push((
                index,
                Excess {
                    name,
                    ground,
                    stage: movement.stage,
                    label: movement.label.clone(),
                    position: movement.position,
                    rate,
                    bytes: size(rate, parameters),
                    projected: at.map(|at| size(rate, at as f64)),
                    came_back: lowest.map(|lowest| lowest <= beyond[index] - MOST_OF_IT * rate),
                    reused: None,
                },
            ));
        }
    }
    let later: Vec<(usize, f64)> = excesses.iter().map(|(index, excess)| (*index, excess.rate)).collect();
    for (order, (index, excess)) in excesses.iter_mut().enumerate() {
        // Another excess of the same size was added while it was held, so it was not reused. Later steps without growth
        // reuse it.
        let again = later[order + 1..].iter().any(|&(_, rate)| rate >= MOST_OF_IT * excess.rate);
        let held = excess.came_back != Some(true);
        let steps = movements[*index + 1..].iter().filter(|movement| movement.stage == Stage::Later);
        let quiet = steps.clone().count() > 0 && steps.clone().all(|movement| movement.measured <= least);
        excess.reused = match (held, again, quiet) {
            (true, true, _) => Some(false),
            (true, false, true) => Some(true),
            _ => None,
        };
    }
    excesses.into_iter().map(|(_, excess)| excess).collect()
}
