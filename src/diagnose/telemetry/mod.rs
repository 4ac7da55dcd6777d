//! Telemetry: the memory lines that training frameworks write into their logs.
//!
//! A [`Reader`] takes lines and returns [`Sample`]s: figures in bytes with the rounding of the text, and the step, rank,
//! phase and process that the line names. These formats are known:
//!
//! | format | lines |
//! |---|---|
//! | DeepSpeed `see_memory_usage` | a label, `MA 9.36 GB  Max_MA ..`, `CPU Virtual Memory:  used = ..`; GB of 2^30, Max_CA whole |
//! | DeepSpeed's estimators | `Estimated memory needed for params, ..` and the table below |
//! | NeMo-RL | `GPU Memory after refit complete: 0.53GB allocated, 5.20GB reserved`, `[gpumem]`, `[GPU_DIAG]` |
//! | Megatron | `(after 2 iterations) memory (MB) \| allocated: ..`, several ranks on a line; Bridge's `memory (GB)` of 10^9 |
//! | PyTorch | the table of `torch.cuda.memory_summary` |
//! | Hugging Face Trainer | `train_mem_gpu_peaked_delta = 693MB`, bytes in JSON |
//! | vLLM | `Sleep mode freed 43.82 GiB memory, 4.11 GiB memory is still in use.` |
//! | `plimsoll.log_memory` | `plimsoll memory label="after forward" step=3 device=0 allocated=4831838208 rss=..`, in bytes |
//! | printed by hand | a word for a kind of memory and a number: `Allocated: 4.5 GB`, `mem=12.3GiB`, `memory_allocated()/1e9: 3.57` |
//! | nvidia-smi | its table, CSV, `dmon`, `pmon`, `-q`; gpustat |
//! | tables | a loop's, with a column of steps and one of memory; those of `ps`, `top`, `kubectl top` and `docker stats`, or what a `ps -o` asks for |
//! | runtimes | what a full collection of a JVM, of Node or of Go left, Go's `HeapAlloc`, counters of .NET, a free heap |
//! | the machine | `free`, a line with several figures of `/proc/meminfo`, the row of `df` on /dev/shm |
//! | verl, ms-swift | `memory allocated (GB): ..`, `'memory(GiB)': 61.79` |
//!
//! Lines may have terminal codes, logger prefixes, Ray's prefixes and its `[repeated 7x across cluster]`, may come from
//! interleaved processes, and may end with a carriage return. Invariants: memory is bounded for any text; no text
//! causes a panic; nothing in a text is executed. Only lines that contain one of [`needles`], and the line before each,
//! need to be fed.

mod bare;
mod blocks;
mod clock;
mod columns;
mod deepspeed;
mod diagnostics;
mod figure;
mod headers;
mod kind;
mod label;
mod line;
mod marks;
mod megatron;
mod needles;
mod own;
mod plain;
mod reader;
mod runtimes;
mod sample;
mod scan;
mod single;
mod spelled;
mod steps;
mod summary;
#[cfg(test)]
mod tests;
mod trainer;
mod versions;

pub(crate) use clock::{Clock, clock, newest_first};
pub(crate) use columns::{heads_rows, is_row};
pub use figure::Figure;
pub(crate) use headers::is_of_work;
pub(crate) use label::{is_a_size, is_of_data, is_of_what_remains};
pub use needles::needles;
pub use reader::Reader;
pub use sample::{Format, Metric, Position, Sample};
