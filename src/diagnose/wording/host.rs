//! The host's allocators: PyTorch's on the CPU, Python, numpy, C++, Rust, R, Java, Node, the system's calls.

use super::super::sighting::{Cause, Sighting};
use super::super::window::{Line, Lines};
use super::joined::joined;
use super::position::{Position, position};
use super::{regex, size};

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.message();
    for recognise in [torch, sized, plain] {
        if let Some((start, mut sighting)) = recognise(lines, at, line, text) {
            // A garbled device message that passes as one of these would be worse than none.
            match position(text, start.min(text.len())) {
                Position::Talk(reason) => sighting = Sighting::new(Cause::Dismissed(reason), line),
                Position::Said(reason) if sighting.numbers.tried.is_none() => {
                    sighting = Sighting::new(Cause::Dismissed(reason), line);
                }
                _ => {}
            }
            found.push(sighting);
            return;
        }
    }
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
        // Cut before the number.
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

/// Wordings with the size of the request.
fn sized(_: &Lines, _: usize, line: &Line, text: &str) -> Option<(usize, Sighting)> {
    let wordings: [(&str, &regex::Regex); 8] = [
        ("python", regex!(r"Unable to allocate ([\d.]+ ?(?:bytes|[KMGTPE]i?B)) for (?:an )?array")),
        ("python", regex!(r"unable to mmap (\d+ bytes) from file <[^>]*>: Cannot allocate memory")),
        ("python", regex!(r"(?:malloc|realloc) of size (\d+) failed")),
        ("rust", regex!(r"memory allocation of (\d+ bytes) failed")),
        ("r", regex!(r"cannot allocate vector of size ([\d.]+ [KMG]b)")),
        (
            "cpp",
            regex!(
                r"(?:failed to allocate|unable to allocate|cannot allocate|can't allocate) (?:a )?(?:buffer|host buffer|CPU buffer|memory)? ?(?:of size )?(\d+)(?: bytes)?[^\n]{0,30}(?:Cannot allocate memory|on CPU|for CPU)"
            ),
        ),
        ("jvm", regex!(r"There is insufficient memory for the Java Runtime Environment[^\n]*?(\d+ bytes)?")),
        (
            "jvm",
            regex!(
                r"os::commit_memory\([^)]*\) failed; error='(?:Cannot allocate memory|Not enough space)' \(errno=12\)()"
            ),
        ),
    ];
    wordings.iter().find_map(|(backend, regex)| {
        let matched = regex.captures(text)?;
        let mut sighting = Sighting::new(Cause::HostAlloc, line).backend(backend);
        sighting.numbers.tried = matched.get(1).and_then(|tried| size::bytes(tried.as_str()));
        Some((matched.get(0)?.start(), sighting))
    })
}

/// Wordings without a size, which count only where a message begins.
fn plain(_: &Lines, _: usize, line: &Line, text: &str) -> Option<(usize, Sighting)> {
    let wordings: [(&str, &regex::Regex); 9] = [
        (
            "jvm",
            regex!(
                r"java\.lang\.OutOfMemoryError: ?(?:Java heap space|GC overhead|Metaspace|Direct buffer|unable to create|Requested array|Map failed)"
            ),
        ),
        ("node", regex!(r"JavaScript heap out of memory")),
        (
            "go",
            regex!(
                r"runtime: out of memory: cannot allocate|fatal error: (?:runtime: )?(?:cannot allocate|out of memory)"
            ),
        ),
        ("julia", regex!(r"OutOfMemoryError\(\)$")),
        ("cpp", regex!(r"(?:what\(\): +|terminate called after throwing an instance of ')std::bad_alloc'?$")),
        ("cpp", regex!(r"\bstd::bad_alloc$")),
        ("python", regex!(r"(?:^|[.\s>'])(?:_Array)?MemoryError(?:: ?[^\n]*)?$")),
        (
            "linux",
            regex!(
                r"\[Errno 12\] (?:Cannot allocate memory|Not enough space)|\(os error 12\)|virtual memory exhausted: Cannot allocate|(?:fork|mmap|malloc|sbrk|clone|mlock)(?: failed)?: (?:retry: )?(?:Resource temporarily unavailable: )?Cannot allocate memory|: Cannot allocate memory(?: \(12\))?$"
            ),
        ),
        ("windows", regex!(r"\[WinError (?:8|14|1455)\]|[Tt]he paging file is too small for this operation")),
    ];
    let (backend, matched) = wordings.iter().find_map(|(backend, regex)| Some((*backend, regex.find(text)?)))?;
    if regex!(r"(?i)cuda|\bgpu\b|out_of_memory|\bhip\b|thrust|rmm").is_match(text) {
        return None;
    }
    let start =
        matched.start() + matched.as_str().len() - matched.as_str().trim_start_matches([' ', '\'', '.', '>']).len();
    // An exception's class is no message where code names it.
    if backend == "python" && (text.contains("except ") || text.contains("raise ") || text.contains("import ")) {
        return None;
    }
    if backend == "python" && !class_alone(text, start) {
        return None;
    }
    Some((start, Sighting::new(Cause::HostAlloc, line).backend(backend)))
}

/// Whether the class at `start` begins the message, with nothing but its module before it.
fn class_alone(text: &str, start: usize) -> bool {
    let before = text[..start].trim_start();
    before.is_empty()
        || regex!(r"^(?:[\w.]+\.|.*(?:[Ee]rror|[Ee]xception|[Cc]aught|[Ff]ailed)\S{0,2}\s+['<]?(?:class ')?)$")
            .is_match(before)
}
