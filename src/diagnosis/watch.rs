//! [`CommandWatch`]: reads a command's output as it passes, and adds what its end shows.

use super::behind::Behind;
use super::record;
use crate::record::{DIAGNOSIS, Record, Verdict, VerdictStatus};
use plimsoll_diagnose::{Findings, Kind, Verdict as Cause};
use plimsoll_memory::command::{EndCause, KernelLog, ProcessEnd};

/// Watches a command: its output while it passes; afterwards its end, its memory and the kernel's log.
///
/// A separate thread reads the output. The command waits only if it is 8 MiB ahead of that thread, so that no line is
/// lost and memory stays bounded.
#[derive(Debug)]
pub struct CommandWatch {
    behind: Behind,
    kernel: Option<KernelLog>,
}

impl CommandWatch {
    /// Begins to watch a command that is not started yet.
    pub fn begin() -> Self {
        Self { behind: Behind::begin(), kernel: KernelLog::begin() }
    }

    /// The writer for the output of the run that begins now, called `name` in the findings, in whole lines.
    pub fn output(&self, name: &str) -> impl FnMut(&[u8]) + Send + use<> {
        self.behind.analysis().begin(name);
        let writer = self.behind.writer();
        move |bytes| writer.write(bytes)
    }

    /// Treats the output of the run as complete.
    pub fn ended(&self) {
        self.behind.analysis().end();
    }

    /// Puts the findings into `record`, which describes the command, with a verdict if one of `fail_on` is among them.
    pub fn conclude(self, record: &mut Record, fail_on: &[Cause]) {
        let mut analysis = self.behind.finish();
        if let Some(log) = self.kernel.filter(|_| record.end.as_ref().is_some_and(killed_by_kernel)) {
            analysis.begin("kernel log");
            analysis.push(&log.since());
            analysis.end();
        }
        if let Some(event) = record::end("end of the command", record) {
            analysis.ended(event);
        }
        let mut findings = analysis.findings(None);
        name_phase(&mut findings, record);
        if !fail_on.is_empty() {
            let failed = findings.any_of(fail_on).map(|event| {
                Verdict::new(DIAGNOSIS, VerdictStatus::Fail, format!("{}: {}", event.verdict, event.explanation))
            });
            let names: Vec<String> = fail_on.iter().map(Cause::to_string).collect();
            let none = || Verdict::new(DIAGNOSIS, VerdictStatus::Pass, format!("no {} was found", names.join(" or ")));
            record.verdicts.push(failed.unwrap_or_else(none));
            let judged = crate::record::exit_code(&record.verdicts);
            record.exit_code = if judged == 0 { record.exit_code } else { judged };
        }
        record.diagnosis = Some(Box::new(findings));
    }
}

/// Whether the kernel has counted a kill, so that its log describes this one: other kills are not the command's.
fn killed_by_kernel(end: &ProcessEnd) -> bool {
    matches!(
        end.cause,
        EndCause::CgroupOomKill { .. }
            | EndCause::SlurmOomKill { .. }
            | EndCause::KernelOomKill { .. }
            | EndCause::CeilingEnforced { .. }
    )
}

/// Adds the phase in which the command ended to the event that ended it.
fn name_phase(findings: &mut Findings, record: &Record) {
    let [_, .., last] = &record.phases[..] else { return };
    let failed = record.runs.is_empty() && record.end.as_ref().is_some_and(|end| !end.success());
    let event = findings.events.iter_mut().rfind(|event| event.kind != Kind::Report);
    if let Some(event) = event.filter(|_| failed) {
        event.explanation += &format!(" The command ended in the phase `{}`.", last.phase);
    }
}
