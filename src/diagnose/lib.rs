//! Diagnosis: what went wrong with memory, from the texts that a run leaves behind.
//!
//! [`Analysis`] takes text of any length, in constant memory, and gives [`Findings`], the document
//! `plimsoll.findings/1`: every memory event in it once, with what ran out, the decoded numbers, the verdict, the lines
//! that show it and what to do. [`Analysis::read_with`] recognises what a file is; [`Follower`] watches one that grows.
//! [`telemetry`] reads the memory lines of training frameworks, [`trend`] judges how their figures move, and [`ledger`]
//! compares them with what the training should cost.
//!
//! [`snapshot`] reads memory snapshots of PyTorch's allocator.
//!
//! Invariants:
//! * A cause is named only if a line proves it: a bare `Killed` or exit code 137 is `sigkill-unattributed`.
//! * A number is absent if the text does not give it, and never a guess.
//! * What looks like an event and is none (code, documentation, talk, denials, a launcher's clean-up) is dismissed with
//!   the reason.
//! * Any bytes are text. Nothing in them is executed; nothing in them makes the memory grow.

mod advice;
mod analysis;
mod anchors;
mod ascii;
mod batch;
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
pub mod ledger;
mod literals;
mod phase;
mod prefix;
mod read;
mod remedy;
mod report;
mod scan;
pub mod schema;
mod shape;
mod sighting;
pub mod snapshot;
mod software;
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
