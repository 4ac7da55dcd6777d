//! Messages of PyTorch's caching allocators: CUDA, HIP, XPU, NPU, MPS and every other device, in all versions.

use super::super::findings::Numbers;
use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::joined::{BROKEN, joined, unboxed};
use super::position::{Position, position, talk_about};
use super::{Pattern, library, regex, size};
use plimsoll_memory::bytes::ByteSize;

/// A text with an amount as PyTorch's allocators print it: bytes, or two decimals of a binary unit. The pattern is
/// strict, so that an amount that was cut or broken in two is absent instead of wrong.
macro_rules! sized {
    ($before:literal, $after:literal) => {
        regex!(concat!($before, r"((?:\d+\.\d\d ?[KMGTPE]i?B|\d+ bytes))", $after))
    };
}

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let text = lines[at].message();
    if text.contains("ried to alloc") {
        caching(lines, at, found);
    } else if regex!(r"Allocation on device\b").is_match(text) {
        found.extend(asynchronous(lines, at));
    } else if text.contains("MPS backend out of memory (MPS allocated") {
        // The request is on the next line, where its anchor is found, or it was cut off.
        if !lines.after(at).next().is_some_and(|next| next.message().contains("ried to alloc")) {
            found.extend(limited(lines, at));
        }
    } else if regex!(r"\bout of mem\w*\W*(?:Tried(?: to)?)?\W*$").is_match(text) {
        // The line was wrapped here. If the next line holds the anchor, the message is read there.
        let next = lines.after(at).next().map_or("", |next| next.message());
        if next.contains("ried to alloc") {
            return;
        }
        let joined = joined(lines, at, " ", |text| text.contains("ried to alloc"));
        let rest = joined.get(text.trim().len()..).unwrap_or_default();
        if regex!(r"^ *(?:Tried )?(?:to )?allocate ").is_match(rest) {
            caching(lines, at, found);
        } else {
            library::bare(lines, at, found);
        }
    }
}

/// Every `Tried to allocate` of line `at`: ranks may write several on one line.
fn caching(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let own = lines[at].message();
    if own.contains("you tried to alloc") {
        return;
    }
    let whole = |text: &str| {
        regex!(r"reserved by PyTorch|reserved in total|cached\)|PyTorch but|on (?:private|shared) pool|memory-management|ALLOC_CONF|Management").is_match(text)
    };
    // A line that was broken inside a word is joined without a gap: use the variant that yields more numbers.
    let spaced = joined(lines, at, " ", whole);
    let others = [joined(lines, at, "", whole), joined(lines, at, BROKEN, whole)];
    let text =
        others.into_iter().fold(spaced, |best, other| if clarity(&other) > clarity(&best) { other } else { best });
    let head = head(lines, at, &text);
    let text = if head.is_empty() { text } else { format!("{head} {text}") };
    let tries: Vec<usize> = regex!(r"[Tt]ried to allocate").find_iter(&text).map(|tried| tried.start()).collect();
    let mut from = 0;
    for (index, tried) in tries.iter().enumerate() {
        let end = tries.get(index + 1).map_or(text.len(), |next| beginning(&text, *tried, *next));
        let start = beginning(&text, from, *tried);
        // Text after the message on the same line, such as the next rank's message, does not belong to it.
        if index == 0 || *tried < own.len() + head.len() + 1 {
            found.extend(message(lines, at, &text, start, *tried, end));
        }
        from = end;
    }
}

/// The beginning of a message that was wrapped before its `Tried`: it is on the lines above.
fn head(lines: &Lines, at: usize, text: &str) -> String {
    const ABOVE: usize = 6;
    let own = text.split("ried to alloc").next().unwrap_or_default();
    if regex!(r"\w+ out of mem").is_match(own) {
        return String::new();
    }
    let mut above = Vec::new();
    for line in lines.before(at).take(ABOVE) {
        let line = unboxed(line.message());
        above.insert(0, line);
        let whole = above.join(" ");
        if regex!(r"\w+(?: backend)? out of mem\w*\b").is_match(&format!("{whole} {own}")) {
            return whole;
        }
        if line.is_empty() || line.starts_with("File \"") {
            break;
        }
    }
    String::new()
}

