//! /dev/shm: bus errors of DataLoader workers, files that did not fit.

use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::position::{Position, position};
use super::{regex, size};

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.message();
    let full = regex!(
        r"(?x) killed\ by\ signal:\ Bus\ error
        | Unexpected\ bus\ error\ encountered\ in\ worker
        | dataloader's\ workers\ are\ out\ of\ shared\ memory
        | might\ be\ caused\ by\ insufficient\ shared\ memory\ \(shm\)
        | unable\ to\ write\ to\ file\ </torch_
        | (?:unable\ to\ (?:write\ to\ file|open\ shared\ memory\ object|resize\ file|allocate\ shared\ memory)) .{0,120} (?:No\ space\ left\ on\ device|\(28\)|\(shm\))
        | shared\ memory\ segment .{0,160} No\ space\ left\ on\ device
        | No\ space\ left\ on\ device .{0,20} /dev/shm
        | /dev/shm\S{0,80} .{0,60} No\ space\ left\ on\ device
        | failed\ to\ extend\ /dev/shm/nccl | Error\ while\ creating\ shared\ memory\ segment\ /dev/shm/nccl
        | (?:It\ appears\ as\ if\ there\ is|There\ is)\ not\ enough\ space\ for\ /dev/shm
        | Call\ to\ posix_fallocate\ failed .{0,20} No\ space\ left"
    );
    let bus = regex!(
        r"Fatal Python error: Bus error|exitcode\s*: -7\b|Signal 7 \(SIGBUS\)|\bBus error(?: \(core dumped\))?$"
    );
    let matched = match (full.find(text), bus.find(text)) {
        (Some(matched), _) => matched,
        // A bus error proves nothing without the stack frames of a loader's worker.
        (None, Some(matched)) if loader_near(lines, at) => matched,
        _ => return,
    };
    match position(text, matched.start()) {
        Position::Talk(reason) | Position::Said(reason) if !text.contains("killed by signal: Bus") => {
            found.push(Sighting::new(Cause::Dismissed(reason), line));
        }
        Position::Talk(reason) => found.push(Sighting::new(Cause::Dismissed(reason), line)),
        _ => {
            let mut sighting = Sighting::new(Cause::SharedMemory, line).backend("linux");
            sighting.software =
                regex!(r"PostgreSQL\.\d|\bnccl-|NCCL WARN").find(text).map(|name| match name.as_str() {
                    name if name.starts_with('P') => "postgres",
                    _ => "nccl",
                });
            sighting.numbers.tried = regex!(r"(?:\bto|\(size|\bof size|\bof) (\d{4,})(?: bytes|\)|\b)")
                .captures(&text[matched.start()..])
                .and_then(|tried| size::bytes(&tried[1]));
            sighting.pid = regex!(r"\(pid (\d+)\)").captures(text).and_then(|pid| pid[1].parse().ok()).or(sighting.pid);
            found.push(sighting);
        }
    }
}

/// Whether the surrounding lines mention a DataLoader worker.
fn loader_near(lines: &Lines, at: usize) -> bool {
    let near = lines.before(at).take(30).chain(lines.after(at).take(30));
    let mut near = near.map(|line| line.message());
    near.any(|text| text.contains("_utils/worker.py") || text.contains("shared memory") || text.contains("/dev/shm"))
}
