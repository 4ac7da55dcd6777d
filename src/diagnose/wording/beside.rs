//! Numbers on the lines around a message: in the report that it belongs to, in a list after it, or in the command that
//! was run.

use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::{Pattern, regex, size};
use plimsoll_memory::bytes::ByteSize;

/// How many lines around a message belong to its report.
const AROUND: usize = 40;
/// How many lines after a message may list its numbers.
const BEHIND: usize = 4;
/// How many lines before a refusal may list the devices.
const LOADING: usize = 400;

/// Adds numbers from the surrounding lines that `sighting`, of line `at`, lacks.
pub(super) fn fill(sighting: &mut Sighting, lines: &Lines, at: usize) {
    if let Some(report) = report(sighting) {
        // The settings of a unit stand in a file, whose lines are of nobody.
        let is_unit = sighting.backend.as_deref() == Some("systemd");
        let all = lines[at.saturating_sub(AROUND)..lines.len().min(at + AROUND)].iter();
        let of_a_unit = all.filter(|_| is_unit);
        let own = lines.before(at).take(AROUND).chain(lines.after(at).take(AROUND));
        for line in own.chain(of_a_unit) {
            for found in report.captures_iter(line.message()) {
                let amount = |names: [&str; 3]| names.iter().find_map(|name| size::bytes(found.name(name)?.as_str()));
                let numbers = &mut sighting.numbers;
                numbers.tried = numbers.tried.or(amount(["tried", "", ""]));
                numbers.allowed = numbers.allowed.or(amount(["allowed", "allowed_b", "allowed_c"]));
                numbers.this_process = numbers.this_process.or(amount(["used", "used_b", ""]));
                numbers.capacity = numbers.capacity.or(amount(["capacity", "capacity_b", ""]));
                numbers.allocated = numbers.allocated.or(amount(["held", "", ""]));
                numbers.free = numbers.free.or(amount(["free", "", ""]));
            }
        }
    }
    if sighting.software == Some("llama.cpp") && sighting.cause == Cause::Library {
        let (capacity, free) = found(sighting.device, lines, at);
        // What was free at the start explains only what is larger.
        let free = free.filter(|free| sighting.numbers.tried > Some(*free));
        (sighting.numbers.capacity, sighting.numbers.free) = (capacity, sighting.numbers.free.or(free));
    }
    if let (Cause::Device | Cause::Library, Some(tried), None) =
        (&sighting.cause, sighting.numbers.tried, sighting.numbers.capacity)
    {
        sighting.numbers.capacity = named(lines, at).filter(|named| tried > *named);
    }
    // A request larger than the device's memory is more specific than a bare refusal. What llama.cpp asks for is a model,
    // its cache or its buffers: the device lacks the room for them.
    let states =
        sighting.numbers.capacity.or(sighting.numbers.free).is_some() || sighting.software == Some("llama.cpp");
    if sighting.cause == Cause::Library && sighting.numbers.tried.is_some() && states {
        sighting.cause = Cause::Device;
    }
    // A process that was killed at its limit was killed for it.
    let (used, allowed) = (sighting.numbers.this_process, sighting.numbers.allowed);
    if sighting.cause == Cause::Killed && allowed.is_some() && used >= allowed {
        sighting.cause = Cause::Limit;
    }
    // Of a unit of systemd the limit is known.
    if sighting.cause == Cause::Machine && sighting.backend.as_deref() == Some("systemd") && allowed.is_some() {
        sighting.cause = Cause::Limit;
    }
    inspected(sighting, lines, at);
    sharing(sighting, lines, at);
    listed(sighting, lines, at);
    // A request and the little that was free say that the device is full, and so does who else is on it.
    let numbers = &sighting.numbers;
    let full = numbers.free.is_some() && numbers.tried > numbers.free
        || numbers.capacity.is_some() && !sighting.processes.is_empty();
    if sighting.cause == Cause::Library && full && !sighting.capped {
        sighting.cause = Cause::Device;
    }
    configured(sighting, lines, at);
}

