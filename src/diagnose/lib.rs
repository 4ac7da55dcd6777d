//! Diagnosis: what went wrong with memory, from the texts that a run leaves behind.
//!
//! [`Analysis`] reads text of any length in constant memory and returns [`Findings`], the document
//! `plimsoll.findings/1`: every memory event once, with what ran out, the decoded numbers, the verdict, the lines that
//! show it and what to do. [`Analysis::read_with`] recognises the kind of a file; [`Follower`] watches a file that
//! grows. [`telemetry`] reads the memory lines of training frameworks, [`trend`] judges how their figures move, and
//! [`ledger`] compares them with what the training should cost.
//!
//! [`snapshot`] reads memory snapshots of PyTorch's allocator.
//!
//! Invariants:
//!
//! * A cause is named only if a line proves it: a bare `Killed` or exit code 137 is `sigkill-unattributed`.
//! * A number that the text does not state is absent, never guessed.
//! * A text that looks like an event but is not one (code, documentation, talk, denials, a launcher's clean-up) is
//!   dismissed with the reason.
//! * Any bytes are accepted as text. Nothing in them is executed, and nothing in them makes memory grow.

mod advice;
mod analysis;
mod anchors;
mod ascii;
mod batch;
mod candidates;
mod classify;
mod code;
mod counter;
mod decide;
mod dump;
mod end;
mod error;
pub mod estimate;
mod event;
mod feed;
mod findings;
mod follow;
mod gather;
mod incident;
mod input;
#[cfg(test)]
mod learned;
pub mod ledger;
mod lengths;
mod literals;
mod optimizer;
mod phase;
mod prefix;
mod progress;
mod read;
mod remedy;
mod report;
mod required;
mod said;
mod scan;
pub mod schema;
mod shape;
mod sighting;
pub mod snapshot;
mod software;
mod stated;
pub mod telemetry;
mod terms;
pub mod trend;
mod unfold;
mod verdict;
mod window;
mod wording;

pub use analysis::Analysis;
pub use end::{cause_by_text, event_of_end};
pub use error::DiagnoseError;
pub use findings::{
    Advice, Dismissal, Event, Evidence, Findings, Form, InputReport, KnownBatch, Numbers, SCHEMA, TelemetryReport,
};
pub use follow::{Change, Follower};
pub use input::Input;
pub use verdict::{Kind, Verdict};
pub use wording::{KnownWording, known_wordings};