/// Where the message of the `Tried` at `tried` begins: at its `NAME out of memory` or its exception's class.
fn beginning(text: &str, from: usize, tried: usize) -> usize {
    let head = &text[from..tried];
    let begins =
        regex!(r"(?:[\w.]*(?:Error|Exception)['\x22]?\s?[:(]\s*['\x22]?)?\b\w+(?: backend)? out of mem\w*\b[^\n]*$")
            .find(head);
    begins.map_or(tried, |begins| from + begins.start())
}

/// How many amounts a text holds, and how many of the words between them are intact.
fn clarity(text: &str) -> usize {
    let words = regex!(
        r"[Tt]ried to allocate \d|total capac|of which|is free|allocated memory|is allocated by|is reserved by|already allocated|memory in use|this process has"
    );
    sized!("", "").find_iter(text).count() + words.find_iter(text).count()
}

/// The message in `text[start..end]` whose `Tried` is at `tried`.
fn message(lines: &Lines, at: usize, text: &str, start: usize, tried: usize, end: usize) -> Option<Sighting> {
    let (head, body) = (&text[start..tried], &text[tried..end]);
    let name = regex!(r"([A-Za-z][A-Za-z0-9_]*)(?: backend)? out of mem").captures(head).map(|name| name[1].to_owned());
    let line = &lines[at];
    if body.starts_with("Tried to allocate more than 1EB") {
        let reason = "the size is garbage: collectives that are out of step request impossible sizes";
        return Some(Sighting::new(Cause::Dismissed(reason), line));
    }
    let numbers = if name.as_deref() == Some("MPS") { metal(head, body) } else { clauses(body) };
    let known = [numbers.capacity, numbers.allocated, numbers.free, numbers.allowed].iter().flatten().count();
    if name.is_none() && known < 2 {
        // Another program tried to allocate something.
        return None;
    }
    let begin = name.as_ref().and_then(|name| head.find(name.as_str())).map_or(tried, |at| start + at);
    let said = || match position(text, begin) {
        Position::Talk(reason) | Position::Said(reason) => Some(reason),
        _ => None,
    };
    if let Some(reason) = if known == 0 { said() } else { talk_about(text, begin) } {
        return Some(Sighting::new(Cause::Dismissed(reason), line));
    }
    let mut sighting = Sighting::new(Cause::Device, line);
    let device =
        regex!(r"\b(GPU|NPU|XPU|HPU|MLU|GCU|SUPA|MUSA|DCU|PPU) ?(\d+|[\x00-\x1f])?\s*(?:;| has\b|\))").captures(body);
    sighting.device = device.as_ref().and_then(|device| index(device.get(2)?.as_str()));
    let named = device.map(|device| device[1].to_owned()).filter(|name| name != "GPU");
    // Drop words that are glued to the front of the name: `whyCUDA out of memory`.
    let name = name.map(|name| {
        let glued = name.trim_start_matches(|c: char| c.is_ascii_lowercase());
        if glued.len() > 1 && glued.len() < name.len() { glued.to_owned() } else { name }
    });
    sighting.backend = Some(name.or(named).unwrap_or_else(|| "cuda".to_owned()).to_ascii_lowercase());
    sighting.numbers = numbers;
    sighting.processes = processes(body);
    Some(sighting)
}

/// The index of a device: digits, or the control character that early 2.x printed instead.
fn index(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| text.chars().next().filter(char::is_ascii_control).map(|c| u64::from(u32::from(c))))
}

/// The numbers of a message, clause by clause, in whatever version's order.
fn clauses(body: &str) -> Numbers {
    let one = |regex: &Pattern| regex.captures(body).and_then(|found| size::bytes(&found[1]));
    let mut numbers = Numbers {
        tried: one(sized!("^[Tt]ried to allocate ", "")),
        capacity: one(sized!("", " total")).or_else(|| one(sized!("total (?:capac(?:i?)ty of )?", ""))),
        allocated: one(sized!("", " already allocated")).or_else(|| one(sized!("allocated memory ", ""))),
        free: one(sized!("of which ", " is free")).or_else(|| one(sized!("", " free(?:;|\\b)"))),
        reserved: one(sized!("", " reserved in total")),
        // Until 1.3, `cached` was the memory held and unused.
        unallocated: one(sized!("", " is reserved by")).or_else(|| one(sized!("", " cached"))),
        allowed: one(sized!("", " allowed")),
        this_process: one(sized!("this process has ", " memory in use")),
        other_processes: None,
        private_pools: one(sized!("with ", " allocated in private pools")),
    };
    derive(&mut numbers);
    numbers
}

