//! Archives of other writers are read, hostile ones are refused with the right error.

use super::super::source::SourceFile;
use super::super::testing::{TestRecord, assert_proportional, file, processor_time, torch_records, zip};
use super::*;
use crate::error::{ArchiveError, CaptureError, CaptureErrorKind, SourceError};

fn open(bytes: &[u8]) -> Result<(SourceFile, Archive), CaptureError> {
    let (_dir, path) = file(bytes);
    let source = SourceFile::open(&path)?;
    let archive = Archive::open(&source)?;
    Ok((source, archive))
}

fn refused(bytes: &[u8]) -> ArchiveError {
    match open(bytes).expect_err("the archive is hostile").kind {
        CaptureErrorKind::Archive(error) => error,
        CaptureErrorKind::Source(SourceError::Truncated { .. }) => ArchiveError::NoEnd,
        other => panic!("{other}"),
    }
}

fn records() -> Vec<TestRecord> {
    torch_records(b"pickle", &[b"storage zero", b""])
}

#[test]
fn stored_and_deflated_records_are_read_below_any_root() {
    for root in ["archive", "exactly21characters..", "grüß dich", "."] {
        let mut records: Vec<_> = records();
        records.push(TestRecord::deflated("archive/data/2", &[7; 5000]));
        for record in &mut records {
            let name = String::from_utf8(record.name.clone()).unwrap();
            record.name = name.replacen("archive", root, 1).into();
        }
        let (source, archive) = open(&zip(&records, b"")).unwrap();
        let read = |name| content(&source, archive.get(name).unwrap(), 1 << 20).unwrap();
        assert_eq!(read("data/0")[..], *b"storage zero");
        assert_eq!(read("data/1")[..], *b"");
        assert_eq!(read("data/2")[..], [7; 5000]);
    }
}

