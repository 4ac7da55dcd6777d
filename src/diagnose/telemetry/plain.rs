//! Lines that people print themselves: `Allocated: 4.5 GB, Reserved: 8.5 GB`, `mem=12.3GiB`, loops of nvidia-smi.
//!
//! A line is telemetry if it has a word for a kind of memory and, before or after it, a number with a unit of bytes (or
//! a whole number of bytes). Words and numbers keep one order throughout a line.

use std::sync::LazyLock;

use super::line::Line;
use super::marks::Words;
use super::sample::{Format, Metric, Sample};
use super::scan::{Number, behind, number, unit, whole};

/// Texts of lines that mention memory and are not telemetry: errors, warnings, requirements, kernel logs, code,
/// downloads.
const OTHER: [&str; 29] = [
    "out of memory",
    "OutOfMemory",
    "ried to allocate",
    "anon-rss",
    "total-vm",
    "oom",
    "OOM",
    "print(",
    "memory_allocated(",
    "f\"",
    "f'",
    "ownload",
    "unallocated",
    "MemTotal",
    "enough memory",
    "ot enough",
    "kernel code",
    "block size",
    "heap usage:",
    "Billed Duration",
    "estimat",
    "ailed to",
    "annot ",
    "nable to",
    "ould not",
    "nsufficient",
    "xceed",
    "equire",
    "large alloc",
];

/// Words that come before a step, before a device, and before a figure.
static NAMES: LazyLock<Words> = LazyLock::new(|| {
    Words::list(&[
        "step",
        "iteration",
        "iter",
        "batch",
        "epoch",
        "cuda:",
        "gpu ",
        "gpu",
        "device ",
        "alloc",
        "reserved",
        "cached",
        "mem",
        "rss",
        "vram",
        "peak",
        "max",
        "cuda",
        "torch",
    ])
});
/// The indices of the names of each kind.
const STEPS: [usize; 5] = [0, 1, 2, 3, 4];
const DEVICES: [usize; 4] = [5, 6, 7, 8];
const FIGURES: [usize; 11] = [9, 10, 11, 12, 13, 14, 15, 16, 7, 17, 18];

/// Where each word first begins and ends.
type First = [Option<(usize, usize)>];

/// A number with a unit, and the text around it.
struct Quantity<'a> {
    /// The text between the previous quantity and this one.
    before: &'a str,
    number: Number<'a>,
    unit: Option<u64>,
}

/// The most quantities of a line.
const MOST: usize = 32;

/// A whole number from here on is an amount of bytes if its word names a kind of memory.
const LEAST_BYTES: f64 = 1_048_576.0;

/// Plimsoll's own line: `plimsoll memory label="after forward" step=3 device=0 allocated=123 rss=456`, in bytes.
pub(super) fn own(line: &Line<'_>) -> Option<Sample> {
    let rest = behind(&line.text, "plimsoll memory ")?;
    let mut sample = Sample::new(Format::Plimsoll, line.position);
    sample.label = behind(rest, "label=\"").and_then(|label| Some(label.split_once('"')?.0.to_owned()));
    let fields = behind(rest, "\" ").unwrap_or(rest);
    let field = |name: &str| fields.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    let count = |name: &str| field(name).and_then(whole);
    (sample.step, sample.rank, sample.device, sample.pid) =
        (count("step"), count("rank"), count("device"), count("pid"));
    for (name, metric) in [
        ("allocated", Metric::Allocated),
        ("max_allocated", Metric::MaxAllocated),
        ("reserved", Metric::Reserved),
        ("max_reserved", Metric::MaxReserved),
        ("device_used", Metric::DeviceUsed),
        ("device_total", Metric::DeviceTotal),
        ("rss", Metric::HostUsed),
        ("peak_rss", Metric::HostPeak),
    ] {
        sample.with(metric, field(name).and_then(number).and_then(|number| number.figure(1)));
    }
    line.sign(&mut sample);
    sample.tells().then_some(sample)
}

