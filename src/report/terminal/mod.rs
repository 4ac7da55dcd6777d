//! The terminal document: what `plimsoll` prints of a record, of the differences between two,
//! of what is inside files, and of what went wrong.
//!
//! A [`Screen`] says how wide the terminal is and which styles it shows. Tables are as wide as their contents, lose their
//! least important columns on a narrow screen, and never wrap a row. Texts that come from files (names, messages) lose
//! their control characters: a file name cannot move the cursor.

mod bench_gate;
mod bisect;
mod capture;
mod config;
mod cost;
mod devices;
mod differences;
mod doctor;
mod entries;
mod estimate;
mod findings;
mod gate;
#[cfg(feature = "history")]
mod history;
mod inspect;
mod judged;
mod ledger;
mod live;
mod matrix;
mod memory;
mod merged;
mod parts;
mod problems;
mod ratchet;
mod record;
mod runs;
mod snapshot;
#[cfg(test)]
mod tests;
mod trends;
mod versus;
mod worst;

pub use bench_gate::bench_gate;
pub use bisect::bisection;
pub use config::config;
pub use devices::devices;
pub use differences::differences;
pub(crate) use differences::value_words;
pub use doctor::doctor;
pub use entries::EntryTable;
pub use estimate::estimate;
pub(crate) use findings::{ADVICE, EVIDENCE, SHOWN, advice_lines, groups, numbers, what};
pub use findings::{findings, findings_with_all_advice};
pub use gate::gate;
#[cfg(feature = "history")]
pub use history::{history, history_check, history_subjects};
pub use inspect::Inspected;
pub use ledger::ledger;
pub use live::LiveView;
pub use matrix::matrix;
pub use merged::merged;
pub use plimsoll_memory::ceiling::proposal_table as proposal;
pub use plimsoll_memory::text::counted;
pub use plimsoll_memory::text::{Palette, Screen, clean, document, duration, nearest};
pub(crate) use plimsoll_memory::text::{interval, number, percent, short};
pub(crate) use problems::mismatch;
pub use ratchet::ratchet;
pub use record::record;
pub(crate) use record::{machine, words};
pub use snapshot::{snapshot, snapshot_difference};