/// The device's memory and what of it was free, as llama.cpp lists it at start (`Device 0: NAME, ..., VRAM: 32111 MiB`,
/// `using device CUDA0 (NAME) - 11042 MiB free`), or the program around it (ollama's `inference compute`, a line for each
/// device, in order).
fn found(device: Option<u64>, lines: &Lines, at: usize) -> (Option<ByteSize>, Option<ByteSize>) {
    let own = regex!(
        r"^(?:ggml_cuda_init: )?\s*Device (?P<device>\d+): [^\n]*\bVRAM: (?P<capacity>\d+ MiB)|using device [A-Za-z]+(?P<device_b>\d+) \([^)]*\) (?:\([^)]*\) )?- (?P<free>\d+ MiB) free"
    );
    let around = regex!(
        r"msg=\x22inference compute\x22[^\n]* total=\x22(?P<capacity>[\d.]+ [KMGT]iB)\x22 available=\x22(?P<free>[\d.]+ [KMGT]iB)\x22"
    );
    let (mut capacity, mut free) = (None, None);
    let mut beside = Vec::new();
    for line in lines.before(at).take(LOADING) {
        if let Some(one) = own.captures(line.message()) {
            let index =
                one.name("device").or_else(|| one.name("device_b")).and_then(|index| index.as_str().parse().ok());
            if index == device {
                capacity = capacity.or_else(|| size::bytes(one.name("capacity")?.as_str()));
                free = free.or_else(|| size::bytes(one.name("free")?.as_str()));
            }
        } else if let Some(one) = around.captures(&line.text) {
            beside.push((size::bytes(&one["capacity"]), size::bytes(&one["free"])));
        }
    }
    // The nearest line came first.
    let index = usize::try_from(device.unwrap_or(0)).unwrap_or(usize::MAX);
    let (total, available) = beside.into_iter().rev().nth(index).unwrap_or_default();
    (capacity.or(total), free.or(available))
}

