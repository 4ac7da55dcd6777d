//! [`Remedy`]: advice that is not on the ladder, by verdict.

use super::findings::Event;
use super::sighting::Work;
use super::verdict::{Kind, Verdict};
use crate::estimate::Effect;

/// A piece of advice that is not a rung of the ladder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remedy {
    pub(super) what: &'static str,
    pub(super) class: Effect,
}

const fn keeps(what: &'static str) -> Remedy {
    Remedy { what, class: Effect::KeepsTheMath }
}

const fn moves(what: &'static str) -> Remedy {
    Remedy { what, class: Effect::MovesState }
}

/// What helps a host that ran out of memory: changes to the data side, never the model.
const HOST: [Remedy; 3] = [
    keeps("DataLoader num_workers down (each worker has its own copy of the data that it reads), prefetch_factor down"),
    keeps("do not hold the dataset as Python objects: memory-map it (Arrow, numpy memmap, safetensors) or stream it"),
    keeps("see where it goes: `plimsoll run --peak-rss LIMIT -- CMD` names the process and the moment"),
];

/// What helps if a step works on lists of all tensors at once.
pub(super) const LISTS: Remedy = keeps(
    "fused=True (or foreach=False) in the optimizer: its default on a GPU works on lists of all tensors, with temporaries as large as the parameters",
);

/// What helps if a longer input is the cause.
pub(super) const OF_THE_LONGEST: Remedy =
    keeps("size for the longest batch: bucket by length (group_by_length), cap the tokens of a batch");

