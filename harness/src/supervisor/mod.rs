//! The supervisor's side of the worker protocol: starts, watches, replaces and judges workers.
//!
//! Whatever a worker does (crash, hang, fill the memory, close its descriptors, print, fork), the supervisor has a typed
//! answer, and [`WorkerLauncher`] goes on with a fresh worker. A test has a [`Check`](plimsoll::run::Check) of an
//! [`isolated`] kernel:
//!
//! ```no_run
//! use plimsoll::capture::Capture;
//! use plimsoll::run::Check;
//! use plimsoll_harness::supervisor::isolated;
//!
//! let capture = Capture::open("captures/embedding".as_ref())?;
//! let check = Check::of(&capture).ceilings("peak_rss = 1 GiB".parse()?);
//! let report = check.kernel(isolated("lib:target/kernel.so".parse()?)?).run()?;
//! assert!(report.passed(), "{}", report.summary());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answers;
mod building;
mod call;
mod clock;
mod command;
mod crew;
mod death;
mod early;
mod error;
mod hidden;
mod launcher;
mod loading;
mod made;
mod outputs;
mod overhead;
mod pace;
mod patience;
mod process;
mod reclaim;
mod sealed;
mod settings;
mod temporary;
mod turns;
mod untrusted;
mod workers;

pub use error::{NoLauncher, NoProgram, NoTorchWorker};
pub use launcher::WorkerLauncher;
pub use workers::{Isolated, Workers, isolated, list_devices};