/// Derives missing numbers: reserved is the sum of allocated and unallocated.
fn derive(numbers: &mut Numbers) {
    if let Some(allocated) = numbers.allocated {
        if numbers.reserved.is_none() {
            numbers.reserved = numbers.unallocated.and_then(|unallocated| allocated.checked_add(unallocated));
        } else if numbers.unallocated.is_none() {
            // Each number is rounded separately, so the difference can be slightly below zero.
            numbers.unallocated = numbers.reserved.map(|reserved| reserved.saturating_sub(allocated));
        }
    }
}

/// The processes that a message lists, except the one it calls its own: process id and bytes. Amounts of 2^64 are
/// unknown.
fn processes(body: &str) -> Vec<(u64, u64)> {
    sized!(r"Process (?:\d+) has ", " memory in use")
        .captures_iter(body)
        .filter_map(|found| {
            let pid = regex!(r"Process (\d+)").captures(&found[0])?[1].parse().ok()?;
            Some((pid, size::bytes(&found[1])?.bytes()))
        })
        .collect()
}

/// Metal's message, cut off before its request.
fn limited(lines: &Lines, at: usize) -> Option<Sighting> {
    let line = &lines[at];
    let start = line.message().find("MPS backend out")?;
    if let Some(reason) = talk_about(line.message(), start) {
        return Some(Sighting::new(Cause::Dismissed(reason), line));
    }
    let mut sighting = Sighting::new(Cause::Device, line).backend("mps");
    sighting.numbers = metal(&line.message()[start..], "");
    Some(sighting)
}

/// The numbers of Metal's message, whose clauses precede `Tried`.
fn metal(head: &str, body: &str) -> Numbers {
    let one = |text: &str, regex: &Pattern| regex.captures(text).and_then(|found| size::bytes(&found[1]));
    Numbers {
        tried: one(body, sized!("^Tried to allocate ", "")),
        allocated: one(head, sized!("MPS allocated: ", "")),
        // Memory of this process outside the allocator counts towards the limit.
        this_process: one(head, sized!("MPS allocated: ", "")).and_then(|own| {
            one(head, sized!("other allocations: ", "")).and_then(|other: ByteSize| own.checked_add(other))
        }),
        allowed: one(head, sized!("max allowed: ", "")),
        ..Numbers::default()
    }
}

/// The message of the cudaMallocAsync backend: a table over several lines, or its first line only.
fn asynchronous(lines: &Lines, at: usize) -> Option<Sighting> {
    let line = &lines[at];
    let start = line.message().find("Allocation on device")?;
    let exceeds = line.message().contains("would exceed allowed memory");
    let bare = regex!(r"Allocation on device ?\d*\W*$").is_match(line.message());
    match position(line.message(), start) {
        Position::Talk(reason) => return Some(Sighting::new(Cause::Dismissed(reason), line)),
        Position::Message => {}
        Position::Prose | Position::Said(_) if exceeds => {}
        Position::Prose if bare && regex!(r"(?i)exception|error").is_match(&line.message()[..start]) => {}
        _ => return None,
    }
    let text = joined(lines, at, " ", |text| regex!(r"memory fraction\)\s*: *\S+ \S").is_match(text));
    let text = text.split_once("Allocation on device").map_or(text.as_str(), |(_, rest)| rest);
    let one = |regex: &Pattern| regex.captures(text).and_then(|found| size::bytes(&found[1]));
    let mut sighting = Sighting::new(Cause::Device, line).backend("cuda");
    sighting.device = regex!(r"^ (\d+)\b").captures(text).and_then(|device| device[1].parse().ok());
    sighting.numbers = Numbers {
        allocated: one(sized!(r"Currently allocated\s*: ", "")),
        tried: one(sized!(r"Requested\s*: ", "")),
        capacity: one(sized!(r"Device limit\s*: ", "")),
        free: one(sized!(r"Free \(according to CUDA\)\s*: ", "")),
        allowed: one(sized!(r"memory fraction\)\s*: ", "")),
        ..Numbers::default()
    };
    (exceeds || bare || sighting.numbers.tried.is_some()).then_some(sighting)
}
