//! [`needles`]: what a line of telemetry holds.

/// Literal texts of which every line that tells something holds at least one. A search for all of them, at the speed of
/// memory, finds the lines that have to be fed to a [`super::Reader`].
pub const fn needles() -> &'static [&'static str] {
    &[
        "Max_MA ",
        "CPU Virtual Memory:",
        "Estimated memory needed for params",
        "GB allocated, ",
        "[gpumem]",
        "[gumem]",
        "[GPU_DIAG]",
        "memory (MB) |",
        "memory (GB) |",
        "mem-allocated-gigabytes:",
        "Theoretical memory footprints:",
        "PyTorch CUDA memory summary",
        "_mem_gpu",
        "_mem_cpu",
        "memory is still in use",
        "seconds to fall asleep",
        "seconds to wake up",
        "memory allocated (",
        "memory(GiB)",
        "elapsed time per iteration (ms):",
        "Total step time:",
        "= Step ",
    ]
}
