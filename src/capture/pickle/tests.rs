//! The machine keeps aliases and cycles, and survives every pickle.

use proptest::prelude::*;

use super::super::testing::TestPickle;
use super::*;
use crate::error::PickleErrorKind;

fn load(bytes: &[u8]) -> Result<Document, PickleError> {
    read(PickleBytes::Read(bytes.to_vec()), 0)
}

fn refused(bytes: &[u8]) -> PickleErrorKind {
    load(bytes).expect_err("the pickle is malformed").kind
}

#[test]
fn values_of_every_protocol_are_read() {
    let document = load(
        b"(lp0\nI1\naI01\naL123456789012345678901234567890L\naF1.5\naS'a\\'b'\naVgr\\u00fc\na(dp1\nS'k'\nI-7\nsa.",
    )
    .unwrap();
    let Node::List(items) = document.node(document.root()) else { panic!("a list") };
    assert_eq!(document.as_int(items[0]), Some(1));
    assert!(matches!(document.node(items[1]), Node::Bool(true)));
    assert_eq!(document.big_int(document.node(items[2])).unwrap(), "123456789012345678901234567890");
    assert!(matches!(document.node(items[3]), Node::Float(x) if *x == 1.5));
    assert_eq!(document.as_name(items[4]).unwrap(), "a'b");
    assert_eq!(document.as_name(items[5]).unwrap(), "grü");
    let Node::Dict(pairs) = document.node(items[6]) else { panic!("a dict") };
    assert_eq!(document.as_int(pairs[0].1), Some(-7));

    let document = load(b"\x80\x05\x95\x0d\0\0\0\0\0\0\0(\x8c\x01a\x94C\x01b\x8f(K\x01\x90t.").unwrap();
    let items = document.as_tuple(document.root()).unwrap();
    assert_eq!(document.as_name(items[0]).unwrap(), "a");
    assert!(matches!(document.node(items[1]), Node::Bytes(_)));
    assert!(matches!(document.node(items[2]), Node::Set(items) if items.len() == 1));
}

#[test]
fn a_list_that_is_filled_after_it_was_memoized_is_one_list() {
    // a = []; root = [a, a]; a.append(1)
    let document = load(b"\x80\x02]q\x00(]q\x01h\x01K\x01a0h\x01e.").unwrap();
    let Node::List(items) = document.node(document.root()) else { panic!("a list") };
    assert_eq!(items, &[items[0], items[0]]);
    assert!(matches!(document.node(items[0]), Node::List(inner) if inner.len() == 1));
    // root = []; root.append(root)
    let cycle = load(b"\x80\x02]q\x00h\x00a.").unwrap();
    assert!(matches!(cycle.node(cycle.root()), Node::List(items) if items == &[cycle.root()]));
}

#[test]
fn what_python_cannot_hash_is_no_key_and_no_item_of_a_set() {
    let needs = |opcode| PickleErrorKind::WrongKind { opcode, needed: "what Python can hash, not a list, dict or set" };
    // {[]: 1}, {({},): 1} by SETITEMS, and the same by DICT.
    assert_eq!(refused(b"}]K\x01s."), needs("SETITEM"));
    assert_eq!(refused(b"}(}\x85K\x01u."), needs("SETITEM"));
    assert_eq!(refused(b"((lK\x01d."), needs("SETITEM"));
    // {bytearray()}, frozenset([[]])
    assert_eq!(refused(b"\x80\x05\x8f(\x96\0\0\0\0\0\0\0\0\x90."), needs("ADDITEMS"));
    assert_eq!(refused(b"\x80\x04(]\x91."), needs("FROZENSET"));
    // {(): 1, (1, "a"): [], None: {}} and a set of a frozenset are valid in Python.
    load(b"}()K\x01K\x01\x8c\x01a\x86]N}u.").unwrap();
    load(b"\x80\x04\x8f((K\x01\x91\x90.").unwrap();
}

#[test]
fn the_memo_is_sparse() {
    let document = load(b"]r\xff\xff\xff\xff0j\xff\xff\xff\xff.").unwrap();
    assert!(matches!(document.node(document.root()), Node::List(_)));
    assert_eq!(refused(b"j\xff\xff\xff\xff."), PickleErrorKind::MemoMissing(u32::MAX));
}

