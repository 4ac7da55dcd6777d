//! Terminal output: what `plimsoll` prints about a record, the differences between two, the contents of files, and
//! errors.
//!
//! A [`Screen`] has the width of the terminal and its styles. Tables are as wide as their contents, drop their least
//! important columns on a narrow screen, and never wrap a row. Text from files (names, messages) loses its control
//! characters, so that a file name cannot move the cursor.

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
