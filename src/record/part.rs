//! [`Part`]: one of the runs of a merged record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounded;
use super::environment::Environment;
use super::policy::Policy;
use super::release::Release;
use super::repeat::RepeatedRun;
use super::shard::{Rank, Shard};
use super::state::RunState;
use super::verdict::Verdict;
use plimsoll_memory::command::ProcessEnd;
use plimsoll_memory::meter::PhaseReadings;

/// One of the runs of a merged record: everything in its own record except the entries, which are kept together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The share of the capture that the run took; absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The run's place among the processes of a launcher; absent if no launcher was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<Rank>,
    /// The version of Plimsoll that ran.
    pub plimsoll: String,
    /// The command line.
    #[serde(deserialize_with = "bounded::list")]
    pub command: Vec<String>,
    /// Whether the run finished.
    pub state: RunState,
    /// When the run began: RFC 3339, UTC.
    #[schemars(extend("format" = "date-time"))]
    pub started: String,
    /// The run's wall time, in nanoseconds.
    pub wall_ns: u64,
    /// How the run's memory was managed.
    pub policy: Policy,
    /// Where the run took place.
    pub environment: Environment,
    /// The memory of each phase; without timelines, processes and mappings.
    #[serde(deserialize_with = "bounded::list")]
    pub phases: Vec<PhaseReadings>,
    /// How the process ended; only a command has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ProcessEnd>,
    /// Every run of a command that was run several times.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RepeatedRun>,
    /// The proofs that the memory of the run's workers was released.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<Release>,
    /// The verdicts on this run alone.
    #[serde(deserialize_with = "bounded::list")]
    pub verdicts: Vec<Verdict>,
    /// The run's exit code.
    pub exit_code: u8,
}

impl Part {
    /// The name of the part: `shard 3 of 8`, `rank 2 of 4`.
    pub fn name(&self) -> String {
        match (&self.shard, &self.rank) {
            (Some(shard), _) => format!("shard {} of {}", shard.index, shard.count),
            (None, Some(rank)) => format!("rank {} of {}", rank.rank, rank.ranks),
            (None, None) => "the run".to_owned(),
        }
    }
}
