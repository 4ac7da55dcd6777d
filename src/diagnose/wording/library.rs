//! Device messages outside PyTorch's allocators that span several lines or hold several numbers: XLA, TensorFlow,
//! Paddle, servers without room for their cache.

use super::super::findings::Numbers;
use super::super::sighting::{Cause, Sighting, Work};
use super::super::window::{Line, Lines};
use super::joined::joined;
use super::position::{Position, position};
use super::{Pattern, amounts, regex, size};

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    found.extend(compiled(lines, at).or_else(|| paddle(lines, at)).or_else(|| served(lines, at)));
}

/// An allocator's message without its numbers: `torch.OutOfMemoryError: CUDA out of memory.`
pub(super) fn bare(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.message();
    let Some(name) = regex!(r"\b([A-Z]{2,8})(?: backend)? out of mem").captures(text) else { return };
    let start = name.get(0).map_or(0, |whole| whole.start());
    let titled = line.text.trim_start().starts_with('#');
    match position(text, start) {
        Position::Talk(reason) => found.push(Sighting::new(Cause::Dismissed(reason), line)),
        Position::Message if !titled => found.push(Sighting::new(Cause::Device, line).backend(&name[1])),
        _ => {}
    }
}

/// How many lines above a message may show that it is about the host.
const STARTED: usize = 200;

/// Whether the lines above line `at` show that XLA computes on the host.
fn on_host(lines: &Lines, at: usize) -> bool {
    lines.before(at).take(STARTED).any(|line| {
        regex!(r"(?i)\busing backend: cpu\b|\b(?:falling back to|using the) cpu\b|\bJAX_PLATFORMS?(?:_NAME)?=['\x22]?cpu\b|\bTFRT_CPU|\bplatform 'cpu'")
            .is_match(line.message())
    })
}

/// XLA, TensorFlow: compilers and runtimes that plan or pool the memory of a device.
fn compiled(lines: &Lines, at: usize) -> Option<Sighting> {
    let line = &lines[at];
    let text = line.message();
    let amount = |found: Option<regex::Captures<'_>>| found.and_then(|found| size::bytes(found.get(1)?.as_str()));
    if text.contains("this is not a failure") {
        let reason = "the caller says that it does not need the memory";
        return Some(Sighting::new(Cause::Dismissed(reason), line));
    }
    let exhausted = regex!(
        r"(?:RESOURCE_EXHAUSTED|[Rr]esource exhausted): ?(?:\S+ ){0,8}?(?:Out of memory|Ran out of memory|Attempting to (?:allocate|reserve)|Failed to allocate|OOM when)|Out of memory (?:while )?trying to allocate [\d.]+ ?(?:bytes|[KMG]i?B)|Ran out of memory in memory space hbm"
    );
    if let Some(matched) = exhausted.find(text) {
        if let Position::Talk(reason) = position(text, matched.start()) {
            return Some(Sighting::new(Cause::Dismissed(reason), line));
        }
        let text = joined(lines, at, " ", |text| regex!(r"bytes|[KMG]i?B?\b").is_match(text));
        if !text.contains("OOM when") {
            let cause = if on_host(lines, at) { Cause::HostAlloc } else { Cause::Device };
            let mut sighting = Sighting::new(cause, line).backend("xla");
            sighting.numbers = Numbers {
                tried: amount(
                    regex!(r"(?:allocate|allocating|reserve) (?:a buffer of |request for )?([\d.]+ ?(?:bytes|[KMGT]i?B?))\b")
                        .captures(&text),
                ),
                // What the whole program needs according to the compiler's plan.
                allocated: amount(regex!(r"Used ([\d.]+[KMGT]) of").captures(&text)),
                capacity: amount(regex!(r"Used [\d.]+[KMGT] of ([\d.]+[KMGT]) hbm").captures(&text)),
                ..Numbers::default()
            };
            free_of_a_tpu(&mut sighting.numbers, &text);
            return Some(sighting);
        }
    }
    // The message was wrapped within its first words, or spans several lines.
    let broken = text.starts_with("of memory while trying to allocate ")
        && lines.before(at).next().is_some_and(|line| line.message().trim_end().ends_with("Out"));
    let reserve = regex!(r"^Attempting to reserve ([\d.]+[KMGT]?) at the bottom of memory\. That was not possible\.");
    if broken {
        let mut sighting = Sighting::new(Cause::Device, line).backend("xla");
        sighting.numbers.tried = amount(regex!(r"allocate ([\d.]+ ?(?:bytes|[KMGT]i?B?))\b").captures(text));
        return Some(sighting);
    }
    if let Some(matched) = reserve.captures(text) {
        let mut sighting = Sighting::new(Cause::Device, line).backend("xla");
        sighting.numbers.tried = amount(Some(matched));
        free_of_a_tpu(&mut sighting.numbers, text);
        return Some(sighting);
    }
    let tensor = regex!(r"OOM when allocating tensor");
    if let Some(matched) = tensor.find(text) {
        if let Position::Talk(reason) = position(text, matched.start()) {
            return Some(Sighting::new(Cause::Dismissed(reason), line));
        }
        let text = joined(lines, at, " ", |text| text.contains("by allocator"));
        let host = regex!(r"device:CPU|by allocator (?:cpu|mklcpu)").is_match(&text);
        let cause = if host { Cause::HostAlloc } else { Cause::Device };
        return Some(Sighting::new(cause, line).backend("tensorflow"));
    }
    let pooled =
        regex!(r"Allocator (?:\((\w+)\) )?ran out of memory trying to allocate ([\d.]+ ?(?:[KMGT]i?B|B(?:ytes)?))")
            .captures(text)?;
    let host = pooled.get(1).is_some_and(|name| name.as_str().to_ascii_lowercase().contains("cpu"));
    let cause = if host { Cause::HostAlloc } else { Cause::Device };
    let mut sighting = Sighting::new(cause, line).backend("tensorflow");
    sighting.numbers.tried = size::bytes(&pooled[2]);
    Some(sighting)
}

