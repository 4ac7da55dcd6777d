//! [`ProcessRun`]: the run of a test or a command, for a record.

use std::time::{Duration, SystemTime};

use super::document::{Record, timestamp};
use super::environment::{Environment, hostname};
use super::error::SCHEMA;
use super::policy::{Policy, ProcessPolicy};
use super::repeat::RepeatedRun;
use super::results::Results;
use super::semantics::Semantics;
use super::shard::Rank;
use super::state::RunState;
use super::verdict::Verdict;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::PhaseReadings;
use plimsoll_memory::nanoseconds;

/// The results of a run of a test or a command.
#[derive(Clone, Debug)]
pub struct ProcessRun {
    /// The command line that started it.
    pub command: Vec<String>,
    /// The subject of the run.
    pub semantics: Semantics,
    /// How its memory was limited and watched.
    pub policy: ProcessPolicy,
    /// Start of the run.
    pub started: SystemTime,
    /// Duration of the run.
    pub wall: Duration,
    /// Whether the run finished.
    pub state: RunState,
    /// How the process ended.
    pub end: Option<ProcessEnd>,
    /// The memory of each phase; for repeated runs, of the largest.
    pub phases: Vec<PhaseReadings>,
    /// Every run, if there were several.
    pub runs: Vec<RepeatedRun>,
    /// The verdicts.
    pub verdicts: Vec<Verdict>,
    /// The run's place among the processes of a launcher.
    pub rank: Option<Rank>,
    /// The resulting exit code.
    pub exit_code: u8,
}

impl ProcessRun {
    /// The record of the run on the machine that `environment` describes.
    pub fn record(self, environment: Environment) -> Record {
        let run = self;
        let hostname = run.rank.as_ref().and_then(|_| hostname());
        Record {
            schema: SCHEMA.to_owned(),
            plimsoll: env!("CARGO_PKG_VERSION").to_owned(),
            command: run.command,
            state: run.state,
            started: timestamp(run.started),
            wall_ns: nanoseconds(run.wall),
            semantics_digest: run.semantics.digest(),
            shard: None,
            rank: run.rank,
            semantics: run.semantics,
            policy: Policy::Process(run.policy),
            environment: Environment { hostname, ..environment },
            phases: run.phases,
            end: run.end,
            runs: run.runs,
            parts: Vec::new(),
            releases: Vec::new(),
            results: Results::default(),
            diagnosis: None,
            verdicts: run.verdicts,
            exit_code: run.exit_code,
        }
    }
}

impl From<ProcessRun> for Record {
    /// The record of the run, on the machine in its present state.
    fn from(run: ProcessRun) -> Self {
        run.record(Environment::here())
    }
}