/// The memory of the GPUs beside a message by the names that they are sold under, if all have the same:
/// `NVIDIA A100-SXM4-40GB`. That is about what they have, enough for a request that is larger.
fn named(lines: &Lines, at: usize) -> Option<ByteSize> {
    let names = regex!(
        r"\b(?:A100|A800|H100|H800|H200|V100|P100|A30|A40|L40S?|B200|MI\d{2,3}X?|RTX (?:Pro )?A?\d{4}|GTX \d{4})\b[A-Za-z0-9 -]{0,12}?[ (-](?P<capacity>\d{1,3} ?GB)\b"
    );
    let around = lines.before(at).take(AROUND).chain(lines.after(at).take(AROUND));
    let mut found = around.filter_map(|line| size::bytes(&names.captures(line.message())?["capacity"]));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Takes a container's limit that was printed with its state: `docker inspect --format ..HostConfig.Memory..`.
fn inspected(sighting: &mut Sighting, lines: &Lines, at: usize) {
    let asks = |text: &str| text.contains("HostConfig.Memory}") || text.contains("HostConfig.Memory }");
    if sighting.cause != Cause::Limit || sighting.numbers.allowed.is_some() {
        return;
    }
    let around = at.saturating_sub(AROUND)..lines.len().min(at + AROUND);
    let command = around.clone().find(|index| asks(&lines[*index].text));
    // The number is on the line of the state, or on its own line below the command.
    let number = regex!(r"(?:^|[\s}])([1-9]\d{6,})$");
    sighting.numbers.allowed = command.and_then(|command| {
        let below = (command + 1..around.end).take(AROUND);
        below.filter_map(|index| number.captures(lines[index].text.trim_end())).find_map(|found| size::bytes(&found[1]))
    });
}

/// The processes on the device, as somebody listed them when the program had ended: at a prompt below its message.
fn sharing(sighting: &mut Sighting, lines: &Lines, at: usize) {
    const BELOW: usize = 60;
    if !matches!(sighting.cause, Cause::Device | Cause::Library) || !sighting.processes.is_empty() {
        return;
    }
    let below = || lines[at + 1..].iter().take(BELOW).map(|line| line.text.trim_end());
    let asks = |text: &&str| regex!(r"(?:^|\S)[$#%>] ?(?:sudo )?(?:nvidia-smi|rocm-smi)\b").is_match(text);
    // Of nvidia-smi: the device, the process, what it holds. Of rocm-smi: the process, how many devices, what it holds.
    let row = regex!(
        r"^\|\s+(?P<device>\d+)\s+(?:N/A\s+N/A\s+)?(?P<pid>\d+)\s+(?:C\+G|C|G)\s.*?\s(?P<mib>\d+)MiB\s*\|$|^(?P<pid_b>\d{2,9})\s+\S+\s+\d+\s+(?P<bytes>\d{7,15})\s+\d+\s"
    );
    let whole = regex!(r"\|\s+\d+MiB ?/ +(?P<mib>\d+)MiB \|");
    for text in below().skip_while(|text| !asks(text)).skip(1) {
        let number = |found: &::regex::Captures<'_>, name: &str| found.name(name)?.as_str().parse::<u64>().ok();
        if let Some(found) = whole.captures(text) {
            let total = number(&found, "mib").map(|mib| ByteSize::new(mib << 20));
            sighting.numbers.capacity = sighting.numbers.capacity.or(total);
        }
        let Some(found) = row.captures(text) else { continue };
        let other = matches!((sighting.device, number(&found, "device")), (Some(own), Some(device)) if own != device);
        let bytes = number(&found, "bytes").or_else(|| number(&found, "mib").map(|mib| mib << 20));
        let pid = number(&found, "pid").or_else(|| number(&found, "pid_b"));
        sighting.processes.extend(pid.zip(bytes).filter(|_| !other));
    }
}

/// A pattern for the numbers in the report of a manager or a runtime.
fn report(sighting: &Sighting) -> Option<&'static Pattern> {
    Some(match sighting.software.or(sighting.backend.as_deref())? {
        "lsf" => {
            regex!(r"Total Requested Memory : +(?P<allowed>[\d.]+ [KMGT]?B)|Max Memory : +(?P<used>[\d.]+ [KMGT]?B)")
        }
        "heroku" => regex!(r"Process running mem=(?P<used>\d+M)"),
        "lambda" => regex!(r"Memory Size: (?P<allowed>\d+ MB)\s+Max Memory Used: (?P<used>\d+ MB)"),
        "sge" => regex!(r"^maxvmem +(?P<used>[\d.]+[KMG])|\bh_(?:vmem|rss)=(?P<allowed>[\d.]+[KMG])\b"),
        "elasticsearch" => {
            regex!(r"bytes_wanted\x22? ?: ?(?P<tried>\d+)|bytes_limit\x22? ?: ?(?P<allowed>\d+)")
        }
        "slurm" => regex!(
            r"\b(?:mem|MinMemoryNode|ReqMem)=(?P<allowed>[\d.]+[KMGT])\b|--mem[= ](?P<allowed_b>\d+[KMGT])\b|Memory Efficiency: [\d.]+% of (?P<allowed_c>[\d.]+ [KMGT]B)|Memory Utilized: (?P<used>[\d.]+ [KMGT]B)|\bMaxRSS=(?P<used_b>\d+[KMGT])\b"
        ),
        "docker" => regex!(r"\x22Memory\x22: ?(?P<allowed>[1-9]\d{6,})\b"),
        "systemd" => regex!(
            r"\bMemoryMax=(?P<allowed>\d+[KMGT]?)\b|\bMemory: (?P<used>[\d.]+[KMGT]) \((?:[^)]*\b)?(?:max|limit): (?P<allowed_b>[\d.]+[KMGT])|(?P<used_b>[\d.]+[KMGT]) memory peak"
        ),
        "julia" => regex!(r"GPU memory usage: [\d.]+% \([\d.]+ [KMGT]iB/(?P<capacity>[\d.]+ [KMGT]iB)\)"),
        "tensorflow" | "xla" => {
            regex!(
                r"^Limit: +(?P<capacity>[1-9]\d+)$|\bmemory_limit_: (?P<capacity_b>[1-9]\d+)|^InUse: +(?P<held>\d+)$"
            )
        }
        "redis" => regex!(r"^maxmemory[: ](?P<allowed>[1-9]\d*(?:[kmg]b)?)$"),
        "ios" | "macos" => regex!(r"memorystatus: exceeded mem limit: \w+ (?P<allowed>\d+ MB)"),
        "nvfortran" => regex!(r"total/free CUDA memory: (?P<capacity>\d+)/(?P<free>\d+)"),
        "dxvk" => regex!(
            r"\bSize: +(?P<tried>\d{4,12})$|\bHeap 0: (?P<held>\d+ MB) allocated\b[^\n]*, (?P<capacity>\d+ MB) total"
        ),
        "flux" => regex!(r"\bmemory\.peak = (?P<used>[\d.]+[KMGT])\b"),
        "impala" => regex!(r"\bLimit=(?P<allowed>[1-9][\d.]* [KMGT]B)"),
        _ => return None,
    })
}

