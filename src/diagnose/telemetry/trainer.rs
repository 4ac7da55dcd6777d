//! The Trainer of Hugging Face: deltas by stage, `init`, `train`, `eval` and others.

use std::collections::BTreeMap;

use super::figure::Figure;
use super::sample::{Format, Metric, Position, Sample};
use super::scan::{number, unit};
use plimsoll_memory::bytes::ByteSize;

/// How many stages are kept at most.
const STAGES: usize = 32;

/// Deltas that the Trainer logs, until a report is complete.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    /// Signed bytes by key, such as `train_mem_gpu_alloc_delta`, with the position of its line.
    values: BTreeMap<String, (i64, Position)>,
    /// The bytes of one unit of the last value.
    unit: u64,
}

impl Deltas {
    /// Whether no delta was read.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes a line such as `train_mem_gpu_alloc_delta   =      693MB` or `"train_mem_gpu_alloc_delta": 726663168,`.
    pub(super) fn take(&mut self, position: Position, text: &str) -> bool {
        let mut taken = false;
        for part in text.split(',') {
            let Some((at, _)) = part.match_indices("_mem_").find(|(at, _)| known(&part[*at..])) else { continue };
            let foreign = |c: char| !c.is_ascii_alphanumeric() && c != '_';
            let start = at - part[..at].rsplit(foreign).next().map_or(0, str::len);
            let end = part[at..].find(foreign).map_or(part.len(), |end| at + end);
            let value = part[end..].trim_start_matches(['\'', '"', ' ', '=', ':']);
            let Some(number) = number(value) else { continue };
            let unit = unit(number.rest).map_or(1, |unit| unit.0);
            let bytes = number.value * unit as f64;
            if bytes.abs() < 1e18 && (self.values.len() < STAGES * 6 || self.values.contains_key(&part[start..end])) {
                self.values.insert(part[start..end].to_owned(), (bytes as i64, position));
                self.unit = unit;
                taken = true;
            }
        }
        taken
    }

    /// The samples of all stages: the peak of a stage is the memory before the model, plus the allocations of the model
    /// and the stage, plus the stage's own peak above those.
    pub(super) fn samples(&mut self) -> Vec<Sample> {
        let values = std::mem::take(&mut self.values);
        let get = |key: String| values.get(&key).map(|value| value.0);
        let stages: std::collections::BTreeSet<&str> =
            values.keys().filter_map(|key| key.split_once("_mem_")).map(|(stage, _)| stage).collect();
        let mut samples = Vec::new();
        for stage in stages.into_iter().filter(|stage| *stage != "before_init") {
            let position = values.iter().filter(|(key, _)| key.starts_with(stage)).map(|(_, value)| value.1).min();
            let mut sample = Sample::new(Format::Trainer, position.unwrap_or_default());
            sample.label = Some(stage.to_owned());
            for (place, held, peak) in
                [("gpu", Metric::Allocated, Metric::MaxAllocated), ("cpu", Metric::HostUsed, Metric::HostPeak)]
            {
                let Some(before) = get(format!("before_init_mem_{place}")) else { continue };
                let Some(own) = get(format!("{stage}_mem_{place}_alloc_delta")) else { continue };
                let init = if stage == "init" { Some(0) } else { get(format!("init_mem_{place}_alloc_delta")) };
                let Some(base) = init.and_then(|init| before.checked_add(init)?.checked_add(own)) else { continue };
                sample.with(held, self.figure(base, 3));
                let peaked = get(format!("{stage}_mem_{place}_peaked_delta"));
                sample.with(peak, peaked.and_then(|peaked| self.figure(base.checked_add(peaked)?, 4)));
            }
            samples.extend(sample.tells().then_some(sample));
        }
        samples
    }

    /// A sum of `terms` values, each rounded down to its unit.
    fn figure(&self, bytes: i64, terms: u64) -> Option<Figure> {
        let bytes = u64::try_from(bytes).ok()?;
        let step = if self.unit > 1 { self.unit.checked_mul(terms)? } else { 0 };
        Some(Figure { bytes: ByteSize::new(bytes), resolution: ByteSize::new(step) })
    }
}

/// Whether `text` begins like the end of one of the Trainer's keys.
fn known(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("_mem_gpu").or_else(|| text.strip_prefix("_mem_cpu")) else { return false };
    rest.starts_with("_alloc_delta") || rest.starts_with("_peaked_delta") || !rest.starts_with('_')
}
