//! The supervisor's side of the worker protocol: it starts, watches, recycles and judges workers.
//!
//! Whatever a worker does (crash, hang, fill the memory, close its descriptors, print, fork), [`process::WorkerProcess`]
//! ends in a typed answer, and [`launcher::WorkerLauncher`] goes on with a fresh worker.

mod building;
mod call;
mod command;
mod death;
mod launcher;
mod outputs;
mod process;
mod reclaim;
mod sealed;

pub use launcher::{Crew, NoLauncher, OnGpu, WorkerLauncher};
