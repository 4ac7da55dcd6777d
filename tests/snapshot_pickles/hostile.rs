//! Malicious or damaged snapshots: a typed error, no panic, little memory.

use plimsoll::ByteSize;
use plimsoll::diagnose::snapshot::{InvalidSnapshot, Options, Snapshot, SnapshotError};
use proptest::prelude::*;

use crate::simulation::{Allocator, Step, stacks};
use crate::writer::{DIALECTS, Dialect, pickle};

fn read(bytes: &[u8]) -> Result<(), (u64, InvalidSnapshot)> {
    let options = Options { budget: ByteSize::mib(16), ..Options::default() };
    match Snapshot::read("hostile", bytes, options) {
        Ok(mut snapshot) => {
            snapshot.findings().unwrap();
            for device in snapshot.devices().collect::<Vec<_>>() {
                snapshot.timeline(device, 10).unwrap();
                snapshot.flame_graph(device).unwrap();
            }
            Ok(())
        }
        Err(SnapshotError::Invalid { offset, kind, .. }) => Err((offset, kind)),
        Err(other) => panic!("{other}"),
    }
}

fn small(dialect: Dialect) -> Vec<u8> {
    let mut allocator = Allocator::new(0x7f00_0000_0000, stacks(2, 2), true);
    for step in [Step::Alloc(1000, 0), Step::Alloc(5_000_000, 1), Step::Free(0), Step::Oom(1 << 30, 1)] {
        allocator.run(step);
    }
    pickle(&allocator.snapshot(allocator.entries()), dialect)
}

#[test]
fn a_snapshot_cut_at_any_byte_is_truncated() {
    for dialect in DIALECTS {
        let bytes = small(dialect);
        assert_eq!(read(&bytes), Ok(()));
        for end in 0..bytes.len() {
            let (offset, kind) = read(&bytes[..end]).unwrap_err();
            assert_eq!(kind, InvalidSnapshot::Truncated, "{dialect:?} at {end}");
            assert!(offset <= end as u64);
        }
    }
}

#[test]
fn nothing_is_imported_or_called() {
    let refused = |bytes: &[u8]| match read(bytes) {
        Err((_, InvalidSnapshot::Refused(what))) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R."), "GLOBAL os.system");
    assert_eq!(refused(b"\x80\x04\x8c\x02os\x8c\x06system\x93."), "STACK_GLOBAL");
    assert_eq!(refused(b"\x80\x02}(NNuN\x85R."), "REDUCE");
    assert_eq!(
        refused(b"\x80\x02ctorch.jit._pickle\nunpickle_everything\n."),
        "GLOBAL torch.jit._pickle.unpickle_everything"
    );
    assert_eq!(refused(b"\x80\x02}}b."), "BUILD");
    // A known function is not a value.
    assert_eq!(refused(b"\x80\x02](ctorch.jit._pickle\nrestore_type_tag\ne."), "GLOBAL without its call");
    let error = Snapshot::read("x.pickle", &b"\x80\x02cos\nsystem\n."[..], Options::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "x.pickle: byte 2: GLOBAL os.system: a memory snapshot holds only plain data, and nothing in it is executed; \
         dump it with torch.cuda.memory._dump_snapshot"
    );
}

#[test]
fn other_pickles_are_no_snapshots() {
    for (bytes, expected) in [
        (&b"\x80\x04K\x01."[..], InvalidSnapshot::NotASnapshot("it holds an int".to_owned())),
        (
            b"\x80\x04}(K\x01K\x02K\x03K\x04u.",
            InvalidSnapshot::NotASnapshot("a dict with neither `segments` nor `device_traces`".to_owned()),
        ),
        (b"\x80\x06}.", InvalidSnapshot::Protocol(6)),
        (b"PK\x03\x04", InvalidSnapshot::Opcode(b'\x03')),
        (b"\x80\x04]h\x07.", InvalidSnapshot::MemoMissing(7)),
        (b"\x80\x04a.", InvalidSnapshot::Underflow),
        (b"\x80\x04u.", InvalidSnapshot::Underflow),
        (
            b"\x80\x04](K\x01e.",
            InvalidSnapshot::Field { field: "segments", found: "an int", expected: "an item of its own" },
        ),
        (
            b"\x80\x04](}e.",
            InvalidSnapshot::Field { field: "segments", found: "a list or dict", expected: "an item of its own" },
        ),
        (b"\x80\x04]}\x8c\x06streamK\x01sa.", InvalidSnapshot::Missing { record: "segment", field: "total_size" }),
        (b"\x80\x04]\x94h\x00a.", InvalidSnapshot::MemoGone { index: 0, what: "a list or dict that is not finished" }),
    ] {
        if bytes.starts_with(b"PK") {
            assert!(read(bytes).is_err());
            continue;
        }
        assert_eq!(read(bytes).map_err(|(_, kind)| kind), Err(expected), "{bytes:x?}");
    }
}

#[test]
fn an_entry_that_is_used_twice_is_refused() {
    let mut bytes = b"\x80\x04}\x94\x8c\x0ddevice_traces](](".to_vec();
    bytes.extend(b"}\x94(\x8c\x06action\x8c\x08snapshot\x8c\x04addrK\0\x8c\x04sizeK\0uh\x01ee");
    let (_, kind) = read(&bytes).unwrap_err();
    assert_eq!(kind, InvalidSnapshot::MemoGone { index: 1, what: "a record that was already read" });
}

#[test]
fn nothing_deep_or_long_takes_more_than_the_budget() {
    let budget = Err(InvalidSnapshot::Budget { budget: ByteSize::mib(16) });
    let texts = |n: u32| [b"X\x04\0\0\0", &n.to_le_bytes()[..]].concat();
    let hostile: [Vec<u8>; 6] = [
        [b"\x80\x04".to_vec(), b"]".repeat(8 << 20)].concat(),
        [b"\x80\x04".to_vec(), b"(".repeat(8 << 20)].concat(),
        [b"\x80\x04".to_vec(), b"N".repeat(8 << 20)].concat(),
        [b"\x80\x04".to_vec(), b"}\x94".repeat(8 << 20)].concat(),
        // Each goes to its own page of the memo.
        [b"\x80\x04N".to_vec(), (0..100_000u32).flat_map(|n| [&b"r"[..], &(n << 12).to_le_bytes()].concat()).collect()]
            .concat(),
        [b"\x80\x04".to_vec(), (0..1_000_000).flat_map(texts).collect()].concat(),
    ];
    for bytes in hostile {
        assert_eq!(read(&bytes).map_err(|(_, kind)| kind), budget, "{:x?}", &bytes[..12]);
    }
    // A text that says it is longer than the file.
    assert_eq!(read(b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff").unwrap_err().1, InvalidSnapshot::Truncated);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_damage_makes_it_panic(dialect in prop::sample::select(&DIALECTS[..]), damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = small(dialect);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        let _ = read(&[&b"\x80\x04"[..], &bytes].concat());
    }

    #[test]
    fn no_opcodes_make_it_panic(opcodes in prop::collection::vec(prop::sample::select(&b"](}()]hq\x94aeus\x85\x86\x87tNKR\x88\x8c."[..]), 0..60)) {
        let mut bytes = b"\x80\x04}(\x8c\x08segments".to_vec();
        for opcode in opcodes {
            bytes.push(opcode);
            if b"hqK\x8c".contains(&opcode) {
                bytes.push(0);
            }
        }
        let _ = read(&bytes);
    }
}
