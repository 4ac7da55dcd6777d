//! PyTorch's allocator for the CPU.

use super::super::sighting::{Cause, Sighting};
use super::super::window::{Line, Lines};
use super::joined::joined;
use super::position::{Position, position};
use super::{regex, size};

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.message();
    let Some((start, mut sighting)) = torch(lines, at, line, text) else { return };
    // A garbled device message read as one of these would be worse than none.
    match position(text, start.min(text.len())) {
        Position::Talk(reason) => sighting = Sighting::new(Cause::Dismissed(reason), line),
        Position::Said(reason) if sighting.numbers.tried.is_none() => {
            sighting = Sighting::new(Cause::Dismissed(reason), line);
        }
        _ => {}
    }
    found.push(sighting);
}

/// `DefaultCPUAllocator`, in all versions.
fn torch(lines: &Lines, at: usize, line: &Line, text: &str) -> Option<(usize, Sighting)> {
    if let Some(old) = regex!(r"enforce fail at [^\]]*\] ?posix_memalign\([^)]*\) == 0\. 12 vs 0").find(text) {
        return Some((old.start(), Sighting::new(Cause::HostAlloc, line).backend("torch-cpu")));
    }
    let start = regex!(r"(?:\[enforce fail at |DefaultCPUAllocator|not enough memory: you|can't allocate memory: you|you tried to alloc)").find(text)?.start();
    let text = joined(lines, at, " ", |text| regex!(r"\d+ ?(?:bytes|GB)").is_match(text));
    let known =
        regex!(r"(?:can't allocate|not enough) memory:? you tried to allocate (\d+ ?(?:bytes|GB))").captures(&text);
    let tried = match known {
        Some(known) => size::bytes(&known[1]),
        // The message was cut before its number.
        None if text.contains("DefaultCPUAllocator")
            && regex!(r"(?:can't allocate|not enough) memory").is_match(&text) =>
        {
            None
        }
        None => return None,
    };
    let mut sighting = Sighting::new(Cause::HostAlloc, line).backend("torch-cpu");
    sighting.numbers.tried = tried;
    Some((start, sighting))
}
