use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::archive::Archive;
use super::pickle::{Refusal, pickle};
use super::serialization_id::serialization_id;
use super::*;
use crate::synthesize::gemma4_e2b_gb10;
use crate::{Argument, Dtype, Layout, TensorRef, strategies};
use plimsoll_memory::ByteSize;

/// The records of a stored archive by name, in order of the name, each checked against its CRC-32.
pub(crate) fn records(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = fs::read(path).unwrap();
    let number = |at: usize, bytes: usize| file[at..at + bytes].iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
    let end = file.len() - 22;
    assert_eq!(&file[end..end + 4], b"PK\x05\x06");
    let (count, mut at) = (number(end + 10, 2), number(end + 16, 4));
    let mut records = BTreeMap::new();
    for _ in 0..count {
        assert_eq!(&file[at..at + 4], b"PK\x01\x02");
        let (crc, bytes, name_bytes, header) =
            (number(at + 16, 4), number(at + 24, 4), number(at + 28, 2), number(at + 42, 4));
        let name = &file[at + 46..at + 46 + name_bytes];
        assert_eq!(&file[header..header + 4], b"PK\x03\x04");
        assert_eq!(name, &file[header + 30..header + 30 + name_bytes]);
        let data = header + 30 + name_bytes + number(header + 28, 2);
        assert_eq!(data % 64, 0);
        let payload = &file[data..data + bytes];
        assert_eq!(crc as u32, crc32fast::hash(payload));
        records.insert(String::from_utf8(name.to_vec()).unwrap(), payload.to_vec());
        at += 46 + name_bytes + number(at + 30, 2);
    }
    records
}

fn vector(dtype: Dtype, length: u64, storage: usize) -> Argument {
    Argument::Tensor(TensorRef { layout: Layout::contiguous(dtype, &[length]), storage })
}