#[test]
fn a_comment_of_any_length_is_passed_over() {
    for length in [1, 4000, 5000, 65_535] {
        open(&zip(&records(), &vec![b'P'; length])).unwrap();
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = zip(&records(), b"");
    for length in 0..bytes.len() {
        assert!(open(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    assert_eq!(refused(&[&bytes[..], b"appended"].concat()), ArchiveError::NoEnd);
}

#[test]
fn names_that_lead_out_of_the_archive_are_refused() {
    for name in ["../evil", "archive/../../evil", "/etc/passwd", "archive\\..\\evil", "C:\\evil", "\\evil"] {
        let mut records = records();
        records.push(TestRecord::stored(name, b"x"));
        assert_eq!(refused(&zip(&records, b"")), ArchiveError::Traversal, "{name}");
    }
    for name in [&b"archive/\xff"[..], b"archive/a\0b", b""] {
        let mut records = records();
        records.push(TestRecord { name: name.to_vec(), ..TestRecord::stored("", b"x") });
        assert_eq!(refused(&zip(&records, b"")), ArchiveError::BadName);
    }
}

#[test]
fn duplicates_mismatches_and_encryption_are_refused() {
    let with = |record: TestRecord| {
        let mut records = records();
        records.push(record);
        refused(&zip(&records, b""))
    };
    let record = TestRecord::stored("archive/data/9", b"12345");
    assert_eq!(with(TestRecord::stored("archive/data/0", b"other")), ArchiveError::DuplicateRecord);
    assert_eq!(
        with(TestRecord { local_name: Some(b"archive/data/8".to_vec()), ..record.clone() }),
        ArchiveError::NameMismatch { local: "archive/data/8".to_owned() }
    );
    assert_eq!(with(TestRecord { flags: 1, ..record.clone() }), ArchiveError::Encrypted);
    assert_eq!(with(TestRecord { method: 12, ..record.clone() }), ArchiveError::Method(12));
    assert_eq!(
        with(TestRecord { bytes: 500, ..record.clone() }),
        ArchiveError::StoredSizes { compressed: 5, bytes: 500 }
    );
}

#[test]
fn headers_that_differ_are_refused() {
    let bytes = zip(&records(), b"");
    // The file starts with the first local header: its method is at 8, its CRC at 14, its size at 22.
    for (at, what) in [(8, "compression method"), (14, "CRC"), (22, "size"), (6, "flags")] {
        let mut bytes = bytes.clone();
        bytes[at] ^= 8;
        assert_eq!(refused(&bytes), ArchiveError::HeaderMismatch(what));
    }
}

#[test]
fn records_that_share_bytes_are_refused() {
    let mut bytes = zip(&records(), b"");
    // The second record's directory entry is pointed at a local header hidden in the first record's payload.
    let inner = zip(&[TestRecord::stored("archive/byteorder", b"little")], b"");
    let mut outer = records();
    outer[0] = TestRecord::stored("archive/data.pkl", &inner);
    bytes.clear();
    bytes.extend(zip(&outer, b""));
    let directory = bytes.windows(4).rposition(|w| w == b"PK\x05\x06").unwrap();
    let start = u32::from_le_bytes(bytes[directory + 16..directory + 20].try_into().unwrap()) as usize;
    let second = start + 46 + "archive/data.pkl".len();
    let hidden = (30 + "archive/data.pkl".len()) as u32;
    bytes[second + 42..second + 46].copy_from_slice(&hidden.to_le_bytes());
    assert_eq!(refused(&bytes), ArchiveError::Overlap { other: "archive/data.pkl".to_owned() });
}

#[test]
fn inflate_bombs_are_refused_before_they_take_memory() {
    let mut records = records();
    let zeros = TestRecord::deflated("archive/data/9", &[0; 100_000]);
    records.push(TestRecord { bytes: u32::MAX - 1, ..zeros.clone() });
    assert!(matches!(refused(&zip(&records, b"")), ArchiveError::InflateBomb { .. }));

    for (bytes, relation) in [(10, "more"), (100_001, "fewer")] {
        *records.last_mut().unwrap() = TestRecord { bytes, ..zeros.clone() };
        let (source, archive) = open(&zip(&records, b"")).unwrap();
        let error = content(&source, archive.get("data/9").unwrap(), 1 << 20).unwrap_err();
        assert!(error.to_string().contains(relation), "{error}");
    }
}

#[test]
fn a_flipped_bit_is_found_by_its_crc() {
    let bytes = zip(&records(), b"");
    let at = bytes.windows(12).position(|w| w == b"storage zero").unwrap();
    let mut flipped = bytes.clone();
    flipped[at + 3] ^= 1;
    let (source, archive) = open(&flipped).unwrap();
    let error = content(&source, archive.get("data/0").unwrap(), 100).unwrap_err();
    assert!(matches!(error.kind, CaptureErrorKind::Archive(ArchiveError::Crc { .. })), "{error}");
    assert_eq!(error.record.as_deref(), Some("data/0"));
}

#[test]
fn opening_takes_time_in_proportion_to_the_number_of_records() {
    let opened = |count: usize| {
        let bytes = zip(&torch_records(b"pickle", &vec![&b"abcd"[..]; count]), b"");
        processor_time(|| assert_eq!(open(&bytes).unwrap().1.records().len(), count + 3))
    };
    assert_proportional(16, || opened(1_000), || opened(16_000));
}

proptest::proptest! {
    #[test]
    fn any_change_of_a_good_archive_is_read_or_refused(
        changes in proptest::collection::vec((0usize..4096, proptest::prelude::any::<u8>()), 1..8),
    ) {
        let mut bytes = zip(&records(), b"comment");
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok((source, archive)) = open(&bytes) {
            for record in archive.records() {
                let _ = content(&source, record, 1 << 20);
            }
        }
    }

    #[test]
    fn any_bytes_are_refused(tail: Vec<u8>) {
        proptest::prop_assert!(open(&[b"PK\x03\x04", &tail[..]].concat()).is_err());
    }
}
