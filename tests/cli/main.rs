//! The `plimsoll` command from outside.

mod bench_gate;
mod calibrate;
mod check;
mod faults;
mod generate;
mod inspect;
mod python;
mod ratchet;
mod records;
mod run;
mod support;
mod usage;
