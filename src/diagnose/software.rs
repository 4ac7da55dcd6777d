//! The software that made a request: the framework, runtime or manager that a log comes from, by the lines around an
//! event and at the start of the log.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::candidates::Candidates;
use super::sighting::{Cause, Sighting};

/// The layer of the software stack that a sign belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// A framework or program that computes on a device.
    Device,
    /// A manager of jobs, containers or processes.
    Manager,
    /// A runtime of a programming language.
    Runtime,
}

use Layer::{Device, Manager, Runtime};

/// Signs of software, the most specific first.
const SIGNS: [(&str, Layer, &str); 67] = [
    ("vllm", Device, r"\bvllm\b|EngineCore_|\bgpu_memory_utilization\b|desired GPU memory utilization|# GPU blocks"),
    ("sglang", Device, r"\bsglang\b|--mem-fraction-static|sgl-workspace"),
    ("tensorrt-llm", Device, r"TensorRT-LLM|tensorrt_llm|TRT-LLM"),
    ("tgi", Device, r"text_generation_(?:server|launcher|client|router)"),
    ("lmdeploy", Device, r"lmdeploy|\[TM\]\[|turbomind"),
    ("ollama", Device, r"\bollama\b|source=sched\.go|llama_runner"),
    ("whisper.cpp", Device, r"whisper_(?:init|model|full)|whisper\.cpp"),
    (
        "llama.cpp",
        Device,
        r"\bllama_\w+:|llm_load_|\bggml_|ggml_backend|load_tensors: |llama\.cpp|llama-server|\.gguf\b",
    ),
    ("comfyui", Device, r"ComfyUI"),
    ("exllama", Device, r"exllama"),
    ("ctranslate2", Device, r"faster_whisper|ctranslate2"),
    ("triton-server", Device, r"tritonserver|triton_server|model_lifecycle\.cc|pinned_memory_manager\.cc"),
    ("tensorrt", Device, r"\[TRT\]|\[TensorRT\]|trtexec"),
    ("onnxruntime", Device, r"onnxruntime"),
    ("megatron", Device, r"[Mm]egatron|elapsed time per iteration \(ms\)"),
    ("deepspeed", Device, r"[Dd]eep[Ss]peed|zero_optimization|partition_parameters\.py"),
    ("lightning", Device, r"pytorch_lightning|lightning/pytorch|lightning\.pytorch|GPU available: "),
    (
        "hf",
        Device,
        r"transformers/trainer\.py|Num Epochs = |Instantaneous batch size per device|per_device_train_batch_size|/trl/|axolotl|llamafactory|\*\*\*\*\* Running (?:training|Evaluation)|modeling_\w+\.py",
    ),
    ("mmengine", Device, r"\bmm(?:engine|cv|det|seg|pretrain)\b|Epoch\((?:train|val)\)"),
    ("ultralytics", Device, r"[Uu]ltralytics|YOLOv?\d"),
    ("diffusers", Device, r"/diffusers/|diffusers\."),
    ("jax", Device, r"\bjaxlib\b|\bjax\b|jax/_src|/flax/|t5x|\bpjrt_"),
    ("tensorflow", Device, r"\btensorflow\b|tensorflow/|\bkeras\b|OP_REQUIRES failed"),
    ("paddle", Device, r"[Pp]addle"),
    ("mxnet", Device, r"\bmxnet\b|threaded_engine\.cc"),
    ("mindspore", Device, r"[Mm]ind[Ss]pore"),
    ("rapids", Device, r"\bcudf\b|\brmm\b|\bcuml\b|\bcugraph\b|RMM"),
    ("dgl", Device, r"\bdgl\b"),
    ("caffe", Device, r"caffe\.cpp|syncedmem\.cpp|caffe/"),
    ("gromacs", Device, r"gmx mdrun|gromacs"),
    ("namd", Device, r"\bNAMD\b|\(gpu\d+ device \d+ pci"),
    ("amber", Device, r"GpuBuffer::|pmemd\.cuda"),
    ("candle", Device, r"candle_core|DriverError\(CUDA"),
    ("mlx", Device, r"\bmlx\b|\[METAL\]"),
    ("pytorch", Device, r"\btorch\b|torch/|PyTorch|pytorch|\.pt\b|CUDACachingAllocator|\bF\.linear\("),
    ("slurm", Manager, r"slurmstepd|srun: |\bSLURM_|sbatch"),
    ("lsf", Manager, r"\bLSF\b|TERM_\w+LIMIT|bsub"),
    ("pbs", Manager, r"=>> PBS|\bPBS_|\.pbs\b|pbs_jobs"),
    ("sge", Manager, r"\bqacct\b|\bh_vmem\b|^qname |\bsge_"),
    ("condor", Manager, r"HTCondor|condor_|request_memory|slot\d+_\d+@"),
    ("spark", Manager, r"ExecutorLostFailure|TaskSetManager|org\.apache\.spark|YarnScheduler|spark\."),
    ("yarn", Manager, r"\bYARN\b|container_\d+_\d+_\d+_\d+"),
    ("ray", Manager, r"\braylet\b|ray\.exceptions|\(raylet"),
    ("aws-batch", Manager, r"Job attempt \d|AWS Batch|statusReason: "),
    ("ecs", Manager, r"taskArn|arn:aws:ecs|\bECS\b"),
    ("lambda", Manager, r"REPORT RequestId|RequestId: \S+ Error|platform\.report"),
    ("cloud-run", Manager, r"cloud_run_revision|run\.googleapis"),
    ("heroku", Manager, r"heroku\[|\bdyno\b"),
    ("gitlab", Manager, r"gitlab-runner|ERROR: Job failed: "),
    ("github-actions", Manager, r"##\[(?:error|group)\]|/home/runner/work"),
    ("circleci", Manager, r"[Cc]ircle\s?CI"),
    (
        "kubernetes",
        Manager,
        r"\bkubelet\b|containerStatuses|\bkubectl\b|/kubepods|containerd://|\bpod/|[Ll]ast ?[Ss]tate:|restartCount",
    ),
    ("airflow", Manager, r"\bairflow\b|local_task_job_runner|standard_task_runner|\btaskinstance\b"),
    ("nextflow", Manager, r"Error executing process > |nextflow"),
    ("snakemake", Manager, r"[Ss]nakemake|^Error in rule "),
    ("bazel", Manager, r"\bbazel\b|ERROR: \S*BUILD(?:\.bazel)?:\d+:\d+:"),
    ("celery", Manager, r"celery|billiard|ForkPoolWorker"),
    ("gunicorn", Manager, r"gunicorn|Worker \(pid:\d+\)"),
    ("uwsgi", Manager, r"uwsgi|DAMN ! worker"),
    ("mpi", Manager, r"BAD TERMINATION OF ONE OF YOUR APPLICATION|mpirun|mpiexec"),
    ("docker", Manager, r"docker|\x22OOMKilled\x22|^\s*\x22?State\x22?: \{|exited with code 137$"),
    ("node", Runtime, r"npm ERR!|node:internal|Next\.js|webpack|node_modules"),
    ("go", Runtime, r"go build |/usr/local/go/|\bgoroutine \d"),
    ("gradle", Runtime, r"> Task :|Gradle"),
    ("jvm", Runtime, r"java\.lang|OpenJDK|\bjvm\b|at (?:java|org|com)\.\w+\."),
    (
        "python",
        Runtime,
        r"Traceback \(most recent call last\)|File \x22[^\x22]+\.py\x22|ForkPool|loky|BrokenProcessPool",
    ),
    ("systemd", Manager, r"systemd\[\d+\]|\.service: "),
];