/// Takes the numbers on the lines right after a message, one per line: `- Requested memory: 9551028232`.
fn listed(sighting: &mut Sighting, lines: &Lines, at: usize) {
    let item = regex!(
        r"(?i)^\W{0,6}(?:(?P<tried>(?:memory |bytes |size )?(?:requested|required|needed|tried to allocate|trying to allocate)(?: (?:memory|bytes|size|amount))?)|(?P<free>(?:memory |bytes )?(?:free|available)(?: (?:memory|bytes))?)) ?[:=] ?(?P<amount>[\d.,]+ ?(?:[KMGT]i?B?\b|B\b|bytes\b)?)"
    );
    if !matches!(sighting.cause, Cause::Device | Cause::Library | Cause::HostAlloc) {
        return;
    }
    for line in lines.after(at).take(BEHIND) {
        let Some(found) = item.captures(line.message()) else { continue };
        let amount = size::bytes(&found["amount"]).filter(|amount| amount.bytes() > 0);
        if found.name("tried").is_some() {
            sighting.numbers.tried = sighting.numbers.tried.or(amount);
        } else {
            sighting.numbers.free = sighting.numbers.free.or(amount);
        }
    }
}

/// Takes the limit that the command, or the shell before it, set for a process on the host.
fn configured(sighting: &mut Sighting, lines: &Lines, at: usize) {
    if sighting.cause != Cause::HostAlloc || sighting.numbers.allowed.is_some() {
        return;
    }
    let limit = match sighting.software {
        Some("jvm" | "spark" | "elasticsearch") => regex!(r"-Xmx(?P<limit>\d+[kKmMgG])\b"),
        Some("node") => regex!(r"--max[-_]old[-_]space[-_]size[= ](?P<mebibytes>\d+)\b"),
        _ => regex!(r"\bulimit -S?H?[vd] (?P<kibibytes>\d+)\b"),
    };
    sighting.numbers.allowed = lines.before(at).take(AROUND).find_map(|line| {
        let found = limit.captures_iter(line.message()).last()?;
        let with = |name: &str, shift: u32| {
            let number: u64 = found.name(name)?.as_str().parse().ok()?;
            number.checked_mul(1 << shift).map(ByteSize::new)
        };
        let text = found.name("limit").and_then(|limit| size::bytes(limit.as_str()));
        text.or_else(|| with("mebibytes", 20)).or_else(|| with("kibibytes", 10))
    });
}

#[cfg(test)]
mod tests {
    use super::super::recognise;
    use super::*;

    #[test]
    fn the_lines_around_a_message_give_its_numbers() {
        const MIB: u64 = 1 << 20;
        for (text, tried, allowed) in [
            ("java.lang.OutOfMemoryError: Java heap space\n", None, None),
            (
                "XGBoostError: std::bad_alloc: cudaErrorMemoryAllocation: out of memory\n- Requested memory: 1048576\n",
                Some(1),
                None,
            ),
            (
                "slurmstepd: error: Detected 1 oom_kill event in StepId=12.batch.\nTRES=cpu=1,mem=64M,node=1\n",
                None,
                Some(64),
            ),
            ("\"OOMKilled\": true,\n\"Memory\": 67108864,\n", None, Some(64)),
        ] {
            let mut found = Vec::new();
            recognise(&Lines::hot(text), 0, false, &mut found);
            let numbers = &found[0].numbers;
            let expected = |mebibytes: Option<u64>| mebibytes.map(|mebibytes| ByteSize::new(mebibytes * MIB));
            assert_eq!((numbers.tried, numbers.allowed), (expected(tried), expected(allowed)), "{text}");
        }
    }
}