/// Advice before the ladder.
pub(super) fn first(event: &Event, work: Work) -> Vec<Remedy> {
    let mut list = match event.verdict {
        Verdict::Fragmentation => Vec::new(),
        Verdict::OtherProcess => vec![
            keeps("stop the other processes on the device (nvidia-smi lists them), wait, or use another device (CUDA_VISIBLE_DEVICES)"),
        ],
        Verdict::UnattributedMemory => vec![
            keeps("find the holder: nvidia-smi, then `fuser -v /dev/nvidia*` on the host; a killed run may have left workers behind"),
            keeps("use another device (CUDA_VISIBLE_DEVICES), or ask the owner of the device to end its processes"),
        ],
        Verdict::Capacity if work == Work::Serving => vec![
            keeps("give the server more of the device, if nothing else needs it: gpu_memory_utilization (vLLM), mem-fraction-static (SGLang) up"),
            keeps("ask for less cache: max_model_len to what requests need, max_num_seqs down, kv_cache_dtype=\"fp8\"; enforce_eager=True avoids CUDA graphs"),
        ],
        Verdict::ProcessCap => vec![keeps(
            "the limit is set, not physical: set_per_process_memory_fraction, gpu_memory_utilization or PYTORCH_MPS_HIGH_WATERMARK_RATIO, if the device can spare more",
        )],
        Verdict::PrivatePool => vec![keeps(
            "capture fewer or smaller CUDA graphs (cudagraph sizes, enforce_eager=True), or share one pool among them",
        )],
        Verdict::UnexplainedFreeExceedsRequest => vec![
            keeps("look at the driver's view while it runs: under WSL and WDDM the system manages device memory and may refuse"),
            keeps("repeat with PYTORCH_NO_CUDA_MEMORY_CACHING=1 in a small case: an error then points to the driver or a pool, not to the cache"),
        ],
        Verdict::NonPytorchMemory => vec![
            keeps("find what else allocates in the process: NCCL buffers (NCCL_BUFFSIZE, communicators), a second framework, TensorRT, vLLM's own pool"),
            keeps("cap it: XLA_PYTHON_CLIENT_MEM_FRACTION, gpu_memory_utilization, fewer communicators or contexts"),
        ],
        Verdict::LibraryAllocFail => vec![
            keeps("leave room outside PyTorch's cache: the library's workspace does not come from it (set_per_process_memory_fraction(0.95))"),
            keeps("see who holds the device at that moment: nvidia-smi; with CUDA_LAUNCH_BLOCKING=1 the failing call is the one in the traceback"),
        ],
        Verdict::HostKill => HOST.to_vec(),
        Verdict::CgroupKill => [
            &[keeps("raise the limit if the machine has the memory: --mem of the job, resources.limits.memory of the container, MemoryMax of the unit")],
            &HOST[..],
        ]
        .concat(),
        Verdict::RayMemoryMonitor => vec![
            keeps("run fewer tasks at once on a node: more num_cpus or memory a task, fewer workers"),
            keeps("give the node more memory, or move the threshold: RAY_memory_usage_threshold (the kernel kills if Ray does not)"),
            HOST[1],
        ],
        Verdict::SigkillUnattributed | Verdict::DataloaderWorkerKill => vec![
            keeps("find who sent it: `dmesg -T | grep -i -E 'oom|killed process'`, `sacct -j JOB --format=State,MaxRSS`, `kubectl describe pod`, memory.events of the cgroup"),
            keeps("diagnose that text together with this one: with its evidence the verdict is definite"),
        ],
        Verdict::ShmExhausted => vec![
            keeps("make /dev/shm larger: docker run --shm-size=16g or --ipc=host; an emptyDir with medium Memory at /dev/shm in Kubernetes"),
            keeps("DataLoader num_workers or prefetch_factor down; torch.multiprocessing.set_sharing_strategy(\"file_system\") as a last resort"),
        ],
        Verdict::HostAllocFail => vec![
            keeps("allocate in pieces or memory-map: the request must fit the memory that is available at that moment"),
            keeps("look for a limit: `ulimit -v`, the cgroup's memory.max, vm.overcommit_memory, vm.max_map_count"),
            HOST[0],
        ],
        Verdict::HostSingleHugeRequest => vec![
            keeps("check the shape and the dtype of the request: an index, a broadcast or a one-hot made it larger than the machine"),
            keeps("compute it in pieces, sparse, or memory-mapped"),
        ],
        Verdict::Leak => vec![
            keeps("find what is held: record a memory snapshot at two steps (torch.cuda.memory._record_memory_history, _dump_snapshot); `plimsoll diagnose LATER.pickle --baseline EARLIER.pickle` lists the stacks that grew"),
            keeps("look first at what outlives a step: losses or outputs summed without detach() or item(), lists of tensors, retain_graph, hooks, caches keyed by shape"),
        ],
        Verdict::Regression => vec![
            keeps("compare the two: a memory snapshot of each at the same step and rank; `plimsoll diagnose LATER.pickle --baseline EARLIER.pickle` lists the stacks that grew"),
            keeps("prevent it from then on: `plimsoll matrix` with an allowance on allocated and reserved"),
        ],
        Verdict::ResidualGrowth => vec![
            keeps("find what remains after sleep: take a memory snapshot after the first sleep and after a later one; memory outside the sleep mode's pool (CUDA graphs, communicators, copies of weights) remains"),
        ],
        Verdict::SleepIneffective => vec![
            keeps("start without expandable_segments: with it, the sleep mode's pool cannot be returned to the device"),
        ],
        Verdict::HostGrowth => vec![
            keeps("find what is kept: lists of losses, outputs or samples that outlive a step, caches without a limit, DataLoader workers that copy a list (`tracemalloc`, memray); at each `.cpu()`, reuse one buffer (`buffer.copy_(tensor)`)"),
            keeps("account for it: `plimsoll ledger LOG --params N` shows the unexpected bytes per parameter, and when they appeared"),
        ],
        Verdict::Inconclusive => vec![
            keeps("RAY_DEDUP_LOGS=0 in the environment before Ray starts: the lines of all ranks are printed, and the worst one decides"),
        ],
        Verdict::VariesByRank => vec![
            keeps("nothing, if the ranks hold different parts of the model (pipeline stages, embeddings on the first); otherwise compare a memory snapshot of the highest rank with one of the lowest at the same step"),
            keeps("size for the highest rank: it is the one that runs out"),
        ],
        Verdict::NearCapacity => vec![
            keeps("leave room before it fails: each retry releases the whole cache and waits for the device; per_device_train_batch_size down, or one of the steps of `plimsoll estimate`"),
            keeps("PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.8 releases unused blocks before the device is full"),
        ],
        Verdict::CacheNotLeak => vec![
            keeps("nothing, as long as nothing else needs the device: reserved memory is used again. Only if a later request fails in spite of it is it fragmentation"),
        ],
        _ => Vec::new(),
    };
    if event.kind == Kind::VramOom && event.also.contains(&Verdict::Eval) {
        list.extend([
            keeps("per_device_eval_batch_size down"),
            keeps("torch.no_grad() or inference_mode around the evaluation, so that no graph is kept"),
            keeps("pad each batch to its own longest sample and sort the evaluation by length: one long sample sets the peak"),
        ]);
        let pile = moves(
            "eval_accumulation_steps of the Trainer, or `.cpu()` on each batch's predictions in a loop of your own: they move to the host at once \
             instead of accumulating on the device; preprocess_logits_for_metrics keeps only what the metric needs",
        );
        // Accumulated predictions have a remedy of their own; a batch that is too large is not cured by it.
        let at = if event.also.contains(&Verdict::EvalAccumulation) { list.len() - 3 } else { list.len() };
        list.insert(at, pile);
    }
    if event.kind == Kind::VramOom && work == Work::Loading {
        list.push(keeps(
            "read checkpoints to the host, then copy: torch.load(path, map_location=\"cpu\"), from_pretrained with device_map; otherwise two copies are on the device at once",
        ));
    }
    if event.also.contains(&Verdict::LongestBatch) {
        list.push(OF_THE_LONGEST);
    }
    if event.verdict == Verdict::SingleHugeRequest && event.numbers.tried > event.numbers.capacity {
        list.insert(0, keeps("check the shape of the request: logits over a large vocabulary, a full attention matrix, an image or clip that was not resized"));
    }
    list
}

