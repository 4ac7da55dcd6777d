//! Which side ran out of memory, device or host, by the words around a message; and whose message it is.

use super::super::sighting::Cause;
use super::super::window::Lines;
use super::{Pattern, regex};

/// How many lines around a message may show which side it concerns.
const AROUND: usize = 4;

/// Whether the message of line `at` concerns a device.
pub(super) fn is_device(lines: &Lines, at: usize) -> bool {
    let own = lines[at].message();
    if host(own) {
        return false;
    }
    device(own)
        || lines.before(at).take(AROUND).chain(lines.after(at).take(AROUND)).any(|line| failing_device(line.message()))
}

/// Whether the innermost frame above line `at` pins memory of the host: the driver calls that out of memory, too.
pub(super) fn pins(lines: &Lines, at: usize) -> bool {
    lines.before(at).next().is_some_and(|line| {
        regex!(r"\bpin_memory\(|\bpinned\w*\(|\bcuda(?:HostAlloc|MallocHost|HostRegister)\(|\bhipHost(?:Malloc|Register)\(|pin_memory ?= ?True")
            .is_match(line.message())
    })
}

fn device(text: &str) -> bool {
    regex!(
        r"(?i)\b(?:cuda\w*|gpus?|gpu\w+|nvidia|radeon|geforce|vram|nvml|hip|rocm|rocblas|cublas\w*|cudnn\w*|nccl|rccl|vulkan|vk\w*|metal|mtl\w+|opencl|(?-i:cl[A-Z]\w+)|nvenc|nvdec|d3d\d*\w*|dxgi|opengl|webgl|webgpu|wgpu|xla|tpu|hbm|npu|xpu|dmem|tensorrt|trt|optix\w*|sycl|dxvk\w*|amdgpu\w*|i915|nouveau|hardware (?:frame|surface)s?|level.?zero|(?-i:\w*(?:Cuda|Gpu)[A-Z]\w*)|dml\w*|directml|ipus?|popart|poptorch|poplar|mlu|musa|dcu|gcu|neuron(?:core)?s?|trainium|inferentia|tt_(?:fatal|metal\w*)|on-chip memory|\w*hpu|video memory|graphics memory|device memory)\b|\bcreate (?:an? )?(?:stream|event)\b|\b(?:on|from|of) (?:the )?device(?: \d+)?\b|\bdevice \d+\b|cuMem|cudaM|hipM"
    )
    .is_match(text)
}

fn host(text: &str) -> bool {
    regex!(
        r"(?i)\bhost (?:memory|ram|buffer|allocation)|\bpinned|page.?locked|OUT_OF_HOST|\bsystem (?:memory|ram)\b|\bcpu (?:memory|ram|allocat)|device:CPU|main memory"
    )
    .is_match(text)
        && !regex!(r"(?i)\bgpu and shared host memory").is_match(text)
}

/// Whether a line near a message reports a failure on a device, so that the message concerns the device too.
fn failing_device(text: &str) -> bool {
    regex!(
        r"(?i)\b(?:cuda\w*|hip\w*|vulkan|metal|opencl|gpu)\b[^\n]{0,60}\b(?:error|fail\w*|out of memory)|\b(?:error|fail\w*)\b[^\n]{0,60}\b(?:cuda\w*|hip\w+|vulkan|opencl|gpu)\b|\bw?gpu error\b|\bDevice::create_\w+"
    )
    .is_match(text)
}

/// Whether ordinary words at `start` are a program's message: its name, a position or an error's head precedes them.
pub(super) fn named(text: &str, start: usize) -> bool {
    let before = &text[..start];
    if regex!(
        r"(?i)\b(?:could not|couldn't|cannot|can't|unable to|failed|aborted|stopped|terminated|ended|interrupted|cancell?ed|restart(?:ed)?|recycled?)\b[^.!?]{0,80}\b(?:because (?:it |they |there (?:is |was )?)?|due to |owing to |because of |for )$"
    )
    .is_match(before)
    {
        return true;
    }
    if regex!(r"(?i)\b(?:i|we|you|my|our|your|they|if|when|whenever|may|might|can|could|would|should|to avoid|because|usually|often)\b[^:]*$").is_match(before) {
        return false;
    }
    // A title or a person that asks; a program that guesses does so in brackets.
    if regex!(r"^[^.!;:()]{0,40}\?\s*$").is_match(&text[start..]) {
        return false;
    }
    // Words quoted within a sentence.
    if before.matches('"').count() % 2 == 1
        && before.rsplit_once('"').is_some_and(|(head, _)| head.trim_end().ends_with(|c: char| c.is_ascii_lowercase()))
    {
        return false;
    }
    // The name of the scarce resource in capitals, or a statement that there was too little of it.
    if !text[start..].starts_with("out of") && regex!(r"^\s*(?:[\w.-]+: )?(?:(?:[A-Z][A-Z0-9_-]+|\d+|[Dd]evice|[Hh]ost|[Tt]exture|[Pp]inned|[Kk]ernel|[Nn]ative|[Ss]ystem)\s+)+$|^\s*(?:[\w.-]+: )?[Tt]here (?:is|was) $").is_match(before)
        && !regex!(r"\b(?:NO|NOT|TODO|FIX|FIXME|NOTE|IF|AVOID|HOW|WHY)\b").is_match(before)
    {
        return true;
    }
    let after = &text[start..];
    if regex!(r"(?i)^[^.]{0,80}\b(?:retry\w*|falling back|fall back|skipp\w+|will be|try again|instead)\b")
        .is_match(after)
    {
        return false;
    }
    regex!(
        r#"(?i)(?:^\s*|[:\])>=|–—-]\s*["'(\[]?|\b(?:error|fatal|panic\w*|failed|failure|critical|exception|abort(?:ed|ing)?|crash(?:ed)?|terminated|killed|died|exited|stopped)\b(?:[^.!?]|!=){0,120}|\b(?:failed|failure|error)[.;,] |\b(?:status|reason|message|fault): [^.!?]{0,60})$"#
    )
    .is_match(before)
}

/// The name of the reporter: the device's interface, or the program on the host.
pub(super) fn backend(software: &str, cause: &Cause, text: &str) -> Option<String> {
    let device = matches!(cause, Cause::Device | Cause::Library | Cause::Pressure);
    let name = match software {
        "" if device => by_words(text).unwrap_or("device"),
        "" => return None,
        "mlx" | "metal" => "mps",
        "jax" => "xla",
        "tensorrt-llm" | "tensorrt" | "llama.cpp" | "whisper.cpp" | "sglang" | "tgi" | "comfyui" | "bitsandbytes"
        | "rapids" | "xgboost" | "numba" | "cupy" | "faiss" | "catboost" | "mxnet" | "julia" | "matlab"
        | "triton-server" | "exllama" | "blender" | "onnxruntime" | "ollama"
            if device =>
        {
            by_words(text).unwrap_or("cuda")
        }
        name => name,
    };
    Some(name.to_owned())
}

fn by_words(text: &str) -> Option<&'static str> {
    let words: [(&str, &Pattern); 6] = [
        ("vulkan", regex!(r"(?i)vulkan|\bvk::")),
        ("hip", regex!(r"(?i)\bhip|rocm")),
        ("mps", regex!(r"(?i)metal|\bmps\b")),
        ("opencl", regex!(r"(?i)opencl|\bcl[A-Z]")),
        ("xpu", regex!(r"(?i)sycl|level.zero")),
        ("cuda", regex!(r"(?i)cuda|cublas|cudnn|nvml|nccl")),
    ];
    words.into_iter().find(|(_, regex)| regex.is_match(text)).map(|(name, _)| name)
}