/// Reads a line that a person's own code printed.
pub(super) fn plain(line: &Line<'_>) -> Option<Sample> {
    let text = line.message();
    // An option with its help or value is a setting, not a reading.
    static OTHERS: LazyLock<Words> = LazyLock::new(|| Words::list(&OTHER));
    if text.starts_with("--") || OTHERS.set(text) != 0 {
        return None;
    }
    let quantities = quantities(text);
    let mut sample = Sample::new(Format::Plain, line.position);
    if !table(text, &quantities, &mut sample) {
        words(text, &quantities, &mut sample);
    }
    if !sample.tells() {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let first = NAMES.first(&lower);
    sample.step = step(&lower, &first);
    sample.device = device(&lower, &first);
    sample.label = label(text, &first);
    line.sign(&mut sample);
    // Devices of one process are kept apart like ranks.
    sample.rank = sample.rank.or(sample.device);
    Some(sample)
}

/// The numbers of `text`, each with its unit if it has one.
fn quantities(text: &str) -> Vec<Quantity<'_>> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while let Some(next) = text[at..].find(|c: char| c.is_ascii_digit()).map(|next| at + next) {
        // Digits of a name (`fp16`, `cuda:0`, `A100`) are not a number; those of a longer number are skipped with it.
        let named = text[..next].ends_with(|c: char| c.is_alphabetic() || c == '_');
        let Some(number) = number(&text[next..]) else { break };
        let end = text.len() - number.rest.len();
        at = end.max(next + 1);
        if named || found.len() >= MOST {
            continue;
        }
        let unit = of_bytes(number.rest);
        let before = &text[start..next];
        if let Some((_, rest)) = unit {
            at = text.len() - rest.len();
        }
        start = at;
        found.push(Quantity { before, number, unit: unit.map(|unit| unit.0) });
    }
    found
}

/// A unit right after a number: `GB`, `GiB`, ` MB`, `G`, `MiB`, `bytes`.
fn of_bytes(text: &str) -> Option<(u64, &str)> {
    let short = |letter: char, size: u64| {
        let rest = text.strip_prefix(letter)?;
        (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '/')).then_some((size, rest))
    };
    let whole = unit(text).filter(|(_, rest)| !rest.starts_with("/s") && !rest.starts_with("ps"));
    whole.or_else(|| short('G', 1 << 30)).or_else(|| short('M', 1 << 20))
}

