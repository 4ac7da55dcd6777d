//! [`compare_records`]: the changes between two records.

mod values;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::values::{added, changes, diff, escape, json, removed};
use super::document::Record;
use super::results::EntryResult;
use super::rows::{Row, Rows};
use super::semantics::{EntrySemantics, Semantics};
use plimsoll_memory::meter::{Metric, Reading};

/// The changes between two records, the earlier first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Differences {
    /// `plimsoll.differences/1`.
    pub schema: String,
    /// The semantics digests of the two records.
    pub digests: [String; 2],
    /// Changes in the meaning of the figures.
    pub semantics: Rows<Change>,
    /// Changes in how memory was managed.
    pub policy: Rows<Change>,
    /// Changes of the machine, or of the version of Plimsoll.
    pub environment: Rows<Change>,
    /// Changes in how the validation and the profile of common entries ended.
    pub results: Rows<Change>,
    /// The timings and peaks of both records; absent if the semantics differ, because the figures then mean different
    /// things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// A JSON pointer to the change, in which entries and tensors are named instead of numbered:
    /// `/entries/entry_000003.pt/bytes`.
    pub path: String,
    /// The kind of change at this place.
    pub kind: ChangeKind,
    /// The value in the earlier record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value in the later record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What happened to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Only the later record has it.
    Added,
    /// Only the earlier record has it.
    Removed,
    /// Both have it, with different values.
    Changed,
    /// Both have the entries, in a different order; the values are those at the first place that differs.
    Reordered,
}

/// The figures of two records of the same semantics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The medians in nanoseconds per launch: first over all entries, then for each entry.
    pub timing: Rows<TimingDelta>,
    /// Every reading of every phase that both records have.
    pub memory: Vec<MemoryDelta>,
}

/// A time in two records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimingDelta {
    /// The entry; absent for the figure over all entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The median nanoseconds per launch in the earlier record.
    pub before_ns: f64,
    /// The median nanoseconds per launch in the later record.
    pub after_ns: f64,
}

/// A reading in two records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryDelta {
    /// The phase.
    pub phase: String,
    /// The figure.
    pub metric: Metric,
    /// The reading of the earlier record.
    pub before: Reading,
    /// The reading of the later record.
    pub after: Reading,
}

impl Differences {
    /// The value of `schema`.
    pub const SCHEMA: &'static str = "plimsoll.differences/1";

    /// Whether the two records measured different things, so that `plimsoll compare` exits 1.
    ///
    /// Digests of entries that cover different bytes count as different: nothing shows that the entries are the same.
    pub fn semantics_changed(&self) -> bool {
        self.digests[0] != self.digests[1] || !self.semantics.is_empty()
    }
}

/// The changes from `before` to `after`.
pub fn compare_records(before: &Record, after: &Record) -> Differences {
    let semantics = semantics_changes(&before.semantics, &after.semantics);
    let same = semantics.is_empty() && before.semantics_digest == after.semantics_digest;
    let (results, timing) = result_changes(before, after, same);
    let mut environment = changes(&before.environment, &after.environment);
    diff("/plimsoll", &Value::from(&*before.plimsoll), &Value::from(&*after.plimsoll), &mut environment);
    Differences {
        schema: Differences::SCHEMA.to_owned(),
        digests: [before.semantics_digest.clone(), after.semantics_digest.clone()],
        semantics,
        policy: changes(&before.policy, &after.policy).into(),
        environment: environment.into(),
        results,
        figures: same.then(|| Figures { timing, memory: memory_deltas(before, after) }),
    }
}

fn semantics_changes(before: &Semantics, after: &Semantics) -> Rows<Change> {
    // Fields beside the entries are compared as they are, entries by name: an entry added at the front must not make
    // every other appear changed.
    let (Semantics::Capture(before), Semantics::Capture(after)) = (before, after) else {
        return changes(before, after).into();
    };
    let mut found = Rows::from(changes(&before.without_entries(), &after.without_entries()));
    entry_changes(&before.entries, &after.entries, &mut found);
    found
}

