//! The record: the JSON document of one run, and the changes between two of them.
//!
//! A record (`schema: "plimsoll.record/1"`) separates three things that are easily confused. [`Semantics`] is the
//! meaning of the figures: for a run on a capture the operator, the entries in order, the kernel, the comparison, the
//! timing protocol; otherwise the test or the command. [`Policy`] is how memory was managed meanwhile: byte cap,
//! batches, recycling; ceilings and their enforcement. [`Environment`] is where the run took place. The rest is the
//! memory of each phase, the proofs that memory was released, one typed result per entry, and the verdicts.
//!
//! Invariants:
//! * `semantics_digest` is BLAKE3 over the RFC 8785 canonical JSON of `semantics`. No policy and no environment touches
//!   it; an entry's bytes or place, a tolerance, a repetition or the kernel does. A record whose digest is not that of
//!   its semantics is refused when read.
//! * Every entry of the semantics has exactly one result, whatever happened to it or to its worker.
//! * A figure that could not be taken is absent, never 0.
//! * A record file is whole or not there: it is written beside, flushed to the disk and renamed.
//! * The lists with an element for every entry are [`Rows`], so that memory does not grow with a capture.
//! * The `1` of the schema's name changes when a reader of the old form would misread the new one.

mod bounded;
mod differences;
mod document;
mod environment;
mod error;
mod failure;
mod figures;
mod file;
mod head;
mod isolation;
pub(crate) mod json;
mod keep;
mod part;
mod partial;
mod policy;
mod process;
mod release;
mod repeat;
mod results;
mod rows;
#[cfg(test)]
pub(crate) mod sample;
pub mod schema;
mod semantics;
mod shard;
mod state;
mod texts;
mod verdict;
mod versus;

pub use differences::{Change, ChangeKind, Differences, Figures, MemoryDelta, TimingDelta, compare_records};
pub use document::{Record, timestamp};
pub use environment::{Environment, Gpu, hostname};
pub use error::{LongText, RecordError, SCHEMA};
pub use failure::{Failure, FailureKind};
pub use figures::{Direction, Figure, Unit, figures, figures_of};
#[cfg(feature = "history")]
pub(crate) use file::not_a_file;
pub use file::{MAX_RECORD, RecordFile, write_record};
pub use isolation::{Isolation, Layer, Machine};
pub use keep::{keep_record, keep_test_run};
pub use part::Part;
pub use partial::PartialRecord;
pub use policy::{
    Batch, Batching, CacheRelease, CapturePolicy, CaptureSource, Policy, ProcessPolicy, Recycling, Repetition,
    SourceKind,
};
pub use process::ProcessRun;
pub use release::{Release, ReleaseReason};
pub use repeat::RepeatedRun;
pub use results::{Audit, EntryResult, Profile, ProfileStatus, Results, Validation, ValidationStatus, Values, Versus};
#[cfg(feature = "report")]
pub(crate) use rows::Reader;
pub use rows::{Row, Rows};
pub(crate) use semantics::SemanticsDigest;
pub use semantics::{
    Aggregation, AuditSemantics, CaptureSemantics, CommandSemantics, EntrySemantics, Semantics, TensorSemantics,
    Tensors, TestSemantics, VersusSemantics,
};
pub use shard::{Rank, Shard, SharedCapture, TimedBeside};
pub use state::RunState;
#[cfg(feature = "history")]
pub(crate) use texts::Texts;
pub(crate) use verdict::DIAGNOSIS;
pub use verdict::{Verdict, VerdictStatus, exit_code};
pub use versus::{Pairs, Speedup, SpeedupInterval};
