//! Runs both commands of a pair at once, each on its own processors, so that other load slows both alike (Bulej and
//! others 2020, Duet Benchmarking).

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use plimsoll::record::{Record, RepeatedRun};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::super::Failed;
use super::super::run::Run;
use crate::guardian;

/// Two sets of processors that share no core.
pub struct Halves([CpuSet; 2]);

impl Halves {
    /// The processors of this process, halved by cores.
    pub fn of_this_process() -> Result<Self, Failed> {
        let allowed = sched_getaffinity(None).map_err(|error| format!("cannot read the processors: {error}"))?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let mut halves = [CpuSet::new(), CpuSet::new()];
        let cores = cores(&cpus, &siblings);
        if cores.len() < 2 {
            return Err("--duet runs both commands at once, each on cores of its own, but this process has only one: \
                        leave --duet away, which takes them in turns"
                .into());
        }
        for (number, core) in cores.iter().enumerate() {
            core.iter().for_each(|cpu| halves[number % 2].set(*cpu));
        }
        Ok(Self(halves))
    }
}

/// The processors that share a core with `cpu`, as listed by the kernel.
fn siblings(cpu: usize) -> BTreeSet<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    listed(&fs::read_to_string(path).unwrap_or_default())
}

/// Parses a list of the kernel: `0,4` or `0-3`.
fn listed(text: &str) -> BTreeSet<usize> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|cpu| *cpu < CpuSet::MAX_CPU);
    let part = |part: &str| match part.split_once('-') {
        Some((first, last)) => number(first).zip(number(last)).map(|(first, last)| first..last + 1),
        None => number(part).map(|cpu| cpu..cpu + 1),
    };
    text.split(',').filter_map(part).flatten().collect()
}

/// The processors, grouped by core.
fn cores(cpus: &[usize], siblings: &dyn Fn(usize) -> BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
    let mut left: BTreeSet<usize> = cpus.iter().copied().collect();
    let mut cores = Vec::new();
    while let Some(cpu) = left.pop_first() {
        let mut core: BTreeSet<usize> = siblings(cpu).intersection(&left).copied().collect();
        left.retain(|other| !core.contains(other));
        core.insert(cpu);
        cores.push(core);
    }
    cores
}

/// Runs both at once, each under its own meter; `swapped` exchanges their processors. Returns the records, and whether
/// both succeeded.
pub fn at_once(sides: [&Run; 2], halves: &Halves, swapped: bool, folder: &Path) -> Result<[Record; 2], Failed> {
    let own = sched_getaffinity(None).map_err(|error| format!("cannot read the processors: {error}"))?;
    let path = |at: usize| folder.join(["a.json", "b.json"][at]);
    let mut children: Vec<Result<Child, Failed>> = Vec::new();
    for (at, side) in sides.into_iter().enumerate() {
        // A child inherits the processors of the thread that starts it.
        let half = &halves.0[usize::from((at == 1) != swapped)];
        sched_setaffinity(None, half).map_err(|error| format!("cannot choose processors: {error}"))?;
        children.push(start(side, &path(at)));
    }
    sched_setaffinity(None, &own).map_err(|error| format!("cannot choose processors: {error}"))?;
    // Wait for both, even if one fails.
    let ends: Vec<Result<ExitStatus, Failed>> =
        children.into_iter().map(|child| child.and_then(|mut child| Ok(child.wait()?))).collect();
    for (end, side) in ends.into_iter().zip(sides) {
        let code = end?.code();
        if matches!(code, Some(2 | 126 | 127)) && !path(0).is_file() {
            return Err(format!("{} could not be run", side.command[0].to_string_lossy()).into());
        }
    }
    Ok([Record::read(&path(0))?, Record::read(&path(1))?])
}

fn start(side: &Run, record: &Path) -> Result<Child, Failed> {
    let _ = fs::remove_file(record);
    let mut command = Command::new(std::env::current_exe()?);
    // The flags already contain the environment's values.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PLIMSOLL_")) {
        command.env_remove(name);
    }
    command.args(["run", "--no-config", "--quiet", "--record"]).arg(record);
    command.arg("--sample-interval").arg(format!("{}ns", side.sample_interval.as_nanos()));
    if let Some(timeout) = side.timeout {
        command.arg("--timeout").arg(format!("{}ns", timeout.as_nanos()));
    }
    if let Some(label) = &side.label {
        command.arg("--label").arg(label);
    }
    for phase in &side.phases {
        command.arg("--phase").arg(phase.as_str());
    }
    command.arg("--").args(&side.command).stdin(Stdio::null()).stdout(Stdio::null());
    if let Some(guarded) = guardian::guarded() {
        guarded.prepare(&mut command);
    }
    Ok(command.spawn()?)
}

/// Joins several runs, at least one, each with its own record, into one record; the record of a failed run comes first.
pub fn together(records: Vec<Record>) -> Record {
    let runs = records.iter().map(|record| RepeatedRun {
        started_ns: 0,
        wall_ns: record.wall_ns,
        end: record.end.clone().expect("a command that was waited for has an end"),
        phases: record.phases.iter().map(|phase| phase.without_details()).collect(),
    });
    let runs = runs.collect();
    let at = records.iter().position(|record| record.exit_code != 0).unwrap_or(0);
    let mut whole = records.into_iter().nth(at).expect("there is a run");
    whole.runs = runs;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_share_no_core() {
        let siblings = |cpu: usize| BTreeSet::from([cpu % 4, cpu % 4 + 4]);
        let found = cores(&[0, 1, 2, 4, 5, 7], &siblings);
        assert_eq!(found, [BTreeSet::from([0, 4]), BTreeSet::from([1, 5]), BTreeSet::from([2]), BTreeSet::from([7])]);
        assert_eq!(cores(&[3, 5], &|_| BTreeSet::new()).len(), 2, "where the kernel does not list them");
        assert_eq!(listed("0-1,8\n"), BTreeSet::from([0, 1, 8]));
        assert_eq!(listed("x,5-,99999999"), BTreeSet::new());
    }
}
