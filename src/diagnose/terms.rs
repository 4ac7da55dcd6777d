//! Advice in the terms of the software: for each framework, runtime and manager its own settings, with what to expect.
//!
//! A number is written in braces: `{limit}`, `{used}`, `{tried}`, `{more}` (a limit that would have been enough). A
//! part in double brackets is left out if its number is unknown.

use super::findings::{Event, Numbers};
use plimsoll_memory::bytes::ByteSize;

/// What to do on a device, by software; `None` if it trains with PyTorch, which has the ladder.
pub(super) fn on_device(software: &str) -> Option<&'static [&'static str]> {
    Some(match software {
        "vllm" => &[
            "gpu_memory_utilization up (towards 0.95) if nothing else uses the GPU, down if the failure came after start-up",
            "max_model_len down to what requests need: the KV cache that one request may need shrinks with it",
            "max_num_seqs and max_num_batched_tokens down: smaller activations at the same model",
            "tensor_parallel_size up: weights and cache are split over the GPUs",
            "kv_cache_dtype=\"fp8\" or a quantized checkpoint (AWQ, GPTQ, FP8); enforce_eager=True avoids CUDA graphs",
        ],
        "sglang" => &[
            "--mem-fraction-static: lower (0.8, 0.7) if the failure came while serving or capturing graphs, higher if the KV cache did not fit at start",
            "--chunked-prefill-size (4096, 2048) and --max-running-requests down: smaller peaks",
            "--cuda-graph-max-bs down, or --disable-cuda-graph: avoids the graphs' pools",
            "--tp-size up: weights and cache are split over the GPUs",
            "--context-length down; --kv-cache-dtype fp8_e5m2; a quantized checkpoint",
        ],
        "tensorrt-llm" => &[
            "kv_cache_config.free_gpu_memory_fraction down (0.9 is the default): leaves room for activations",
            "rebuild with smaller --max_batch_size, --max_num_tokens, --max_seq_len: buffers are sized for them",
            "--tp_size up, or quantize (FP8, INT4 AWQ): weights shrink or are split",
        ],
        "tensorrt" => &[
            "limit the builder's workspace: config.set_memory_pool_limit(WORKSPACE, ..), trtexec --memPoolSize=workspace:N",
            "smaller maximum shapes in the optimization profile: activations are sized for them",
            "build with FP16 or INT8, with nothing else on the GPU",
        ],
        "tgi" => &[
            "--max-batch-prefill-tokens down to what the error names or less: the warm-up allocates for it",
            "--max-total-tokens and --max-input-tokens down: a smaller KV cache",
            "--quantize (eetq, awq, gptq), or --num-shard up: weights shrink or are split",
        ],
        "lmdeploy" => &[
            "--cache-max-entry-count down (0.8 is the default): the share of free memory that the KV cache takes",
            "--session-len and --max-batch-size down",
            "--quant-policy 8 (an 8-bit KV cache), a W4A16 model, or --tp up",
        ],
        "llama.cpp" | "whisper.cpp" => &[
            "-ngl (--n-gpu-layers) down: fewer layers on the GPU, the others on the CPU; each layer takes its share of the weights[[, and {tried} did not fit]]",
            "-c (--ctx-size) down, or --cache-type-k q8_0 --cache-type-v q8_0 with -fa: the KV cache shrinks in proportion",
            "--tensor-split over several GPUs, or a smaller quantization of the model (Q4_K_M)",
            "-b and -ub (batch and micro-batch) down: smaller compute buffers",
        ],
        "ollama" => &[
            "num_ctx down (PARAMETER num_ctx, or OLLAMA_CONTEXT_LENGTH): a smaller KV cache",
            "num_gpu down: fewer layers on the GPU; OLLAMA_NUM_PARALLEL=1 and OLLAMA_MAX_LOADED_MODELS=1: one cache, one model",
            "a smaller model or quantization (a q4_K_M tag); OLLAMA_KV_CACHE_TYPE=q8_0 with OLLAMA_FLASH_ATTENTION=1 halves the cache",
        ],
        "jax" => &[
            "XLA_PYTHON_CLIENT_MEM_FRACTION=.95 if nothing else uses the device, or XLA_PYTHON_CLIENT_PREALLOCATE=false to share it",
            "smaller batch per device, or shard with jax.sharding over more devices[[: one buffer wants {tried}]]",
            "jax.checkpoint (remat) around layers: activations are computed again instead of kept",
            "donate buffers (donate_argnums) so that the state is updated in place; bf16",
            "XLA_PYTHON_CLIENT_ALLOCATOR=platform to find out whether fragmentation is at fault; slow",
        ],
        "tensorflow" => &[
            "tf.config.experimental.set_memory_growth(gpu, True), or a logical device with a memory_limit: does not take the whole GPU at start",
            "smaller batch_size or input shape: activations shrink in proportion[[; one tensor wants {tried}]]",
            "TF_GPU_ALLOCATOR=cuda_malloc_async: less fragmentation",
            "mixed precision: tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")",
            "tf.recompute_grad around blocks: activations are computed again",
        ],
        "paddle" => &[
            "smaller batch_size in the configuration: activations shrink in proportion",
            "FLAGS_fraction_of_gpu_memory_to_use and FLAGS_allocator_strategy=auto_growth: how much is taken ahead",
            "amp (paddle.amp.auto_cast, level O2) and use_recompute=True",
        ],
        "mxnet" => &[
            "smaller batch size per GPU: activations shrink in proportion",
            "MXNET_GPU_MEM_POOL_TYPE=Round, MXNET_GPU_MEM_POOL_RESERVE: how the pool keeps memory",
            "MXNET_BACKWARD_DO_MIRROR=1: activations are computed again; float16",
        ],
        "mindspore" => &[
            "smaller batch size; context.set_context(max_device_memory=..) if the limit is below the device",
            "recompute() on cells; optimizer and gradients sharded by auto_parallel",
            "mixed precision (amp_level=\"O2\")",
        ],
        "rapids" => &[
            "rmm.reinitialize(pool_allocator=True, initial_pool_size=.., maximum_pool_size=..): a pool as large as the device allows[[; {tried} were asked for]]",
            "rmm.reinitialize(managed_memory=True), or cudf.set_option(\"spill\", True): spills to the host; slower",
            "work in parts: dask-cudf with smaller partitions, chunked readers (read_parquet by row groups), fewer columns",
        ],
        "cupy" => &[
            "work in chunks: the arrays and their temporaries have to fit together[[; {tried} were asked for]]",
            "free_all_blocks() of cupy.get_default_memory_pool() between different phases; set_limit() if others share the GPU",
            "float32 or float16 instead of float64; in-place operations (out=)",
            "cupy.cuda.set_allocator(cupy.cuda.MemoryPool(cupy.cuda.malloc_managed).malloc): spills to the host; slower",
        ],
        "numba" => &[
            "copy and compute in chunks: cuda.to_device of parts, results back before the next",
            "drop references to device arrays and cuda.current_context().deallocations.clear(): frees the arrays that wait for it",
            "float32 instead of float64",
        ],
        "onnxruntime" => &[
            "gpu_mem_limit and arena_extend_strategy=\"kSameAsRequested\" of the CUDA provider: the arena no longer doubles",
            "cudnn_conv_algo_search=\"HEURISTIC\", cudnn_conv_use_max_workspace=\"0\": smaller workspaces",
            "smaller batch or input; a float16 or quantized model",
        ],
        "julia" => &[
            "CUDA.reclaim() and GC.gc(true) between different phases: frees arrays that are no longer used",
            "JULIA_CUDA_HARD_MEMORY_LIMIT or JULIA_CUDA_MEMORY_POOL=none if others share the GPU",
            "work in chunks or in Float32[[: one array wants {tried}]]",
        ],
        "mlx" => &[
            "a smaller or more quantized model, a shorter context: weights and cache share the machine's memory",
            "mx.set_wired_limit and `sysctl iogpu.wired_limit_mb`: how much of it the GPU may use",
            "smaller batch; gradient checkpointing (--grad-checkpoint) when fine-tuning",
        ],
        "comfyui" => &[
            "--lowvram (or --novram): models are moved to the host between nodes",
            "smaller width, height, batch or frame count; tiled VAE (VAE Decode (Tiled))",
            "an fp8 or GGUF checkpoint; --fp8_e4m3fn-unet",
        ],
        "diffusers" => &[
            "enable_model_cpu_offload() (or sequential): parts of the pipeline wait on the host",
            "enable_vae_tiling(), enable_vae_slicing(), smaller height, width, num_frames",
            "torch_dtype=torch.float16 or bfloat16; a quantized transformer",
        ],
        "exllama" | "ctranslate2" | "candle" | "coreml" | "openvino" => &[
            "a smaller or more quantized model (int8, 4 bit): weights shrink in proportion",
            "shorter context or smaller batch: cache and activations shrink",
            "split over several GPUs if there are some, or run part of it on the CPU",
        ],
        "triton-server" => &[
            "fewer instances of the model on the GPU (instance_group count): each holds its own copy",
            "--cuda-memory-pool-byte-size=GPU:BYTES down, or max_batch_size down",
            "unload models that are not used (--model-control-mode=explicit)",
        ],
        "xgboost" | "lightgbm" | "catboost" => &[
            "max_bin down (128, 64) and float32 data: the quantized matrix shrinks",
            "subsample with gradient_based sampling, or external memory (QuantileDMatrix from an iterator)",
            "several GPUs (Dask), or tree_method=\"hist\" on the CPU: the data then lies in main memory",
        ],
        "faiss" => &[
            "a compressed index (IVFPQ, or useFloat16 in GpuClonerOptions): vectors shrink",
            "StandardGpuResources.setTempMemory smaller; shard over GPUs (index_cpu_to_all_gpus with shard=True)",
            "add and search in batches",
        ],
        "habana" | "hpu" => &[
            "smaller batch, or PT_HPU_MAX_COMPOUND_OP_SIZE down: smaller graphs need less workspace",
            "PT_HPU_POOL_STRATEGY and PT_HPU_POOL_MEM_ACQUIRE_PERC: how much the pool takes",
            "bf16 and activation checkpointing",
        ],
        "neuron" => &[
            "tp_degree up: weights and cache are split over more NeuronCores",
            "smaller batch_size, sequence length or bucket when compiling",
            "unload what other processes hold: `neuron-ls`, `neuron-top`",
        ],
        "vulkan" | "dxvk" | "directx" | "opengl" | "webgpu" | "unity" => &[
            "lower texture and render resolution, or stream textures: they hold most of the device's memory",
            "close other programs that use the GPU (browsers, games, recorders)",
            "free resources before allocating their successors; suballocate from few large blocks",
        ],
        "blender" => &[
            "simplify (Render > Simplify), texture size limit, persistent data off: the scene shrinks",
            "smaller tiles and fewer samples in flight; instances instead of copies",
            "render on the CPU: main memory then holds the scene",
        ],
        "ffmpeg" => &[
            "fewer encodes at once: consumer GPUs allow a few sessions, and each has its surfaces",
            "-surfaces and -rc-lookahead down, smaller resolution",
            "encode on the CPU (libx264)",
        ],
        "gromacs" | "namd" | "amber" => &[
            "fewer ranks or runs on one GPU: each holds its own buffers",
            "a smaller cutoff, grid or system on each GPU; more GPUs",
            "run the long-range part on the CPU (gmx mdrun -pme cpu)",
        ],
        "opencl" | "matlab" | "darknet" | "caffe" | "dgl" | "cuda" | "hip" | "npu" | "xpu" | "musa" | "metal"
        | "device" => &[
            "see who holds the device (nvidia-smi, rocm-smi, npu-smi, xpu-smi) and end what is not needed",
            "process the problem in smaller parts: batch, image, chunk or subdivisions[[; {tried} were asked for]]",
            "smaller types (float32, float16), fewer temporaries, freed before the next allocation",
            "managed memory (cudaMallocManaged) or more devices, if the work cannot be split",
        ],
        _ => return None,
    })
}