static CANDIDATES: LazyLock<Candidates<'_>> =
    LazyLock::new(|| Candidates::of(SIGNS.iter().map(|(_, _, pattern)| *pattern), true));

/// Words for a software that is not there: a setting without a value (`deepspeed=None`, `"deepspeed": null`), a report of
/// versions (`DeepSpeed version: not installed`), a module that was not found.
static ABSENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[\w.-]{2,40}";
    let nothing = r#"(?:none|null|nil|false|no|off|disabled|n/?a|''|""|\[\]|\{\}|not[ _]\w+|unavailable|missing)"#;
    let absent = [
        format!(
            r#"["']?{name}["']?(?:[ _]version)?[ \t]*(?:\([^()\n]{{0,20}}\)[ \t]*)?(?:=|:=|:)[ \t]*["']?{nothing}(?:["',;)\]}}\r\n]|[ \t]*(?:\(|$)|[ \t]+\w+[=:])"#
        ),
        format!(
            r"{name}(?: \w+)? (?:(?:is|was|are) )?(?:not|n't|isn't) (?:installed|available|found|used|enabled|detected|supported|importable)"
        ),
        format!(
            r"(?:no module named|without|not using|could not import|cannot import|failed to import|unable to import|skipping|disabling|disabled|uninstalled) ['\x22`]?{name}"
        ),
        format!(r"(?:is_)?{name}_(?:available|enabled|installed)(?:\(\))?[ \t]*(?:=|:|->|returned)[ \t]*false"),
    ];
    RegexBuilder::new(&absent.join("|"))
        .unicode(false)
        .case_insensitive(true)
        .multi_line(true)
        .build()
        .expect("the words are a valid pattern")
});

/// The signs found in a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signs(u128);

impl Signs {
    /// The signs in `text`, apart from those that say that a software is not there.
    pub(super) fn of(text: &[u8]) -> Self {
        let set = |text: &[u8]| {
            let found = CANDIDATES.in_text(text).filter(|(_, sign)| sign.is_match(text));
            found.fold(0, |signs: u128, (at, _)| signs | 1 << at)
        };
        let found = set(text);
        if found == 0 {
            return Self(0);
        }
        match ABSENT.replace_all(text, &b" "[..]) {
            std::borrow::Cow::Borrowed(_) => Self(found),
            std::borrow::Cow::Owned(present) => Self(set(&present)),
        }
    }