/// What is free on a TPU, whose allocator owns the whole memory.
fn free_of_a_tpu(numbers: &mut Numbers, text: &str) {
    let free = regex!(r"There (?:are|is) ([\d.]+ ?[KMGT]?i?B?) free").captures(text);
    amounts::free_in_a_pool(numbers, free.and_then(|free| size::bytes(&free[1])));
}

/// Paddle's allocator, whose message states the free memory and, since 2.0, the memory it holds.
fn paddle(lines: &Lines, at: usize) -> Option<Sighting> {
    let line = &lines[at];
    let head = regex!(r"Out of memory error on GPU (\d+)\. Cannot allocate ").find(line.message())?;
    if let Position::Talk(reason) = position(line.message(), head.start()) {
        return Some(Sighting::new(Cause::Dismissed(reason), line));
    }
    let text = joined(lines, at, " ", |text| regex!(r"available memory is only [\d.]+[KMGT]?i?B").is_match(text));
    let amount = |regex: &Pattern| size::bytes(&regex.captures(&text)?[1]);
    let mut sighting = Sighting::new(Cause::Device, line).backend("paddle");
    sighting.device = regex!(r"error on GPU (\d+)").captures(&text).and_then(|device| device[1].parse().ok());
    sighting.numbers = Numbers {
        tried: amount(regex!(r"Cannot allocate ([\d.]+ ?[KMGT]?i?B)\b")),
        free: amount(regex!(r"available memory is only ([\d.]+ ?[KMGT]?i?B)\b")),
        allocated: amount(regex!(r"\b([\d.]+ ?[KMGT]?i?B) memory has been allocated")),
        ..Numbers::default()
    };
    Some(sighting)
}

/// Servers that find at their start that the device has no room for them.
fn served(lines: &Lines, at: usize) -> Option<Sighting> {
    let line = &lines[at];
    // A terminal may have broken the sentence of vLLM.
    let broken = line.message().contains("than the maximum num");
    let whole = broken.then(|| joined(lines, at, " ", |text| text.contains("KV cache")));
    let text = whole.as_deref().unwrap_or(line.message());
    let words = regex!(
        r"No available memory for the cache blocks|CUDA out of memory occurred when|larger than the maximum number of tokens that can be stored in KV cache|Not enough memory\. Please try to increase --mem-fraction-static"
    );
    // Take the last one: a pasted title may hold the line of code before the error that it raised.
    let cache = words.find_iter(text).last();
    let short = regex!(
        r"([\d.]+ [KMG]i?B) KV cache is needed, which is larger than the available KV cache memory \(([\d.]+ [KMG]i?B)\)"
    );
    let start = regex!(
        r"Free memory on device (?:cuda:\d+ )?\(([\d.]+)/([\d.]+) [GM]iB\) on startup is less than desired GPU memory utilization \([\d.]+, ([\d.]+ [GM]iB)\)"
    );
    if let Some(matched) = cache {
        if let Position::Talk(reason) = position(text, matched.start()) {
            return Some(Sighting::new(Cause::Dismissed(reason), line));
        }
        return Some(serving(line));
    }
    if let Some(matched) = short.captures(text) {
        let mut sighting = serving(line);
        sighting.numbers.tried = size::bytes(&matched[1]);
        sighting.numbers.free = size::bytes(&matched[2]);
        return Some(sighting);
    }
    let matched = start.captures(text)?;
    let mut sighting = serving(line);
    let gib = |text: &str| size::bytes(&format!("{text} GiB"));
    let (free, capacity) = (gib(&matched[1]), gib(&matched[2]));
    sighting.numbers.free = free;
    sighting.numbers.capacity = capacity;
    sighting.numbers.tried = size::bytes(&matched[3]);
    // At its start, the process holds nothing yet: used memory belongs to others.
    sighting.numbers.other_processes = free.zip(capacity).map(|(free, capacity)| capacity.saturating_sub(free));
    Some(sighting)
}

fn serving(line: &Line) -> Sighting {
    let mut sighting = Sighting::new(Cause::Device, line).backend("cuda");
    sighting.work = Work::Serving;
    sighting
}