/// What comes first for a framework that trains with PyTorch, in the framework's own settings; `allocates` if a step
/// failed that allocates the optimizer's state, which no smaller batch makes smaller.
pub(super) fn trains(software: &str, allocates: bool) -> &'static [&'static str] {
    match software {
        "deepspeed" if allocates => &[
            "zero_optimization.stage 1 or higher: each GPU keeps a part of the optimizer's state; offload_optimizer to cpu",
        ],
        "megatron" if allocates => &[
            "--use-distributed-optimizer: each data-parallel rank keeps a part of the optimizer's state; --tensor-model-parallel-size or --pipeline-model-parallel-size up",
        ],
        "lightning" if allocates => {
            &["strategy=\"fsdp\" or \"deepspeed_stage_2\": each GPU keeps a part of the optimizer's state"]
        }
        "deepspeed" => &[
            "train_micro_batch_size_per_gpu down with gradient_accumulation_steps up; zero_optimization.stage 2 or 3, offload_optimizer to cpu",
        ],
        "megatron" => &[
            "--micro-batch-size down, --recompute-granularity selective or full, --use-distributed-optimizer, --tensor-model-parallel-size up with --sequence-parallel",
        ],
        "lightning" => &[
            "Trainer(accumulate_grad_batches=..) with a smaller batch in the DataLoader, precision=\"bf16-mixed\", strategy=\"fsdp\"",
        ],
        "ultralytics" => &["batch= smaller (or batch=-1, which measures), imgsz= smaller"],
        "mmengine" => {
            &["train_dataloader.batch_size down, optim_wrapper.accumulative_counts up, with_cp=True in the backbone"]
        }
        _ => &[],
    }
}