/// The positions of a record's entries, by the hashes of their names: the names themselves would take most of the
/// memory.
struct Places(HashMap<u128, usize>);

impl Places {
    fn of<T: Row>(rows: &Rows<T>, name: impl Fn(&T) -> &str) -> Self {
        Self(rows.iter().enumerate().map(|(at, row)| (Self::key(name(&row)), at)).collect())
    }

    fn get(&self, name: &str) -> Option<usize> {
        self.0.get(&Self::key(name)).copied()
    }

    fn key(name: &str) -> u128 {
        let mut key = [0; 16];
        blake3::Hasher::new().update(name.as_bytes()).finalize_xof().fill(&mut key);
        u128::from_le_bytes(key)
    }
}

fn entry_changes(before: &Rows<EntrySemantics>, after: &Rows<EntrySemantics>, found: &mut Rows<Change>) {
    if before == after {
        return;
    }
    let [earlier, later] = [before, after].map(|entries| Places::of(entries, |entry| &entry.name));
    let mut now = after.reader();
    for entry in before {
        let path = format!("/entries/{}", escape(&entry.name));
        match later.get(&entry.name).and_then(|at| now.get(at)) {
            None => found.push(removed(path, json(&entry.digest))),
            Some(now) if *entry != *now => {
                let (mut old, mut new) = (json(&*entry), json(now));
                if entry.covers != now.covers {
                    // Digests over different bytes differ even if the entries do not.
                    for value in [&mut old, &mut new] {
                        value.as_object_mut().and_then(|fields| fields.remove("digest"));
                    }
                }
                let mut changes = Vec::new();
                diff(&path, &old, &new, &mut changes);
                found.extend(changes);
            }
            Some(_) => {}
        }
    }
    let new = after.iter().filter(|entry| earlier.get(&entry.name).is_none());
    found.extend(new.map(|entry| added(format!("/entries/{}", escape(&entry.name)), json(&entry.digest))));

    let kept = before.iter().filter(|entry| later.get(&entry.name).is_some());
    let now = after.iter().filter(|entry| earlier.get(&entry.name).is_some());
    if let Some((old, new)) = kept.zip(now).find(|(old, new)| old.name != new.name) {
        found.push(Change {
            path: "/entries".to_owned(),
            kind: ChangeKind::Reordered,
            before: Some(json(&old.name)),
            after: Some(json(&new.name)),
        });
    }
}

/// The changes of results, and of times if `same` entries were measured: all in one pass, as rows cost time to unpack.
fn result_changes(before: &Record, after: &Record, same: bool) -> (Rows<Change>, Rows<TimingDelta>) {
    let outcome = |result: &EntryResult| {
        let validation = result.validation.as_ref().map(|validation| validation.status);
        (
            validation,
            result.profile.as_ref().map(|profile| profile.status),
            result.failure().map(|failure| failure.kind),
        )
    };
    let (mut found, mut timing) = (Rows::default(), Rows::default());
    if let (true, Some(old), Some(new)) = (same, before.results.timing, after.results.timing) {
        timing.push(TimingDelta { entry: None, before_ns: old.median_ns, after_ns: new.median_ns });
    }
    let mut pair = |before: &EntryResult, after: &EntryResult| {
        let (old, new) = (outcome(before), outcome(after));
        if old != new {
            let named = |(validation, profile, failure)| {
                let fields =
                    [("validation", json(&validation)), ("profile", json(&profile)), ("failure", json(&failure))];
                Value::from_iter(fields)
            };
            let mut changes = Vec::new();
            diff(&format!("/results/{}", escape(&after.name)), &named(old), &named(new), &mut changes);
            found.extend(changes);
        }
        let median = |result: &EntryResult| Some(result.profile.as_ref()?.statistics?.median_ns);
        if let (true, Some(before_ns), Some(after_ns)) = (same, median(before), median(after)) {
            timing.push(TimingDelta { entry: Some(after.name.clone()), before_ns, after_ns });
        }
    };
    let [earlier, later] = [before, after].map(|record| &record.results.entries);
    if same {
        // Equal semantics have the same entries in the same order.
        earlier.iter().zip(later).for_each(|(old, new)| pair(&old, &new));
        return (found, timing);
    }
    let (places, mut old) = (Places::of(earlier, |result| &result.name), earlier.reader());
    for new in later {
        if let Some(old) = places.get(&new.name).and_then(|at| old.get(at)) {
            pair(old, &new);
        }
    }
    (found, timing)
}

