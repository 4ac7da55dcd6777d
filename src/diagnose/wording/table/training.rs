//! Training frameworks; PyTorch's allocator, XLA and Paddle's device message have readers of their own.

use super::Means::{Full, Host, Nothing, Pressure};
use super::{Wording, row};

pub(super) static ROWS: &[Wording] = &[
    row(
        Host,
        "paddle",
        "Paddle could not allocate on the host.",
        r"Fail to alloc memory of (?P<tried>\d+) size|Failed to allocate CPU [Mm]emory|[Cc]annot allocate (?P<tried_b>[\d.]+ ?[KMGT]?B) memory on CPU|cpu_allocator\.cc[^\n]*(?:fail|Fail)",
        "ResourceExhaustedError: Fail to alloc memory of 21474836480 size, error code is 12.",
        "paddle: phi/core/memory/allocation/cpu_allocator.cc",
    ),
    row(
        Host,
        "tensorflow",
        "TensorFlow's allocator for the host refused a request.",
        r"OOM when allocating tensor[^\n]*by allocator (?:mkl)?cpu",
        "OOM when allocating tensor with shape[60000,512,512] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu",
        "tensorflow: framework/op_kernel.cc",
    ),
    row(
        Full,
        "exllama",
        "The loader found too little device memory for the model and its cache.",
        r"Insufficient VRAM|[Nn]ot enough (?:VRAM|GPU (?:memory|RAM)|video memory)|[Ii]nsufficient (?:GPU|video) (?:memory|RAM)",
        "RuntimeError: Insufficient VRAM for model and cache",
        "exllamav2, stable-diffusion programs",
    ),
    row(
        Host,
        "accelerate",
        "Host memory is too small for the weights that are loaded.",
        r"SafetensorError:[^\n]*(?:os error 12|Cannot allocate memory)|safetensors[^\n]*(?:os error 12|Cannot allocate memory)",
        "OSError: safetensors mmap: Cannot allocate memory (os error 12)",
        "safetensors: mmap of a file",
    ),
    row(
        Nothing("the program continues with less: a warning, not a failure"),
        "",
        "",
        r"Attempting to copy inputs of [^\n]* to CPU due to CUDA OOM|exceeds \d+% of (?:free )?system memory|exceeds 10% of|memory allocation failed with OOM on device \d+ while trying|preempted by PreemptionMode|KV cache pool is full\. Retract",
        "Allocation of 1207959552 exceeds 10% of free system memory.",
        "tensorflow: cpu_allocator_impl.cc; detectron2: utils/memory.py; vllm: scheduler.py",
    ),
    row(
        Pressure,
        "deepspeed",
        "PyTorch's allocator had to release its cache and ask the device again.",
        r"\d+ pytorch allocator cache flushes since last step",
        "2 pytorch allocator cache flushes since last step. this happens when there is high memory pressure",
        "DeepSpeed: runtime/zero/stage3.py",
    ),
    row(
        Pressure,
        "torchtitan",
        "PyTorch's allocator had to release its cache and ask the device again.",
        r"\b\d+ CUDA memory allocation retries\b",
        "4 CUDA memory allocation retries.",
        "torchtitan: components/metrics.py",
    ),
    row(
        Pressure,
        "fairseq",
        "Batches that do not fit the device are left out of the training.",
        r"(?:ran out of memory|\bOOM\b)[^\n]{0,60}, skipping batch|attempting to recover from OOM in (?:forward|backward)",
        "WARNING: ran out of memory on GPU #2, skipping batch",
        "fairseq: trainer.py",
    ),
    row(
        Full,
        "",
        "The device is too small for every batch size that the program tried.",
        r"No executable batch size found, reached zero",
        "RuntimeError: No executable batch size found, reached zero.",
        "accelerate: utils/memory.py",
    ),
];
