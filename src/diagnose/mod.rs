//! Diagnosis: what went wrong with memory, from the texts that a run leaves behind.
//!
//! [`telemetry`] reads the memory lines of training frameworks, [`trend`] judges how their figures move, and [`ledger`]
//! compares them with what the training should cost.

pub mod ledger;
pub mod telemetry;
pub mod trend;
