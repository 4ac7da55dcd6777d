//! [`Isolation`]: the rights that an untrusted kernel lacked.

use plimsoll_memory::meter::Doctor;
use plimsoll_memory::schema::Document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the isolation of untrusted kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// A program that the kernel starts has no more rights than the kernel.
    NoNewPrivs,
    /// Files other than its own, TCP, and other processes are out of reach.
    Landlock,
    /// Landlock also confines signals to the worker.
    LandlockSignals,
    /// System calls that kernels do not need are refused.
    Seccomp,
    /// The memory of the supervisor cannot be read by other processes of its user.
    NotDumpable,
    /// The kernel's arguments are copies, and no path leads to the capture.
    CopiedInputs,
    /// The temporary folder is private, of limited size, and removed with the run.
    PrivateFolder,
    /// `/dev/shm` and System V memory are private and of limited size.
    OwnMemory,
    /// The worker sees no processes but its own, and all of them end with it.
    OwnProcesses,
}

impl Layer {
    /// Every layer.
    pub const ALL: [Self; 9] = [
        Self::NoNewPrivs,
        Self::Landlock,
        Self::LandlockSignals,
        Self::Seccomp,
        Self::NotDumpable,
        Self::CopiedInputs,
        Self::PrivateFolder,
        Self::OwnMemory,
        Self::OwnProcesses,
    ];

    /// The name in the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoNewPrivs => "no-new-privs",
            Self::Landlock => "landlock",
            Self::LandlockSignals => "landlock-signals",
            Self::Seccomp => "seccomp",
            Self::NotDumpable => "not-dumpable",
            Self::CopiedInputs => "copied-inputs",
            Self::PrivateFolder => "private-folder",
            Self::OwnMemory => "own-memory",
            Self::OwnProcesses => "own-processes",
        }
    }
}

/// The layers of isolation in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// Layers that were active.
    pub held: Vec<Layer>,
    /// Layers that the machine could not provide.
    pub lacking: Vec<Layer>,
}

impl Isolation {
    /// The isolation of a machine that provides these layers.
    pub fn of(held: Vec<Layer>) -> Self {
        let lacking = Layer::ALL.into_iter().filter(|layer| !held.contains(layer)).collect();
        Self { held, lacking }
    }
}

/// The abilities of a machine: `plimsoll.doctor/1`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// What a meter can measure.
    #[serde(flatten)]
    pub doctor: Doctor,
    /// How far the machine can isolate an untrusted kernel.
    #[serde(default)]
    pub isolation: Isolation,
}

impl Document for Machine {
    const NAME: &'static str = <Doctor as Document>::NAME;
    const TITLE: &'static str = "What this machine allows";
}