/// What to do about the memory of a program on the host, whatever it computes.
pub(super) fn of_a_program(verdict: Verdict) -> Vec<Remedy> {
    if verdict == Verdict::Regression {
        return vec![
            keeps(
                "find the commit: `plimsoll bisect GOOD BAD -- COMMAND` judges each by its peak memory, in as many runs as the noise asks for",
            ),
            keeps("prevent it from then on: `plimsoll gate` with a limit on peak_rss in CI"),
        ];
    }
    if verdict == Verdict::Fragmentation {
        return vec![
            keeps(
                "let the allocator give pages back: activedefrag in Redis, MALLOC_CONF=background_thread:true,dirty_decay_ms:1000 for jemalloc, malloc_trim(0) in glibc",
            ),
            keeps(
                "of the machine: /proc/sys/vm/compact_memory joins free blocks once; a larger vm.min_free_kbytes, and huge pages that are reserved at boot, keep large ones",
            ),
        ];
    }
    vec![
        keeps(
            "find what is kept: compare two heap profiles, an early and a late one (heaptrack for C and C++, memray or tracemalloc for Python, `jcmd PID GC.heap_dump` for Java, `node --heapsnapshot-signal=SIGUSR2`, pprof for Go, dotnet-gcdump)",
        ),
        keeps(
            "if the heap stays flat and the resident memory grows, look at native memory and at the allocator: `pmap -X PID`, MALLOC_ARENA_MAX=2 or jemalloc",
        ),
    ]
}

/// Advice after the ladder.
pub(super) fn last(event: &Event) -> Vec<Remedy> {
    if event.kind == Kind::VramOom
        && (event.also.contains(&Verdict::OptimizerStep) || event.also.contains(&Verdict::OptimizerState))
    {
        return vec![keeps(
            "budget the peak after two steps: an optimizer such as Adam allocates its state in the first one",
        )];
    }
    Vec::new()
}
