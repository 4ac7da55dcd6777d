//! [`Operators`]: the operator's own implementations, one of which an audit without a reference chooses as such.

use std::cell::RefCell;
use std::collections::BTreeMap;

use plimsoll_capture::Entry;
use plimsoll_capture::compare::Comparison;

use super::entries::Entries;
use super::judge::{Expected, judge};
use super::launcher::{Job, Launcher};
use crate::record::Failure;

/// Implementations of the captured operator that are not the audited kernel, in the order in which they are tried.
#[derive(Default)]
pub(super) struct Operators<'a> {
    launchers: Vec<&'a mut dyn Launcher>,
    /// Why others cannot be started, and why there is none at all.
    missing: Vec<String>,
}

/// A reference that the audit has chosen by itself.
pub(super) struct Chosen {
    pub name: String,
    /// The largest difference of each of its outputs from the captured one.
    errors: BTreeMap<String, f64>,
    /// Why it cannot decide about the kernel, found out during the audit.
    undecided: RefCell<Option<String>>,
}

impl Chosen {
    /// How far it is from the captured output at `path`.
    pub fn error(&self, path: &str) -> f64 {
        self.errors.get(path).copied().unwrap_or_default()
    }

    /// Notes that it cannot decide.
    pub fn gives_up(&self, why: impl Into<String>) {
        self.undecided.borrow_mut().get_or_insert_with(|| format!("{}: {}", self.name, why.into()));
    }

    /// Why it could not decide, if so.
    pub fn undecided(self) -> Option<String> {
        self.undecided.into_inner()
    }
}

impl<'a> Operators<'a> {
    pub fn new(launchers: Vec<&'a mut dyn Launcher>, missing: Vec<String>) -> Self {
        Self { launchers, missing }
    }

    pub fn launchers(&mut self) -> impl Iterator<Item = &mut (dyn Launcher + 'a)> {
        self.launchers.iter_mut().map(|launcher| &mut **launcher)
    }

    /// The software of the implementations that were started.
    pub fn versions(&self) -> BTreeMap<String, String> {
        self.launchers.iter().flat_map(|launcher| launcher.versions()).collect()
    }

    /// The first that is not `kernel` and reproduces the captured output of `entry`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn choose(
        &mut self,
        kernel: &str,
        entries: &Entries<'_>,
        entry: &Entry,
        rule: &Comparison,
        mutates: &[String],
    ) -> Result<(&mut (dyn Launcher + 'a), Chosen), String> {
        if !mutates.is_empty() {
            // A capture has no contents from after the call.
            return Err("nothing shows what an implementation should leave in the arguments of --mutates".into());
        }
        let mut reasons = self.missing.clone();
        let mut found = None;
        for (at, launcher) in self.launchers.iter_mut().enumerate() {
            let name = launcher.kernel().name;
            if name == kernel {
                reasons.push(format!("{name} is the kernel itself"));
                continue;
            }
            match reproduces(&mut **launcher, entries, entry, rule) {
                Ok(errors) => {
                    found = Some((at, Chosen { name, errors, undecided: RefCell::default() }));
                    break;
                }
                Err(why) => reasons.push(format!("{name}: {why}")),
            }
        }
        if let Some((at, chosen)) = found {
            return Ok((&mut *self.launchers[at], chosen));
        }
        if reasons.is_empty() {
            reasons.push(format!("no implementation of {} is at hand", entries.capture.function_name()));
        }
        Err(reasons.join("; "))
    }
}

/// How far the outputs of `launcher` are from the captured ones, if the comparison accepts them.
fn reproduces(
    launcher: &mut dyn Launcher,
    entries: &Entries<'_>,
    entry: &Entry,
    rule: &Comparison,
) -> Result<BTreeMap<String, f64>, String> {
    let said = |failure: Failure| failure.message;
    let bound = entries.bind(entry, launcher.by_name()).map_err(|error| error.to_string())?;
    let launched = launcher.launch(Job { entry, bound: &bound }).map_err(said)?;
    if !launched.mutated.is_empty() {
        return Err(format!("it changes the argument {}", launched.mutated.join(", ")));
    }
    let mapped = entry.map().map_err(|error| error.to_string())?;
    let leaves = judge(Expected::Captured(entry, &mapped), &launched, rule).map_err(said)?;
    if leaves.iter().any(|leaf| !leaf.passed) {
        return Err("it does not reproduce the captured output".into());
    }
    let error = |leaf: &plimsoll_capture::compare::LeafOutcome| leaf.elements.as_ref()?.max_abs_error;
    Ok(leaves.iter().filter_map(|leaf| Some((leaf.path.clone(), error(leaf)?))).collect())
}
