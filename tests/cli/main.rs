//! The `plimsoll` command from outside.

mod check;
mod diagnose;
mod estimate;
mod faults;
mod generate;
mod inspect;
mod python;
mod records;
<<<<<<< HEAD
mod run;
mod store;
=======
mod snapshot;
>>>>>>> snapshot
mod support;
mod usage;
