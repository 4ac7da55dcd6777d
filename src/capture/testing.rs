//! Small zip archives and pickles, written byte by byte for tests.

use std::path::PathBuf;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A record of a test archive. Fields that a test does not set are valid.
#[derive(Clone)]
pub(crate) struct TestRecord {
    pub(crate) name: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    /// The bytes in the file.
    pub(crate) payload: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) crc: u32,
    /// The size of the content.
    pub(crate) bytes: u32,
}

impl TestRecord {
    pub(crate) fn stored(name: &str, payload: &[u8]) -> Self {
        Self {
            name: name.into(),
            local_name: None,
            payload: payload.to_vec(),
            method: 0,
            flags: 0,
            crc: crc32fast::hash(payload),
            bytes: payload.len() as u32,
        }
    }

    pub(crate) fn deflated(name: &str, content: &[u8]) -> Self {
        use std::io::Write;
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).unwrap();
        Self { payload: encoder.finish().unwrap(), method: 8, ..Self::stored(name, content) }
    }
}

/// The archive of `records`, with `comment`.
pub(crate) fn zip(records: &[TestRecord], comment: &[u8]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for record in records {
        let offset = file.len() as u32;
        let common = |name: &[u8]| {
            let mut bytes = Vec::new();
            bytes.extend(20u16.to_le_bytes());
            bytes.extend(record.flags.to_le_bytes());
            bytes.extend(record.method.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(record.crc.to_le_bytes());
            bytes.extend((record.payload.len() as u32).to_le_bytes());
            bytes.extend(record.bytes.to_le_bytes());
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend([0; 2]);
            bytes
        };
        let local_name = record.local_name.as_ref().unwrap_or(&record.name);
        file.extend(b"PK\x03\x04");
        file.extend(common(local_name));
        file.extend(local_name);
        file.extend(&record.payload);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(common(&record.name));
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(&record.name);
    }
    let start = file.len() as u32;
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend((records.len() as u16).to_le_bytes());
    file.extend((records.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend((comment.len() as u16).to_le_bytes());
    file.extend(comment);
    file
}

/// The records of a file of torch.save with this pickle and these storages, below the root `archive`.
pub(crate) fn torch_records(pickle: &[u8], storages: &[&[u8]]) -> Vec<TestRecord> {
    let mut records = vec![TestRecord::stored("archive/data.pkl", pickle)];
    records.push(TestRecord::stored("archive/byteorder", b"little"));
    for (i, storage) in storages.iter().enumerate() {
        records.push(TestRecord::stored(&format!("archive/data/{i}"), storage));
    }
    records.push(TestRecord::stored("archive/version", b"3\n"));
    records
}

/// Writes `bytes` to a file of its own.
pub(crate) fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("entry_000000.pt");
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// A pickle, opcode by opcode.
#[derive(Clone, Default)]
pub(crate) struct TestPickle(pub(super) Vec<u8>);

impl TestPickle {
    pub(crate) fn new() -> Self {
        Self(vec![0x80, 2])
    }

    pub(crate) fn op(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.op(b"X").op(&(text.len() as u32).to_le_bytes()).op(text.as_bytes())
    }

    pub(crate) fn int(self, value: i32) -> Self {
        self.op(b"J").op(&value.to_le_bytes())
    }

    pub(crate) fn global(self, module: &str, name: &str) -> Self {
        self.op(format!("c{module}\n{name}\n").as_bytes())
    }

    pub(crate) fn ints(self, values: &[i32]) -> Self {
        values.iter().fold(self.op(b"("), |pickle, &value| pickle.int(value)).op(b"t")
    }

    /// A float32 tensor over storage `key` of `numel` elements.
    pub(crate) fn tensor(self, key: &str, numel: i32, offset: i32, shape: &[i32], strides: &[i32]) -> Self {
        self.global("torch._utils", "_rebuild_tensor_v2")
            .op(b"((")
            .text("storage")
            .global("torch", "FloatStorage")
            .text(key)
            .text("cpu")
            .int(numel)
            .op(b"tQ")
            .int(offset)
            .ints(shape)
            .ints(strides)
            .op(b"\x89")
            .global("collections", "OrderedDict")
            .op(b")RtR")
    }

    pub(crate) fn stop(self) -> Vec<u8> {
        self.op(b".").0
    }
}

/// The processor time that `work` takes in this thread, which other programs on the machine hardly change.
pub(crate) fn processor_time(work: impl FnOnce()) -> Duration {
    let now = || Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("it is not negative");
    let before = now();
    work();
    now() - before
}

/// Fails if `factor` times as much work takes far more than `factor` times as long: the limit is a quarter of the time
/// that quadratic work would take. Each time is the best of three.
pub(crate) fn assert_proportional(factor: u32, small: impl Fn() -> Duration, large: impl Fn() -> Duration) {
    let best = |work: &dyn Fn() -> Duration| (0..3).map(|_| work()).min().expect("there are three");
    let (small, large) = (best(&small), best(&large));
    assert!(large < small * factor * factor / 4, "{small:?} for one, {large:?} for {factor}");
}