    fn first(self, layer: Layer) -> Option<&'static str> {
        let mut signs = SIGNS.iter().enumerate();
        signs.find(|(at, sign)| self.0 >> at & 1 == 1 && sign.1 == layer).map(|(_, sign)| sign.0)
    }
}

/// Names that show what failed, not whose program it was.
const PLAIN: [&str; 24] = [
    "cuda",
    "hip",
    "xpu",
    "npu",
    "hpu",
    "mps",
    "musa",
    "xla",
    "metal",
    "device",
    "cpp",
    "python",
    "linux",
    "batch",
    "torch-cpu",
    "torch",
    "opencl",
    "vulkan",
    "rust",
    "go",
    "windows",
    "docker",
    "kubernetes",
    "systemd",
];

/// The software behind `sighting`, judged by the signs around it and at the start of the log.
pub(super) fn of(sighting: &Sighting, around: Signs, head: Signs) -> Option<String> {
    let own = sighting.software.or(sighting.backend.as_deref()).map(|name| match name {
        "systemd-oomd" => "systemd",
        "torch-cpu" | "torch" | "mps" => "pytorch",
        "hpu" => "habana",
        name => name,
    });
    if let Some(own) = own.filter(|name| !PLAIN.contains(name)) {
        // A program built on a library is more specific than the library; a program that a manager runs is less
        // specific than the manager.
        let refined = match own {
            "tensorflow" => around.first(Device).filter(|name| *name == "jax"),
            "pytorch" | "bitsandbytes" | "comfyui" | "llama.cpp" | "tensorrt" | "yarn" | "mps" => {
                around.first(match own {
                    "yarn" => Manager,
                    _ => Device,
                })
            }
            _ => None,
        };
        return Some(refined.unwrap_or(own).to_owned());
    }
    let first = |layers: &[Layer]| layers.iter().find_map(|layer| around.first(*layer).or_else(|| head.first(*layer)));
    let found = match sighting.cause {
        Cause::Device | Cause::Library => {
            // The message of its allocator is PyTorch's, whatever other software is in the log.
            let torch = sighting.numbers.reserved.is_some() || sighting.numbers.allocated.is_some();
            first(&[Device]).or(if torch { Some("pytorch") } else { None })
        }
        Cause::HostAlloc if own == Some("python") => around.first(Device).filter(|name| *name == "onnxruntime").or(own),
        Cause::HostAlloc if own.is_some() => own,
        Cause::HostAlloc => around.first(Runtime).or_else(|| first(&[Manager])),
        Cause::KernelBegan | Cause::KernelUsage | Cause::KernelChose { .. } | Cause::KernelKilled { .. } => {
            around.first(Manager).filter(|name| matches!(*name, "slurm" | "pbs" | "kubernetes")).or(own)
        }
        Cause::LoaderKilled | Cause::SharedMemory if own == Some("linux") || own == Some("pytorch") => Some("pytorch"),
        Cause::Pressure => own,
        Cause::Killed => around
            .first(Manager)
            .or_else(|| around.first(Device).filter(|name| matches!(*name, "ollama" | "vllm")))
            .or_else(|| first(&[Manager, Runtime])),
        _ => first(&[Manager, Runtime]),
    };
    found.or(own).filter(|name| *name != "device").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(text: &str) -> Option<&'static str> {
        Signs::of(text.as_bytes()).first(Device)
    }

    #[test]
    fn a_software_that_is_not_there_is_no_sign() {
        for text in [
            "deepspeed=None,\nfp16=False,",
            "TrainingArguments(_n_gpu=1, deepspeed=None, fsdp=[], optim=adamw)",
            "{\"bf16\": true, \"deepspeed\": null}",
            "  \"deepspeed\": \"\",",
            "deepspeed: false",
            "- DeepSpeed version: not installed",
            "- Flax version (CPU?/GPU?/TPU?): not installed (NA)\n- JaxLib version: not installed",
            "DeepSpeed is not installed, using DDP",
            "DeepSpeed not installed",
            "vllm isn't available",
            "ModuleNotFoundError: No module named 'deepspeed'",
            "is_deepspeed_available() = False",
            "running without DeepSpeed",
            "deepspeed_config: {}",
            "use_vllm: false",
        ] {
            assert_eq!(first(text), None, "{text}");
        }
        for (text, software) in [
            ("deepspeed=ds_zero3.json,", "deepspeed"),
            ("deepspeed=None\n[INFO] DeepSpeed info: version=0.15", "deepspeed"),
            ("Using DeepSpeed with ZeRO stage 3", "deepspeed"),
            ("deepspeed: true", "deepspeed"),
            ("vllm version: 0.6.1, sglang version: not installed", "vllm"),
        ] {
            assert_eq!(first(text), Some(software), "{text}");
        }
    }
}