fn entry(output: Argument) -> EntryValue {
    let function_name = "f".to_owned();
    EntryValue { function_name, args: Vec::new(), kwargs: Vec::new(), output, signature: None }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// The end of an archive recorded from `torch.save({"w": zeros(262144, 8960, dtype=bfloat16), "o": ones(3)}, "big.pt")`
/// with torch 2.11.0: a storage beyond 4 GiB, and records that start beyond it.
#[test]
fn zip64_fields_stand_where_torch_puts_them() {
    let id = "0561108523619670529413374232914103672056";
    let ones = [1f32; 3].map(f32::to_le_bytes).concat();
    let sizes_and_crcs: [(&str, u64, u32); 8] = [
        ("data.pkl", 257, 0xa310_6031),
        (".format_version", 1, 0x83dc_efb7),
        (".storage_alignment", 2, 0xe971_773f),
        ("byteorder", 6, 0x19e3_3d85),
        ("data/0", 4_697_620_480, 0x2531_51b4),
        ("data/1", 12, crc32fast::hash(&ones)),
        ("version", 2, 0x5567_9ed1),
        (".data/serialization_id", 40, crc32fast::hash(id.as_bytes())),
    ];
    let archive = Archive::of("big", sizes_and_crcs.map(|(name, bytes, _)| (name.to_owned(), bytes)));
    let crcs = sizes_and_crcs.map(|(_, _, crc)| crc);
    let named = sizes_and_crcs[..7].iter().map(|&(name, _, crc)| (name, Some(crc)));
    assert_eq!(serialization_id(named), id);

    let header = archive.local_header(&archive.records()[4]);
    assert_eq!(header[..60], b"PK\x03\x04\0\0\x08\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\n\0B\0big/data/0\x01\0\x10\0\0\0\0\x18\x01\0\0\0\0\0\0\0\0\0\0\0"[..]);
    let mut behind = archive.records()[4].descriptor(crcs[4]);
    for (n, payload) in [(5, &ones[..]), (6, b"3\n"), (7, id.as_bytes())] {
        let record = &archive.records()[n];
        behind.extend(archive.local_header(record));
        behind.extend(payload);
        behind.extend(record.descriptor(crcs[n]));
    }
    assert_eq!((behind.len(), crc32fast::hash(&behind)), (448, 4_267_501_341));
    let directory = archive.directory_bytes(&crcs);
    assert_eq!((directory.len(), crc32fast::hash(&directory)), (645, 4_047_291_460));
    assert_eq!(archive.file_size(), 4_697_622_405);
}

/// Checks against the CRC-32s of the pickles that `pickle.dumps(value, 2)` of CPython 3.11 writes for equal values.
#[test]
fn pickles_are_those_of_python() {
    let text = |s: &str| Argument::Str(s.to_owned());
    let dict = |items: Vec<(Argument, Argument)>| Argument::Dict(items);
    let cases = [
        (dict((0..2000).map(|n| (Argument::Int(n), Argument::None)).collect()), 927_019_516),
        (dict((0..1001).map(|n| (Argument::Int(n), Argument::Bool(true))).collect()), 3_900_551_566),
        (Argument::List((0..1001).map(|n| Argument::Float(n.into())).collect()), 1_780_753_753),
        (Argument::List(vec![text("a"), Argument::Bytes(b"a".to_vec()), Argument::Bytes(vec![0xff, 1])]), 119_042_892),
        (
            Argument::List(
                [
                    "4294967296",
                    "-2147483649",
                    "-9223372036854775809",
                    "18446744073709551616",
                    "-340282366920938463463374607431768211456",
                ]
                .map(|digits| Argument::BigInt(digits.to_owned()))
                .to_vec(),
            ),
            327_013_388,
        ),
    ];
    for (value, crc) in cases {
        assert_eq!(crc32fast::hash(&pickle(&value, &[]).unwrap().bytes), crc, "{}", value.kind());
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let refusal = |output: Argument, storages: &[u64]| match pickle(&entry(output).to_argument(), storages) {
        Err(Refusal::Value { at, why }) => format!("{at}: {why}"),
        Err(Refusal::Outside { at, source }) => format!("{at}: {source}"),
        Err(Refusal::Unreferenced { storage }) => format!("storage {storage}"),
        Ok(_) => "written".to_owned(),
    };
    let list = |items| Argument::List(items);
    let opaque = Argument::Opaque { class: "torch.Generator".to_owned(), detail: String::new() };
    assert_eq!(
        refusal(list(vec![Argument::None, opaque]), &[]),
        "output[1]: an object of class torch.Generator has no plain value; leave it out"
    );
    assert!(refusal(vector(Dtype::F32, 3, 0), &[8]).starts_with("output: a float32 tensor of shape [3]"));
    assert!(refusal(vector(Dtype::F32, 3, 1), &[12]).contains("refers to storage 1, but there are only 1"));
    assert!(refusal(vector(Dtype::F32, 1, 0), &[6]).contains("not a whole number of float32 elements"));
    assert!(refusal(vector(Dtype::QI8, 1, 0), &[1]).contains("scale and zero point"));
    assert_eq!(refusal(Argument::None, &[4]), "storage 0");
    let two = list(vec![vector(Dtype::F32, 1, 0), vector(Dtype::I32, 1, 0)]);
    assert!(
        refusal(two, &[4])
            .starts_with("output[1]: it views storage 0 as IntStorage, an earlier tensor as FloatStorage")
    );
    assert!(refusal(Argument::BigInt("1e9".to_owned()), &[]).contains("is not a decimal integer"));
    let deep = (0..200).fold(Argument::None, |inner, _| list(vec![inner]));
    assert!(refusal(deep, &[]).contains("nested more than 128 levels deep"));
}

#[test]
fn file_names_that_torch_refuses_are_refused() {
    for name in ["", ".pt", ".."] {
        let error = entry_size(Path::new(name), &entry(Argument::None), &[]).unwrap_err();
        assert!(matches!(error, WriteError::FileName { .. }), "{name:?}");
    }
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let byte = |i: u64| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8;
    let fill = |offset: u64, into: &mut [u8]| -> io::Result<()> {
        (offset..).zip(into).for_each(|(i, b)| *b = byte(i));
        Ok(())
    };
    // The length is neither a whole number of chunks nor of pages.
    let length = 3_000_001;
    let memory: Vec<u8> = (0..length).map(byte).collect();
    let value =
        entry(Argument::Tuple(vec![vector(Dtype::U8, length, 0), vector(Dtype::U8, 0, 1), vector(Dtype::I8, 5, 2)]));
    let written = AtomicU64::new(0);
    let progress = |bytes: ByteSize| _ = written.fetch_add(bytes.bytes(), Ordering::Relaxed);
    let mut files = Vec::new();
    for threads in [1, 2, 7] {
        let path = folder.path().join("entry.pt");
        let options = Options { threads: NonZeroUsize::new(threads), progress: &progress, ..Options::default() };
        let fill = Source::Fill { bytes: ByteSize::new(length), fill: &fill };
        let size = write_entry(&path, &value, &[fill, Source::Bytes(&[]), Source::Bytes(b"bytes")], &options).unwrap();
        assert_eq!(records(&path)["entry/data/0"], memory);
        assert_eq!(records(&path)["entry/data/2"], b"bytes");
        files.push(fs::read(&path).unwrap());
        assert_eq!(files.last().unwrap().len() as u64, size.bytes());
        assert_eq!(written.swap(0, Ordering::Relaxed), size.bytes(), "progress reports every byte once");
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_failing_source_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("entry.pt");
    fs::write(&path, "old").unwrap();
    let fill = |offset: u64, _: &mut [u8]| if offset < 1 << 20 { Ok(()) } else { Err(io::Error::other("no more")) };
    let source = Source::Fill { bytes: ByteSize::mib(4), fill: &fill };
    let value = entry(vector(Dtype::U8, 4 << 20, 0));
    let error = write_entry(&path, &value, &[source], &Options::default()).unwrap_err();
    assert!(error.to_string().ends_with("could not be made: no more"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn cancelling_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = AtomicBool::new(false);
    let fill = |offset: u64, _: &mut [u8]| -> io::Result<()> {
        cancel.fetch_or(offset > 1 << 20, Ordering::Relaxed);
        Ok(())
    };
    let source = Source::Fill { bytes: ByteSize::mib(64), fill: &fill };
    let options = Options { cancel: &cancel, ..Options::default() };
    let value = entry(vector(Dtype::U8, 64 << 20, 0));
    let error = write_entry(&folder.path().join("entry.pt"), &value, &[source], &options).unwrap_err();
    assert!(matches!(error, WriteError::Cancelled { .. }), "{error}");
    assert!(is_empty(folder.path()));
}

/// A full disk, which needs a file system that can be filled: a tmpfs of 1 MiB, which only root may mount.
#[test]
fn a_full_disk_is_said_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|m| m.status.success()) {
        println!("not run: a tmpfs cannot be mounted here, so no disk can be filled");
        return;
    }
    let bytes = vec![1; 2 << 20];
    let value = entry(vector(Dtype::U8, 2 << 20, 0));
    let written = write_entry(&folder.path().join("entry.pt"), &value, &[Source::Bytes(&bytes)], &Options::default());
    let empty = is_empty(folder.path());
    assert!(Command::new("umount").arg(folder.path()).status().unwrap().success());
    assert!(matches!(written, Err(WriteError::DiskFull { .. })), "{written:?}");
    assert!(empty);
}

/// Loads every file of a folder with torch, strictly and mapped, and saves it again under the same name: the bytes must
/// not change.
#[test]
fn torch_loads_what_is_written_and_saves_the_same_bytes() {
    let Some(python) = std::env::var_os("PLIMSOLL_TORCH_PYTHON") else {
        println!("not run: PLIMSOLL_TORCH_PYTHON does not name a Python with torch");
        return;
    };
    let (samples, tables) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut runner = TestRunner::deterministic();
    for n in 0..150 {
        let sample = strategies::entries().new_tree(&mut runner).unwrap().current();
        sample.write(&samples.path().join(format!("entry_{n:06}.pt"))).unwrap();
    }
    gemma4_e2b_gb10().scale(1, 768).entries(4).write(tables.path()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/write/resave.py");
    let output = Command::new(python).args([script.as_ref(), samples.path(), tables.path()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.trim(), "154 files are what torch writes");
}

proptest! {
    #[test]
    fn entries_are_whole_archives_of_the_predicted_size(sample in strategies::entries()) {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("entry.pt");
        sample.write(&path)?;
        let lengths: Vec<ByteSize> = sample.storages.iter().map(|s| ByteSize::new(s.len() as u64)).collect();
        let predicted = entry_size(&path, &sample.value, &lengths)?;
        prop_assert_eq!(fs::metadata(&path)?.len(), predicted.bytes());
        let mut records = records(&path);
        prop_assert_eq!(records.len(), sample.storages.len() + 6);
        records.retain(|name, _| name.starts_with("entry/data/"));
        let mut written: Vec<_> = records.into_values().collect();
        let mut expected = sample.storages;
        written.sort();
        expected.sort();
        prop_assert_eq!(written, expected);
    }
}
