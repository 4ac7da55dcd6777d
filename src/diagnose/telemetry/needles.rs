//! [`needles`]: what a line of telemetry holds.

/// Literal texts of which every line that tells something holds at least one. A search for all of them, at the speed of
/// memory, finds the lines that have to be fed to a [`super::Reader`]: those, and the line before each, which may be its
/// label.
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
        "GB | offload_",
        "GB | {'offload_",
        "PyTorch CUDA memory summary",
        "cudaMalloc retries:",
        "| Allocated memory ",
        "| Active memory ",
        "| Requested memory ",
        "| GPU reserved memory ",
        "| Oversize GPU segments ",
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