/// What to do on the host, by software.
pub(super) fn on_host(software: &str) -> Option<&'static [&'static str]> {
    Some(match software {
        "jvm" => &[
            "-Xmx up (in a container -XX:MaxRAMPercentage): the heap then holds the live data; leave a quarter of the memory for what lies outside it",
            "-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=..: the dump shows in an analyser which objects fill the heap",
            "outside the heap: -XX:MaxDirectMemorySize for direct buffers[[ ({limit} now)]], -XX:MaxMetaspaceSize for classes, -Xss and fewer threads for stacks",
        ],
        "gradle" => &[
            "org.gradle.jvmargs=-Xmx4g in gradle.properties: the daemon's heap",
            "org.gradle.workers.max down, kotlin.daemon.jvmargs for Kotlin's own process",
            "./gradlew --stop after the change: a running daemon keeps its old heap",
        ],
        "android" => &[
            "load images at the size they are shown (inSampleSize), and let caches shrink in onTrimMemory",
            "look for what is kept: a heap dump in Android Studio, LeakCanary",
            "android:largeHeap=\"true\" as a last resort: a larger growth limit on most devices",
        ],
        "spark" | "databricks" => &[
            "spark.executor.memoryOverhead up if the container was killed, spark.executor.memory up if the heap is full, spark.driver.memory for the driver",
            "smaller partitions: spark.sql.shuffle.partitions up, repartition() before wide steps; no collect() of large results",
            "spark.executor.cores down: fewer tasks share one heap",
        ],
        "yarn" => &[
            "spark.executor.memoryOverhead (or mapreduce.map.memory.mb, mapreduce.reduce.memory.mb) up[[: {used} of {limit} were used, so at least {more}]]",
            "-Xmx below the container's size by a tenth to a quarter: what lies outside the heap counts as well",
            "yarn.nodemanager.vmem-check-enabled=false if it was the virtual limit: virtual size says little",
        ],
        "elasticsearch" => &[
            "smaller requests: page size, aggregation buckets, bulk size; the breaker names the request",
            "-Xms and -Xmx up to half of the machine, at most 31 GiB",
            "more nodes or shards spread evenly, fielddata off",
        ],
        "node" | "bun" | "deno" => &[
            "NODE_OPTIONS=--max-old-space-size=MIB up: the heap's limit, in MiB; stay below the container's limit",
            "find what is held: --heapsnapshot-near-heap-limit=2 writes snapshots that DevTools opens",
            "stream instead of whole buffers; fewer workers of the bundler (webpack, Next.js, TypeScript) at once",
        ],
        "dotnet" => &[
            "DOTNET_GCHeapHardLimit or DOTNET_GCHeapHardLimitPercent up if one is set; in a container its limit counts (75 % by default)",
            "DOTNET_gcServer=0 or DOTNET_GCConserveMemory=5: a smaller heap at some speed",
            "dotnet-gcdump and dotnet-counters show what is held; a 64-bit process, ArrayPool for large arrays",
        ],
        "dart" | "flutter" => &[
            "--old_gen_heap_size=MIB (DART_VM_OPTIONS) up: the heap's limit",
            "find what is held with DevTools' memory view",
            "process in pieces or in isolates of their own",
        ],
        "go" => &[
            "GOMEMLIMIT at nine tenths of what the process may use, and GOGC lower: collects before the limit instead of failing at it",
            "find what is held: a heap profile (pprof -inuse_space)",
            "more memory, or fewer tasks at once (GOMAXPROCS, go build -p N)",
        ],
        "rust" => &[
            "check the size that was asked for[[: {tried}]]: with_capacity or collect from a wrong length is the usual cause",
            "stream or chunk the data; try_reserve reports the failure as an error",
            "look for a limit: `ulimit -v`, memory.max of the control group, vm.overcommit_memory",
        ],
        "php" => &[
            "memory_limit in php.ini up (`php -d memory_limit=..` for one command)[[: it is {limit}]]",
            "read in pieces: generators, unbuffered queries, unset() in loops",
            "COMPOSER_MEMORY_LIMIT=-1 if it is Composer",
        ],
        "perl" | "ruby" | "lua" | "ocaml" | "lisp" | "erlang" | "haskell" | "r" | "julia" | "matlab" => {
            match software {
                "ruby" => &[
                    "find what grows: ObjectSpace, memory_profiler; MALLOC_ARENA_MAX=2 or jemalloc lowers what threads hold",
                    "find_each instead of all: records come in batches",
                    "fewer workers or threads of the server (WEB_CONCURRENCY), or more memory",
                ],
                "r" => &[
                    "check the size of the object[[: {tried}]]: dist(), outer(), dense matrices grow with the square",
                    "data.table, arrow or a database instead of data frames; rm() and gc() for data that is no longer needed",
                    "R_MAX_VSIZE up (in .Renviron) if the limit is R's own; a 64-bit R",
                ],
                "erlang" => &[
                    "find the process that holds it: recon:proc_count(memory, 10), or the crash dump in crashdump_viewer",
                    "max_heap_size per process (+hmax): one process ends instead of the node",
                    "bound mailboxes and ets tables; +MBas aobf for fragmentation",
                ],
                "haskell" => &[
                    "+RTS -M up[[: it is {limit}]], or more memory",
                    "find what is held: +RTS -hc and a profile; strict folds and fields",
                    "+RTS -c or --nonmoving-gc: less room for copying",
                ],
                "lisp" => &[
                    "sbcl --dynamic-space-size MB up: the heap's limit",
                    "(sb-ext:gc :full t) between phases, less garbage in loops",
                    "process the data in pieces",
                ],
                "matlab" => &[
                    "check the size of the array[[: {tried}]]: zeros(n) makes n x n",
                    "single instead of double, sparse, tall arrays or matfile for parts",
                    "Preferences > Workspace > maximum array size if the machine has more",
                ],
                _ => &[
                    "process the data in pieces, and drop what is no longer needed",
                    "look for a limit: `ulimit -v`, memory.max of the control group",
                    "more memory, or fewer of these processes at once",
                ],
            }
        }
        "compiler" | "bazel" => &[
            "fewer jobs at once: make -jN or ninja -jN with 2 GB a job, CARGO_BUILD_JOBS, bazel --jobs / --local_ram_resources, MAX_JOBS for extensions",
            "less for each: no -g or -g1, -O1 for generated files, no LTO (or ThinLTO), ld.lld or mold instead of ld, split large files",
            "more memory or swap for the build",
        ],
        "fortran" | "cpp" | "valgrind" | "tcmalloc" => &[
            "check the size that was asked for[[: {tried}]]: an overflow or a wrong length asks for more than any machine has",
            "look for a limit: `ulimit -v` and `ulimit -s`, memory.max of the control group, vm.overcommit_memory",
            "see where it goes: `plimsoll run --peak-rss LIMIT -- CMD`, heaptrack, valgrind --tool=massif",
        ],
        "postgres" => &[
            "work_mem (and hash_mem_multiplier) down: each sort or hash of each query may take it, times the connections",
            "shared_buffers at a quarter of memory; fewer connections (a pooler such as PgBouncer)",
            "vm.overcommit_memory=2 with a fitting overcommit_ratio: a query fails instead of a server process being killed",
        ],
        "mysql" => &[
            "innodb_buffer_pool_size down to what is left beside connections (half to three quarters of memory)",
            "max_connections, tmp_table_size, sort_buffer_size, join_buffer_size down: each connection may take them",
            "sort_buffer_size up for error 1038 alone",
        ],
        "redis" => &[
            "maxmemory up if the machine has more, or maxmemory-policy allkeys-lru: old keys go instead of writes failing",
            "vm.overcommit_memory=1: a fork for a save then succeeds",
            "expire keys; find large ones with redis-cli --bigkeys and --memkeys",
        ],
        "mongodb" => &[
            "storage.wiredTiger.engineConfig.cacheSizeGB down: leaves room for connections and sorts",
            "allowDiskUse: true, or an index that gives the order",
            "fewer connections (maxPoolSize)",
        ],
        "clickhouse" => &[
            "max_bytes_before_external_group_by and max_bytes_before_external_sort: spill to disk[[ before {limit}]]",
            "max_memory_usage (a query) or max_server_memory_usage_to_ram_ratio up if the machine has more",
            "max_threads down; join_algorithm='grace_hash' or 'partial_merge'",
        ],
        "duckdb" => &[
            "SET memory_limit up if the machine has more[[ ({limit} now)]], SET temp_directory: spills to disk",
            "SET threads down; SET preserve_insertion_order=false",
            "read fewer columns and rows at once",
        ],
        "mssql" => &[
            "max server memory, and the resource pool's MAX_MEMORY_PERCENT, up",
            "smaller grants: indexes for sorts and joins, OPTION (MAX_GRANT_PERCENT=..)",
            "fewer queries at once",
        ],
        "oracle" => &[
            "shared_pool_size or sga_target up for ORA-04031, pga_aggregate_limit for ORA-04030 and ORA-04036",
            "bind variables instead of literals: fewer cursors fill the pool",
            "`ulimit` of the oracle user, and the machine's huge pages",
        ],
        "neo4j" | "trino" | "impala" | "sqlite" | "memcached" => &[
            "raise the limit if the machine has more[[: it is {limit}]] (query.max-memory-per-node, dbms.memory.transaction.total.max, mem_limit, -m)",
            "smaller queries and batches; let joins and sorts spill to disk",
            "fewer queries at once",
        ],
        "git" | "rsync" => match software {
            "git" => &[
                "pack.windowMemory=100m, pack.packSizeLimit=100m, pack.threads=1, core.packedGitLimit=128m: packing takes less",
                "large files in LFS, core.bigFileThreshold down",
                "a shallow or partial clone (--depth 1, --filter=blob:none)",
            ],
            _ => &[
                "rsync 3 or later on both sides, without options that need the whole list (--delete-before, --hard-links)",
                "one call for each directory: the list of files is what grows",
                "more memory or swap",
            ],
        },
        "llama.cpp" | "ollama" => &[
            "a smaller model or quantization: the weights have to fit main memory[[; {tried} were asked for and {free} are free]]",
            "-c (num_ctx) down, and quantized KV cache: less beside the weights",
            "more layers on the GPU (-ngl, num_gpu), if it has room; mmap on, without --mlock and --no-mmap",
        ],
        "onnxruntime" => &[
            "smaller batch or input; a quantized model",
            "SessionOptions: enable_cpu_mem_arena=False, enable_mem_pattern=False: no arena that keeps its peak",
            "external data or a 64-bit process for models beyond 2 GB",
        ],
        "tensorflow" => &[
            "do not convert the data set whole: tf.data.Dataset.from_generator, TFRecord files, batches",
            "smaller types (uint8 until the model's input), smaller shuffle and prefetch buffers",
            "more memory for the process, or a machine with more",
        ],
        "paddle" => &[
            "smaller batch and fewer workers (num_workers) of the DataLoader",
            "FLAGS_fraction_of_cpu_memory_to_use down, FLAGS_allocator_strategy=auto_growth",
            "do not hold the data set as objects: stream it",
        ],
        "windows" => &[
            "enlarge the page file (System > Advanced > Performance > Virtual memory; size managed by the system): Windows commits every DLL's and allocation's memory there",
            "fewer processes that load the same large libraries: DataLoader num_workers=0 or fewer, fewer parallel programs",
            "close programs with a large commit size (Task Manager, column Commit size)",
        ],
        "macos" | "ios" | "bsd" | "freebsd" => &[
            "a smaller working set, or fewer programs at once: the system had neither memory nor swap left",
            "room on the disk that holds swap, or more swap",
            "look at the largest users when it happens (`top -o mem`, Instruments, the jetsam report)",
        ],
        "qemu" => &[
            "-m smaller than what the host has free, or memory-backend with prealloc off",
            "vm.overcommit_memory=1, or huge pages reserved ahead (vm.nr_hugepages)",
            "fewer machines at once, ballooning",
        ],
        "chrome" => &[
            "--disable-dev-shm-usage in containers (or a larger /dev/shm); fewer tabs and pages at once",
            "close pages and contexts after each task; restart the browser now and then",
            "more memory for the container",
        ],
        "slurm" => &[
            "--mem (or --mem-per-cpu) up[[: the limit was {limit}, so at least {more}]]; `sacct -j JOB --format=ReqMem,MaxRSS,State` shows what was used",
            "fewer processes on a node: --ntasks-per-node, DataLoader num_workers; each has its own copy of what it reads",
            "read in pieces or memory-mapped; files in /tmp and /dev/shm count towards the job",
        ],
        "lsf" => &[
            "-M and -R \"rusage[mem=..]\" up[[: the limit was {limit}, so at least {more}]]; `bjobs -l` shows MAX MEM",
            "fewer processes in the job: each counts",
            "read in pieces or memory-mapped",
        ],
        "pbs" => &[
            "-l mem=.. (PBS Pro: -l select=1:mem=..) up[[: the limit was {limit}, so at least {more}]]",
            "fewer processes in the job: each counts; -l vmem if it was the virtual limit",
            "read in pieces or memory-mapped",
        ],
        "sge" => &[
            "-l h_vmem=.. up[[: {used} were used, so at least {more}]]; it is a limit per slot with -pe",
            "h_vmem counts virtual memory: programs that reserve much (Java, CUDA) need more than they use",
            "fewer slots or processes; `qacct -j JOB` shows maxvmem",
        ],
        "condor" => &[
            "request_memory up[[: {used} of {limit} were used, so at least {more}]]; condor_release after condor_qedit",
            "periodic_release with a larger request (request_memory = ifthenelse(NumJobStarts > 0, ..))",
            "read in pieces or memory-mapped",
        ],
        "kubernetes" => &[
            "resources.limits.memory up[[: the limit was {limit}, so at least {more}]], with requests near it; `kubectl top pod` shows use",
            "make the program know its limit: -XX:MaxRAMPercentage, GOMEMLIMIT, --max-old-space-size, fewer workers",
            "emptyDir with medium Memory and page cache of written files count towards the limit",
        ],
        "docker" | "nomad" | "mesos" | "circleci" | "gitlab" | "github-actions" | "azure" | "vercel" | "cloudflare" => {
            &[
                "raise the limit of the container, task or runner[[: it was {limit}, so at least {more}]] (docker run --memory, mem_limit, memory_max, a larger class)",
                "fewer processes at once in it: build jobs, test workers, server workers",
                "make the program know its limit: -XX:MaxRAMPercentage, GOMEMLIMIT, --max-old-space-size",
            ]
        }
        "ecs" | "aws-batch" => &[
            "memory of the container or task definition up[[: it was {limit}, so at least {more}]]; memoryReservation is the soft limit",
            "CloudWatch Container Insights shows MemoryUtilized before the end",
            "fewer workers in the container; the program was given its limit (-XX:MaxRAMPercentage, GOMEMLIMIT)",
        ],
        "lambda" => &[
            "MemorySize up[[: {used} of {limit} were used, so at least {more}]] (aws lambda update-function-configuration --memory-size); processor time grows with it",
            "stream from S3 instead of whole objects; large data outside the handler's globals",
            "watch Max Memory Used: one that grows from call to call is a leak in what stays warm",
        ],
        "cloud-run" | "cloud-functions" | "app-engine" => &[
            "--memory up[[: {used} of {limit} were used, so at least {more}]] (gcloud run deploy, gcloud functions deploy; instance_class for App Engine)",
            "--concurrency down: fewer requests share one instance",
            "files written to the local disk are memory: write to a bucket",
        ],
        "heroku" => &[
            "a larger dyno type[[: {used} were used]], or fewer processes on it (WEB_CONCURRENCY)",
            "find what grows: log-runtime-metrics shows memory over time; R14 swaps and is slow, R15 is ended",
            "MALLOC_ARENA_MAX=2 or jemalloc for Ruby and Python; --max-old-space-size for Node",
        ],
        "dask" => &[
            "LocalCluster(memory_limit=..) or --memory-limit up, or fewer workers with more memory each",
            "smaller chunks and partitions; persist less, no compute() of large results",
            "distributed.worker.memory.target and spill: when data goes to disk",
        ],
        "ray" => &[
            "fewer tasks at once: num_cpus or memory= per task and actor up, so that less run on a node",
            "object_store_memory up if the store is full; del references, ray.put once; spilling to a larger disk",
            "RAY_memory_usage_threshold and RAY_memory_monitor_refresh_ms: when the monitor acts",
        ],
        "airflow" | "celery" | "gunicorn" | "uwsgi" | "nextflow" | "snakemake" | "mpi" => match software {
            "gunicorn" | "uwsgi" => &[
                "fewer workers, preload_app (or lazy-apps off): copies share pages",
                "--max-requests 1000 with jitter (max-requests, reload-on-rss): a worker that grew is replaced",
                "more memory for the container",
            ],
            "celery" => &[
                "worker_max_memory_per_child and worker_max_tasks_per_child: a child that grew is replaced",
                "--concurrency down: fewer children at once",
                "smaller tasks, results in storage instead of memory",
            ],
            "nextflow" => &[
                "memory = { 8.GB * task.attempt } with errorStrategy 'retry' and maxRetries: more at each attempt",
                "process.memory of the label up; fewer tasks at once (executor.queueSize, maxForks)",
                "smaller inputs for a task",
            ],
            "snakemake" => &[
                "resources: mem_mb=lambda wc, attempt: attempt * 8000, with --retries 2: more at each attempt",
                "--resources mem_mb=TOTAL: fewer jobs at once on one machine",
                "fewer threads for tools that hold memory for each",
            ],
            "mpi" => &[
                "fewer ranks on a node (--ntasks-per-node, -ppn), threads instead of ranks",
                "more memory for the job; look at the node where the rank ran",
                "smaller parts for each rank",
            ],
            _ => &[
                "fewer tasks at once (parallelism, worker_concurrency, pools)",
                "more memory for the worker or its pod (executor_config)",
                "work in chunks; no large results through XCom",
            ],
        },
        "systemd" | "earlyoom" | "nohang" => &[
            "MemoryMax and MemoryHigh of the unit up if the limit is the unit's (`systemctl show UNIT -p MemoryMax`), more memory or swap if the machine ran out",
            "ManagedOOMPreference=avoid or OOMPolicy=continue for units that must not be killed",
            "look at the largest users when it happens: `systemd-cgtop -m`, memory.peak",
        ],
        "colab" => &[
            "do not load the data whole: stream it, memory-map it, smaller types",
            "a runtime with more RAM (Runtime > Change runtime type > High-RAM)",
            "del and gc.collect() of what earlier cells hold: a notebook keeps every output (Out, _)",
        ],
        _ => return None,
    })
}