fn memory_deltas(before: &Record, after: &Record) -> Vec<MemoryDelta> {
    let mut deltas = Vec::new();
    for phase in &after.phases {
        let Some(old) = before.phases.iter().find(|old| old.phase == phase.phase) else { continue };
        for (metric, reading) in &phase.readings {
            if let Some(earlier) = old.readings.get(metric) {
                deltas.push(MemoryDelta {
                    phase: phase.phase.clone(),
                    metric: *metric,
                    before: earlier.clone(),
                    after: reading.clone(),
                });
            }
        }
    }
    deltas
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{SourceKind, sample};
    use plimsoll_capture::Digest;
    use plimsoll_capture::batch::OverCap;
    use plimsoll_capture::compare::{Comparison, Preset, Tolerance};
    use plimsoll_capture::timing::{Protocol, RelativeError};
    use plimsoll_memory::bytes::ByteSize;

    /// The sample with `change` applied and its digest recomputed.
    fn with(change: impl FnOnce(&mut Record)) -> Record {
        let mut record = sample::record();
        change(&mut record);
        record.semantics_digest = record.semantics.digest();
        record
    }

    fn line(what: &str, changed: &Record) -> String {
        let found = compare_records(&sample::record(), changed);
        let sections =
            [("semantics", &found.semantics), ("policy", &found.policy), ("environment", &found.environment)];
        let paths: Vec<String> = sections
            .iter()
            .flat_map(|(section, changes)| changes.iter().map(move |change| format!("{section}{}", change.path)))
            .collect();
        let verdict = if found.semantics_changed() { "changed" } else { "same" };
        assert_eq!(
            found.figures.is_none(),
            found.semantics_changed(),
            "figures are compared only if they mean the same"
        );
        format!("{what:<24} {verdict:<8} {}", paths.join(" ")).trim_end().to_owned() + "\n"
    }

    #[test]
    fn policy_and_environment_leave_the_semantics_digest_as_it_is() {
        let batching =
            |record: &mut Record, cap| sample::capture_policy(record).batching.as_mut().unwrap().batch_bytes = cap;
        let text = [
            line("nothing", &with(|_| {})),
            line("byte cap", &with(|r| batching(r, Some(ByteSize::mib(512))))),
            line("no byte cap", &with(|r| batching(r, None))),
            line("batches", &with(|r| sample::capture_policy(r).batching.as_mut().unwrap().batches.truncate(1))),
            line(
                "over-cap rule",
                &with(|r| sample::capture_policy(r).batching.as_mut().unwrap().over_cap = OverCap::Refuse),
            ),
            line("recycling", &with(|r| sample::capture_policy(r).recycling.recycle_after = None)),
            line("threads", &with(|r| sample::capture_policy(r).threads = 16)),
            line("source", &with(|r| sample::capture_policy(r).source.kind = SourceKind::Store)),
            line("timeout", &with(|r| sample::capture_policy(r).timeout_ns = None)),
            line("sampling interval", &with(|r| sample::capture_policy(r).sample_interval_ns = 1_000_000)),
            line("RAM", &with(|r| r.environment.system.as_mut().unwrap().memory = ByteSize::gib(128))),
            line("torch", &with(|r| drop(r.environment.versions.insert("torch".to_owned(), "2.12.0".to_owned())))),
            line("version of plimsoll", &with(|r| r.plimsoll = "0.2.0".to_owned())),
        ];
        assert!(text.iter().all(|line| line.contains(" same")));
        sample::assert_snapshot("record_semantics_same", &text.concat());
    }

    #[test]
    fn what_the_figures_mean_changes_the_semantics_digest() {
        let tolerance = |value| Tolerance::new(value).unwrap();
        let text = [
            line("an entry's bytes", &with(|r| sample::capture(r).entries[1].digest = sample::digest_of("other"))),
            line("an entry's size", &with(|r| sample::capture(r).entries[1].bytes = ByteSize::mib(1))),
            line("an entry's shape", &with(|r| sample::capture(r).entries[1].tensors[1].shape[0] = 2)),
            line("an entry's strides", &with(|r| sample::capture(r).entries[1].tensors[1].strides = vec![1, 262_144])),
            line("a tensor more", &with(|r| drop(sample::capture(r).entries[1].tensors.pop()))),
            line(
                "what a digest covers",
                &with(|r| {
                    sample::capture(r).entries[0].covers = Digest::Full;
                    sample::capture(r).entries[0].digest = sample::digest_of("full");
                }),
            ),
            line("order", &with(|r| sample::capture(r).entries.all_mut().swap(1, 2))),
            line("an entry removed", &with(|r| drop(sample::capture(r).entries.all_mut().remove(0)))),
            line("an entry added", &with(|r| sample::capture(r).entries.all_mut().insert(0, sample::entry(9)))),
            line("an entry renamed", &with(|r| sample::capture(r).entries[3].name = "a/b~c.pt".to_owned())),
            line(
                "a tolerance",
                &with(|r| {
                    sample::capture(r).comparison = Some(Comparison::tolerance(tolerance(1e-3), Tolerance::ZERO));
                }),
            ),
            line("a comparison", &with(|r| sample::capture(r).comparison = Some(Preset::Torch.into()))),
            line(
                "repetitions",
                &with(|r| {
                    let launches = 101.try_into().unwrap();
                    sample::capture(r).timing = Some(Protocol::KernelForge { warmup: 25, launches });
                }),
            ),
            line("protocol", &with(|r| sample::capture(r).timing = Some(Protocol::samples()))),
            line(
                "a protocol's bound",
                &with(|r| {
                    sample::capture(r).timing = Some(Protocol::Until {
                        warmup: 25,
                        launches: 100.try_into().unwrap(),
                        relative_error: RelativeError::DEFAULT,
                        time_ns: 1,
                    });
                }),
            ),
            line("kernel", &with(|r| sample::capture(r).kernel.name = "py:k.py:launch".to_owned())),
            line("kernel's source", &with(|r| sample::capture(r).kernel.digest = Some("00ff".to_owned()))),
            line("operator", &with(|r| sample::capture(r).operator = "torch.cat".to_owned())),
        ];
        assert!(text.iter().all(|line| line.contains(" changed ")));
        sample::assert_snapshot("record_semantics_changed", &text.concat());
    }

    #[test]
    fn outcomes_times_and_peaks_are_compared_under_the_same_semantics() {
        let faster = with(|r| {
            r.results.entries[2].profile.as_mut().unwrap().statistics.as_mut().unwrap().median_ns /= 2.0;
            r.phases.remove(1);
        });
        let figures = compare_records(&sample::record(), &faster).figures.unwrap();
        let delta = figures.timing.iter().find(|delta| delta.entry.as_deref() == Some("entry_000002.pt")).unwrap();
        assert_eq!(delta.before_ns, 2.0 * delta.after_ns);
        assert_eq!(figures.timing.len(), 5, "all entries together, then each");
        assert!(figures.memory.iter().all(|delta| delta.phase != "release"));
        assert_eq!(figures.memory.len(), 10);
    }
}
