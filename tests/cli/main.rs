//! The `plimsoll` command from outside.

mod bench_gate;
mod check;
mod faults;
mod generate;
mod inspect;
mod python;
mod records;
mod run;
mod support;
mod usage;