/// What to do on a Linux host about a program of which only the name is known.
pub(super) const ANY_HOST: [&str; 3] = [
    "give it more memory or swap, or run less beside it: the kernel's table above the kill lists the largest users",
    "hold less at once: fewer workers and connections, smaller caches, data in pieces or memory-mapped",
    "see where it goes: `plimsoll run --peak-rss LIMIT -- CMD` names the process and the moment",
];

/// `template` with the numbers of `event`.
pub(super) fn filled(template: &str, event: &Event) -> String {
    let Numbers { tried, free, this_process, allowed, .. } = event.numbers;
    let most = this_process.max(allowed);
    // A quarter more than what was used or allowed, in multiples of 256 MiB.
    let more = most.map(|most| {
        const UNIT: u64 = 256 << 20;
        let wanted = most.bytes().saturating_add(most.bytes() / 4).div_ceil(UNIT);
        ByteSize::new(wanted.saturating_mul(UNIT))
    });
    let numbers =
        [("{limit}", allowed), ("{used}", this_process), ("{tried}", tried), ("{free}", free), ("{more}", more)];
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, tail)) = rest.split_once("[[") {
        text.push_str(before);
        let Some((part, behind)) = tail.split_once("]]") else { break };
        let known = numbers.iter().all(|(name, number)| !part.contains(name) || number.is_some());
        if known {
            let put = |part: String, (name, number): &(&str, Option<ByteSize>)| match number {
                Some(number) => part.replace(name, &number.to_string()),
                None => part,
            };
            text.push_str(&numbers.iter().fold(part.to_owned(), put));
        }
        rest = behind;
    }
    text.push_str(rest);
    text
}
