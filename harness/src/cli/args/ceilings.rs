//! The ceilings of `run`, `gate` and what takes their flags.

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::ceiling::{Ceiling, Ceilings};
use plimsoll::meter::Metric;

// Ceilings of a command. Each is absolute and of all of its processes together.
#[derive(Args, Clone)]
#[command(next_help_heading = "Ceilings")]
pub struct CeilingFlags {
    /// Resident memory at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_RSS")]
    pub peak_rss: Option<ByteSize>,

    /// Anonymous resident memory at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_ANON")]
    pub peak_anon: Option<ByteSize>,

    /// Proportional set at one instant: shared pages divided among their users
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_PSS")]
    pub peak_pss: Option<ByteSize>,

    /// Shared memory (memfd, tmpfs, System V) at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_SHMEM")]
    pub peak_shmem: Option<ByteSize>,

    /// Swap of the processes at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_SWAP")]
    pub peak_swap: Option<ByteSize>,

    /// Memory of the control group that is made for the command, page cache included
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_PEAK_CGROUP")]
    pub peak_cgroup: Option<ByteSize>,

    /// Growth of the system's swap in use
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_SWAP_GROWTH")]
    pub swap_growth: Option<ByteSize>,

    /// Floor: memory that has to stay available on the system
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_AVAILABLE_FLOOR")]
    pub available_floor: Option<ByteSize>,

    /// Memory on GPUs at one instant
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_GPU_PEAK")]
    pub gpu_peak: Option<ByteSize>,

    /// Growth of the memory in use on a machine with one memory for host and GPU
    #[arg(long, value_name = "BYTES", env = "PLIMSOLL_UNIFIED_PEAK")]
    pub unified_peak: Option<ByteSize>,
}

impl CeilingFlags {
    /// What is limited.
    pub fn ceilings(&self) -> Ceilings {
        [
            (Metric::PeakRss, self.peak_rss),
            (Metric::PeakAnon, self.peak_anon),
            (Metric::PeakPss, self.peak_pss),
            (Metric::PeakShmem, self.peak_shmem),
            (Metric::PeakSwap, self.peak_swap),
            (Metric::PeakCgroup, self.peak_cgroup),
            (Metric::SwapGrowth, self.swap_growth),
            (Metric::AvailableFloor, self.available_floor),
            (Metric::GpuPeak, self.gpu_peak),
            (Metric::UnifiedPeak, self.unified_peak),
        ]
        .into_iter()
        .filter_map(|(metric, limit)| limit.map(|limit| Ceiling { metric, limit }))
        .collect::<Vec<_>>()
        .try_into()
        .expect("each metric stands there once")
    }
}