/// `4567MiB / 81920MiB` of nvidia-smi's table, and `4567 MiB, 81920 MiB` of its comma-separated lines.
fn table(text: &str, quantities: &[Quantity<'_>], sample: &mut Sample) -> bool {
    let sized = |quantity: &&Quantity<'_>| quantity.unit == Some(1 << 20);
    let [used, total] = quantities.iter().filter(sized).take(2).collect::<Vec<_>>()[..] else { return false };
    let between = total.before.trim();
    let worded = kind(used.before).is_some() || text.contains("llocated");
    if worded || !(between == "/" || between == ",") || used.number.value > total.number.value {
        return false;
    }
    sample.with(Metric::DeviceUsed, used.number.figure(1 << 20));
    sample.with(Metric::DeviceTotal, total.number.figure(1 << 20));
    true
}

/// Pairs each quantity with the word before it, or with the word after it if the first has no word before it.
fn words(text: &str, quantities: &[Quantity<'_>], sample: &mut Sample) {
    let sized = |quantity: &Quantity<'_>| quantity.unit.or_else(|| unit_of_key(quantity.before));
    let behind = |index: usize| {
        let quantity = &quantities[index];
        let rest = match quantity.unit {
            Some(_) => of_bytes(quantity.number.rest).map_or("", |(_, rest)| rest),
            None => quantity.number.rest,
        };
        let end = quantities
            .get(index + 1)
            .map_or(rest.len(), |next| rest.len().min(offset(text, next) - offset_of(text, rest)));
        rest[..end].split([',', ';', '|']).next().unwrap_or("")
    };
    let kinds: Vec<Option<Metric>> = quantities.iter().map(|quantity| kind(quantity.before)).collect();
    let first = quantities.iter().zip(&kinds).position(|(quantity, kind)| sized(quantity).is_some() || kind.is_some());
    let Some(first) = first else { return };
    let leading = kinds[first].is_some();
    for (index, quantity) in quantities.iter().enumerate() {
        let found = if leading { kinds[index] } else { kind(behind(index)) };
        let divided = quantity.before.trim() == "/" && index > 0;
        // `12.3/80.0 GB`: only the second number has a unit.
        let next = quantities.get(index + 1).filter(|next| next.before.trim() == "/").and_then(|next| next.unit);
        let unit = sized(quantity).or(next);
        let metric = if divided { Some(Metric::DeviceTotal).filter(|_| !sample.figures.is_empty()) } else { found };
        let bytes = quantity.number.value >= LEAST_BYTES && quantity.number.decimals <= 0;
        if let (Some(metric), Some(unit)) = (metric, unit.or(bytes.then_some(1)))
            && sample.figure(metric).is_none()
        {
            sample.with(metric, quantity.number.figure(unit));
        }
    }
}

/// Where a part of `text` begins in it.
fn offset_of(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

fn offset(text: &str, quantity: &Quantity<'_>) -> usize {
    offset_of(text, quantity.before) + quantity.before.len()
}

/// A unit in the words before a number: `allocated_gb=`, `Memory (MiB):`.
fn unit_of_key(key: &str) -> Option<u64> {
    let key = key.trim_end_matches([' ', ':', '=', ')', ']', '\'', '"', '|']);
    let word = key.rsplit(|c: char| !c.is_ascii_alphabetic()).next()?;
    match word.to_ascii_lowercase().as_str() {
        "bytes" => Some(1),
        "kb" | "kib" => Some(1 << 10),
        "mb" | "mib" => Some(1 << 20),
        "gb" | "gib" => Some(1 << 30),
        _ => None,
    }
}

/// What the words for a figure mean.
#[derive(Default)]
struct Said {
    /// Memory in general: `mem`, `gpu_memory`, `vram`.
    memory: bool,
    vram: bool,
    host: bool,
    allocated: bool,
    active: bool,
    total: bool,
    /// What may be used, not what is.
    setting: bool,
}

impl Said {
    /// Reads the whole words of `clause`.
    fn of(clause: &str) -> Self {
        let mut said = Self::default();
        for word in clause.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 2) {
            said.memory |= word.ends_with("mem") || word.ends_with("memory") || word == "vram";
            said.allocated |= word.ends_with("allocated") || word == "alloc";
            match word {
                "vram" => said.vram = true,
                "rss" | "uss" | "ram" => said.host = true,
                "active" => said.active = true,
                "total" => said.total = true,
                "config" | "maxmemory" | "quota" => said.setting = true,
                _ => {}
            }
        }
        said
    }
}

/// Parts of the words for a figure.
static PARTS: LazyLock<Words> = LazyLock::new(|| {
    Words::list(&[
        "max",
        "peak",
        "high",
        "gpu",
        "cuda",
        "device",
        "maxrss",
        "cpu",
        "host",
        "process",
        "limit",
        "allocator",
        "reserved",
        "cached",
        "free",
        "avail",
        "total",
        "capacity",
        "used",
        "usage",
    ])
});

/// The kind of memory that the last clause of `words` names.
fn kind(words: &str) -> Option<Metric> {
    let clause = words.rsplit([',', ';', '|']).find(|part| part.chars().any(char::is_alphabetic))?;
    // A sentence is not a key.
    if clause.len() > 80 {
        return None;
    }
    let clause = clause.to_ascii_lowercase();
    let parts = PARTS.set(&clause);
    let has = |part: usize| parts >> part & 1 == 1;
    let [max, peak, high, gpu, cuda, device, maxrss, cpu, host, process] = std::array::from_fn(has);
    let [limit, allocator, reserved, cached, free, avail, total, capacity, used, usage] =
        std::array::from_fn(|part| has(10 + part));
    let said = Said::of(&clause);
    let is_peak = max || peak || high;
    let on_device = gpu || cuda || device || said.vram;
    let on_host = said.host || maxrss || ((cpu || host || process) && said.memory);
    // An allowance is not a reading.
    if limit || said.setting {
        return None;
    }
    // To allocate, an allocation and `malloc` are actions; `allocated` is a state.
    Some(if said.allocated && !allocator {
        if is_peak { Metric::MaxAllocated } else { Metric::Allocated }
    } else if reserved || cached {
        if is_peak { Metric::MaxReserved } else { Metric::Reserved }
    } else if on_host {
        if said.total || free || avail {
            return None;
        }
        if is_peak { Metric::HostPeak } else { Metric::HostUsed }
    } else if said.active && said.memory {
        Metric::Active
    } else if said.memory || on_device {
        match (total || capacity, free || avail, used || usage, is_peak) {
            (true, ..) => Metric::DeviceTotal,
            (_, true, ..) => Metric::DeviceFree,
            (_, _, _, true) if said.memory => Metric::MaxAllocated,
            (_, _, true, _) => Metric::DeviceUsed,
            // A bare `mem=` next to a step is the memory held by its tensors.
            _ if said.memory => Metric::Allocated,
            _ => return None,
        }
    } else if clause.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with("peak") {
        Metric::MaxAllocated
    } else {
        return None;
    })
}

/// The step that a line states: `step 12`, `global_step=12`, `iter: 12/500`.
fn step(lower: &str, first: &First) -> Option<u64> {
    STEPS.into_iter().find_map(|word| {
        let rest = lower[first[word]?.1..].trim_start_matches([' ', ':', '=', '#', '[', '_', '\'', '"']);
        whole(rest)
    })
}

/// The device that a line names: `cuda:1`, `GPU 1`, `gpu1`.
fn device(lower: &str, first: &First) -> Option<u64> {
    DEVICES.into_iter().find_map(|word| {
        let rest = &lower[first[word]?.1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let next = rest[digits..].chars().next();
        (digits > 0 && digits < 4 && next.is_none_or(|c| !c.is_alphanumeric() && c != '.')).then(|| whole(rest))?
    })
}

/// The text before the first word for memory, without numbers and their units: `after forward`.
fn label(text: &str, first: &First) -> Option<String> {
    const COUNTED: [&str; 9] = ["step", "epoch", "iter", "iteration", "batch", "loss", "lr", "global_step", "rank"];
    let end = FIGURES.into_iter().filter_map(|word| Some(first[word]?.0)).min()?;
    // The label follows a bracket or precedes a colon; `[after forward]` has lost its bracket as a prefix.
    let head = text.get(..end)?;
    let counted = |word: &str| {
        let word = word.trim_end_matches([':', '=', '#']);
        COUNTED.iter().any(|counted| word.eq_ignore_ascii_case(counted))
    };
    let mut label = String::new();
    for part in head.split(|c: char| c.is_whitespace() || c == '|' || c == ',') {
        if part.chars().any(|c| c.is_ascii_digit() || c == '=') || counted(part) {
            continue;
        }
        let part = part.trim_matches(|c: char| !c.is_alphanumeric());
        if !part.is_empty() {
            label.push_str(if label.is_empty() { "" } else { " " });
            label.push_str(part);
        }
    }
    // Brackets at the front were removed as a logger's prefix.
    (!label.is_empty()).then_some(label)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::telemetry::Position;

    const GIB: f64 = (1u64 << 30) as f64;

    fn read(text: &str) -> Option<Sample> {
        let line = Line::new(Position::default(), text);
        own(&line).or_else(|| plain(&line))
    }

    fn figures(text: &str) -> Vec<(Metric, f64)> {
        let Some(sample) = read(text) else { return Vec::new() };
        let gib = |bytes: f64| (bytes / GIB * 100.0).round() / 100.0;
        sample.figures.iter().map(|(metric, figure)| (*metric, gib(figure.value()))).collect()
    }

    #[test]
    fn what_people_print_is_read_in_any_order() {
        use Metric::{Allocated, DeviceFree, DeviceTotal, DeviceUsed, HostUsed, MaxAllocated, MaxReserved, Reserved};
        for (text, expected) in [
            ("Allocated: 4.5 GB, Reserved: 8.5 GB", vec![(Allocated, 4.5), (Reserved, 8.5)]),
            ("step 12 loss=2.31 mem=12.3GiB", vec![(Allocated, 12.3)]),
            ("4.50 GB allocated, 8.50 GB reserved", vec![(Allocated, 4.5), (Reserved, 8.5)]),
            ("torch.cuda.memory_allocated: 4.50GB", vec![(Allocated, 4.5)]),
            ("memory_allocated 4831838208", vec![(Allocated, 4.5)]),
            (
                "max_memory_allocated=9663676416 memory_reserved=10737418240",
                vec![(MaxAllocated, 9.0), (Reserved, 10.0)],
            ),
            ("Peak memory: 9.25 GiB", vec![(MaxAllocated, 9.25)]),
            ("GPU memory used: 12.0 / 80.0 GB", vec![(DeviceUsed, 12.0), (DeviceTotal, 80.0)]),
            ("GPU 1: free memory 3.5 GB", vec![(DeviceFree, 3.5)]),
            (
                "after forward | allocated (MiB): 2048.0 | reserved (MiB): 3072.0",
                vec![(Allocated, 2.0), (Reserved, 3.0)],
            ),
            ("{'alloc_gb': 1.25, 'max_reserved_gb': 2.5}", vec![(Allocated, 1.25), (MaxReserved, 2.5)]),
            ("RSS: 3072.0 MB", vec![(HostUsed, 3.0)]),
            ("process memory usage 2.00 GB", vec![(HostUsed, 2.0)]),
            ("cpu mem 5.0G gpu mem 6.0G", vec![(Allocated, 6.0), (HostUsed, 5.0)]),
            (
                "| N/A   32C    P0    52W / 400W |   4096MiB / 81920MiB |     15%      Default |",
                vec![(DeviceUsed, 4.0), (DeviceTotal, 80.0)],
            ),
            ("2026/01/02 10:00:00.000, 4096 MiB, 81920 MiB", vec![(DeviceUsed, 4.0), (DeviceTotal, 80.0)]),
            ("max mem: 5120.0 MB", vec![(MaxAllocated, 5.0)]),
        ] {
            let mut expected = expected;
            expected.sort_unstable_by_key(|entry| entry.0);
            assert_eq!(figures(text), expected, "{text}");
        }
    }

    #[test]
    fn what_tells_of_no_memory_is_left() {
        for text in [
            "Allocated 5 workers",
            "Downloading model-00001.safetensors: 4.5GB [00:10, 450MB/s]",
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.",
            "print(f\"Allocated: {torch.cuda.memory_allocated()/1e9} GB\")",
            "Killed process 71 (python) total-vm:9kB, anon-rss:77777kB, file-rss:0kB",
            "epoch 3 loss 1.25",
            "I remember 12 GB of photos in that long sentence about members of a club that met in a cafe by the river",
            "read 1.5 GB from disk",
            "Allocation of 1207959552 exceeds 10% of free system memory.",
            "warning: failed to mlock 4096000-byte buffer (after previously locking 0 bytes): Cannot allocate memory",
            "tcmalloc: large alloc 12884901888 bytes == 0x5641c000 @  0x7f1c1a 0x5641 0x5642",
            "allocating 3072.00 MiB on device 0",
            "malloc of 3072.00 MiB",
            "model requires more system memory (38.6 GiB) than is available (14.2 GiB)",
            "  --gpu-memory 12GB   how much to use",
            "memory limit: 4GB",
        ] {
            assert_eq!(figures(text), [], "{text}");
        }
    }

    #[test]
    fn labels_steps_and_devices_are_told() {
        let sample = read("step 7 after forward: cuda:1 allocated 4.5 GB").unwrap();
        assert_eq!((sample.step, sample.device, sample.rank), (Some(7), Some(1), Some(1)));
        assert_eq!(sample.label.as_deref(), Some("after forward"));
        // A loss is not a part of a label: the series remains one.
        assert_eq!(read("Epoch 1 step 10 loss=2.31 mem=12.3GiB").unwrap().label, None);
    }

    #[test]
    fn the_line_of_log_memory_is_read_whole() {
        let sample = read(
            "plimsoll memory label=\"after forward\" step=3 rank=2 pid=71 device=2 allocated=4831838208 rss=1073741824",
        )
        .unwrap();
        assert_eq!((sample.format, sample.label.as_deref()), (Format::Plimsoll, Some("after forward")));
        assert_eq!((sample.step, sample.rank, sample.device, sample.pid), (Some(3), Some(2), Some(2), Some(71)));
        assert_eq!(sample.figure(Metric::Allocated).unwrap().bytes.bytes(), 4_831_838_208);
        assert_eq!(sample.figure(Metric::HostUsed).unwrap().bytes.bytes(), 1 << 30);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left(text in "\\PC{0,120}", mixed in "(mem|alloc|GB|[0-9. ,/é|=]){0,30}") {
            let _ = (read(&text), read(&mixed));
        }
    }
}
