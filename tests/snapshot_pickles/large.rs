//! A snapshot larger than the memory allowed for reading it.

use std::io::Read;
use std::rc::Rc;

use plimsoll::diagnose::snapshot::{Options, Snapshot};

use crate::simulation::stacks;
use crate::writer::{Dialect, Object, Writer, dict, list, text};

/// The bytes of a snapshot, generated as they are read: memory allocated and freed repeatedly from many stacks.
struct Generated {
    writer: Writer,
    stacks: Vec<Object>,
    /// The batch's objects, kept so that each object has its own address.
    batch: Vec<Object>,
    at: usize,
    entries: u64,
    target: u64,
    written: u64,
    done: bool,
}

/// The blocks in use at a time.
const LIVE: u64 = 1000;

impl Generated {
    fn new(dialect: Dialect, target: u64) -> Self {
        let mut writer = Writer::new(dialect);
        writer.begin();
        writer.out.extend(b"}(");
        writer.text(&"segments".into());
        writer.write(&list(vec![]));
        writer.text(&"device_traces".into());
        writer.out.extend(b"](]");
        Self { writer, stacks: stacks(3000, 50), batch: Vec::new(), at: 0, entries: 0, target, written: 0, done: false }
    }

    fn entry(&mut self, action: &str, address: u64, frames: Object) {
        self.entries += 1;
        let entry = dict([
            ("action", text(action)),
            ("addr", (0x7f00_0000_0000 + address * 512).into()),
            ("size", 512u64.into()),
            ("stream", 0u64.into()),
            ("time_us", (1_700_000_000_000_000 + self.entries).into()),
            ("compile_context", text("N/A")),
            ("user_metadata", text("")),
            ("frames", frames.clone()),
        ]);
        self.writer.write(&entry);
        self.batch.extend([entry, frames]);
    }

    fn batch(&mut self) {
        self.writer.out.push(b'(');
        for _ in 0..330 {
            let n = self.entries;
            // A separate list for each allocation, as torch creates them, of shared frames.
            let Object::List(frames) = &self.stacks[(n % 3000) as usize] else { unreachable!() };
            let frames = Object::List(Rc::new(frames.to_vec()));
            self.entry("alloc", n % (3 * LIVE), frames.clone());
            for action in ["free_requested", "free_completed"] {
                self.entry(action, n % (3 * LIVE), frames.clone());
            }
        }
        self.writer.out.push(b'e');
        if self.written + self.writer.out.len() as u64 >= self.target {
            self.writer.out.extend(b"eu.");
            self.done = true;
        }
    }
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.writer.out.len() && !self.done {
            self.written += self.writer.out.len() as u64;
            self.writer.out.clear();
            self.at = 0;
            for object in self.batch.drain(..) {
                self.writer.forget(&object);
            }
            self.batch();
        }
        let count = buffer.len().min(self.writer.out.len() - self.at);
        buffer[..count].copy_from_slice(&self.writer.out[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// The high-water mark of this process.
fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn a_generated_snapshot_is_read() {
    for dialect in [Dialect::Python(2), Dialect::Python(4)] {
        let mut snapshot = Snapshot::read("generated", Generated::new(dialect, 2 << 20), Options::default()).unwrap();
        let findings = snapshot.findings().unwrap();
        let trace = findings.devices[0].trace.as_ref().unwrap();
        assert_eq!(trace.entries, 3 * trace.allocations);
        assert_eq!(trace.peak.point.allocated.bytes(), 512);
    }
}

/// `cargo test --release --test snapshot_pickles -- --ignored --exact large::one_gigabyte_in_256_mib`: run it alone,
/// because it measures the memory of the process.
#[test]
#[ignore = "reads 1 GB"]
fn one_gigabyte_in_256_mib() {
    let mut snapshot =
        Snapshot::read("generated", Generated::new(Dialect::Python(4), 1 << 30), Options::default()).unwrap();
    let findings = snapshot.findings().unwrap();
    assert!(findings.format.bytes.bytes() >= 1 << 30);
    assert!(snapshot.timeline(0, 1000).unwrap().is_some());
    assert!(snapshot.flame_graph(0).unwrap().is_some());
    println!("{:?} entries, {} B peak", findings.devices[0].trace.as_ref().unwrap().entries, peak_rss());
    assert!(peak_rss() <= 256 << 20, "{}", peak_rss());
}
