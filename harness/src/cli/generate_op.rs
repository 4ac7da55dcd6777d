//! `generate --op`: a synthetic capture of a PyTorch operator; PyTorch computes the outputs.

use super::generate::Generate;
use plimsoll::capture::synthesize::{Computed, ComputedValue, OperatorCall};
use plimsoll::capture::write::Options;
use plimsoll::capture::{Entry, ParameterOrder};
use plimsoll::kernel::KernelSpec;
use plimsoll::meter::Meter;
use plimsoll::record::ReleaseReason;
use plimsoll::report::terminal::clean;
use plimsoll::run::{Job, Launched, Launcher, Output, OutputValue, Role, RunContext, RunError};
use serde_json::json;

use super::{Failed, output};
use crate::signals::Cancel;
use crate::supervisor::{WorkerLauncher, Workers};

/// The number of entries by default.
const ENTRIES: u64 = 4;

/// Writes the capture; the signal's code if it was interrupted.
pub fn run(generate: &Generate, name: &str) -> Result<u8, Failed> {
    let mut call = OperatorCall::named(name);
    for argument in &generate.args {
        call.set(argument)?;
    }
    if call.is_empty() {
        let known: Vec<&str> = OperatorCall::examples().collect();
        let known = known.join(", ");
        return Err(
            format!("{name}: give its arguments, each with --arg NAME=VALUE; examples are known of {known}").into()
        );
    }
    let spec: KernelSpec = format!("torch:{name}").parse()?;
    let cancel = Cancel::install()?;
    // Processes that a worker leaves behind stay below this process, and are ended.
    let workers = Workers::of(std::env::current_exe()?)?.cancelled_by(&cancel).subreaper()?;
    let context = RunContext::new(Meter::start()?);
    let mut launcher = workers.launcher(spec, Role::Kernel, &context)?;
    launcher.prepare().map_err(RunError::Launch)?;
    let options = Options { threads: generate.threads, cancel: cancel.flag(), ..Options::default() };
    let entries = generate.entries.unwrap_or(ENTRIES);
    let written =
        call.write(&generate.dir, entries, generate.seed, &options, &mut |entry| compute(&mut launcher, entry));
    launcher.end_worker(ReleaseReason::Finished);
    context.meter().finish();
    match (written, cancel.signal()) {
        (Err(_), Some(signal)) => {
            output::note(&"interrupted: nothing was left behind");
            Ok(128 + signal)
        }
        (written, _) => {
            let (bytes, dir) = (written?, generate.dir.display().to_string());
            let function = call.function();
            if generate.json {
                output::json(&json!({
                    "dir": dir, "seed": generate.seed, "bytes": bytes, "function": function, "entries": entries,
                }))?;
            } else {
                let many = if entries == 1 { "entry" } else { "entries" };
                output::text(&format!("{}: {entries} {many} of {}, {bytes}\n", clean(&dir), clean(function)))?;
            }
            Ok(0)
        }
    }
}

/// The outputs of the operator for an entry.
fn compute(launcher: &mut WorkerLauncher<'_>, entry: &Entry) -> Result<Vec<Computed>, String> {
    let bound = entry.bind_by_name(&ParameterOrder::of([entry])).map_err(|error| error.to_string())?;
    let launched = launcher.launch(Job { entry, bound: &bound }).map_err(|failure| failure.message)?;
    let Launched { outputs, memory, .. } = launched;
    let memory = (*memory).as_ref();
    let leaf = |Output { path, value }| {
        let value = match value {
            OutputValue::Value(value) => ComputedValue::Value(value),
            OutputValue::Tensor(placed) => {
                let bytes = placed.bytes_in(memory).ok_or("an output lies outside of its memory")?.to_vec();
                ComputedValue::Tensor(placed.spec, bytes)
            }
        };
        Ok(Computed { path, value })
    };
    outputs.into_iter().map(leaf).collect()
}
