//! The `plimsoll` command from outside.

mod bench_gate;
mod calibrate;
mod capture;
mod check;
mod diagnose;
mod estimate;
mod faults;
mod gate;
mod generate;
mod inspect;
mod isolate;
mod matrix;
mod python;
mod ratchet;
mod records;
mod report;
mod run;
mod run_faults;
mod run_repeat;
mod snapshot;
mod store;
mod support;
mod usage;