#[test]
fn depth_costs_no_stack() {
    let depth = 1_000_000;
    let document = load(&[vec![b']'; depth], vec![b'a'; depth - 1], vec![b'.']].concat()).unwrap();
    assert!(matches!(document.node(document.root()), Node::List(items) if items.len() == 1));
    drop(document);
}

#[test]
fn malformed_pickles_are_refused_by_name() {
    for (pickle, kind) in [
        (&b""[..], PickleErrorKind::Truncated),
        (b".", PickleErrorKind::StackUnderflow),
        (b"(.", PickleErrorKind::StackUnderflow),
        (b"N(R.", PickleErrorKind::StackUnderflow),
        (b"t.", PickleErrorKind::NoMark),
        (b"\x80\x06N.", PickleErrorKind::Protocol(6)),
        (b"\xffN.", PickleErrorKind::UnknownOpcode(0xff)),
        (b"\x82\x01.", PickleErrorKind::OutOfBand("EXT")),
        (b"X\xff\xff\xff\x7fabc", PickleErrorKind::Truncated),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffabc", PickleErrorKind::Truncated),
        (b"\x8b\xff\xff\xff\xff", PickleErrorKind::Operand("length")),
        (b"X\x01\0\0\0\xff.", PickleErrorKind::Operand("UTF-8 text")),
        (b"Ione\n.", PickleErrorKind::Operand("integer")),
        (b"N)b.", PickleErrorKind::WrongKind { opcode: "BUILD", needed: "an object" }),
        (b"NNa.", PickleErrorKind::WrongKind { opcode: "APPEND", needed: "a list" }),
        (b"}(Nu.", PickleErrorKind::WrongKind { opcode: "SETITEMS", needed: "keys and values in pairs" }),
        (b"N)R.", PickleErrorKind::WrongKind { opcode: "REDUCE", needed: "a callable and a tuple" }),
    ] {
        assert_eq!(refused(pickle), kind, "{pickle:?}");
    }
}

#[test]
fn imports_that_run_code_are_refused_in_every_spelling() {
    for pickle in [
        &b"cos\nsystem\n(S'id'\ntR."[..],
        b"(S'id'\nios\nsystem\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"(cposix\nsystem\nS'id'\no.",
        b"c__builtin__\neval\n.",
    ] {
        assert!(matches!(refused(pickle), PickleErrorKind::Forbidden(_)), "{pickle:?}");
    }
}

#[test]
fn bombs_are_refused_within_their_limit() {
    for unit in [&b"]"[..], b"}", b"]2", b"\x8f", b"(l", b"]\x94", b"J\x00\x01\x00\x00", b"2\x85"] {
        let mut pickle = b"]".to_vec();
        while pickle.len() < 16 << 20 {
            pickle.extend_from_slice(unit);
        }
        assert_eq!(refused(&pickle), PickleErrorKind::TooLarge { limit: 128 << 20 }, "{unit:?}");
    }
}

#[test]
fn an_object_keeps_its_state_items_and_pairs() {
    let pickle = TestPickle::new().global("mine", "List").op(b")\x81(K\x01K\x02e(K\x03K\x04uK\x05b").stop();
    let document = load(&pickle).unwrap();
    let Node::Object(object) = document.node(document.root()) else { panic!("an object") };
    assert_eq!(document.as_global(object.callable()).unwrap().1, "List");
    assert_eq!(object.how(), How::New);
    assert_eq!((object.items().len(), object.pairs().len()), (2, 1));
    assert_eq!(object.state().and_then(|state| document.as_int(state)), Some(5));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = load(&bytes);
    }

    #[test]
    fn any_opcodes_are_read_or_refused(opcodes in prop::collection::vec(
        prop::sample::select(b"(012.NKJ\x88\x89]}\x8f)t\x85\x86\x87lda\x90esu\x91q\x00h\x00\x94RQb\x81\x92oc\n".to_vec()),
        0..200,
    )) {
        if let Ok(document) = load(&opcodes) {
            for (_, node) in document.nodes() {
                let _ = format!("{node:?}");
            }
        }
    }
}
