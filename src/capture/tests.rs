//! Entries and folders: how they are bound, and which errors refuse them.

use std::fs;
use std::path::Path;

use super::error::{
    ArchiveError, CaptureError, CaptureErrorKind, ConvertError, EntryError, FolderError, RebuildError, SourceError,
};
use super::testing::{TestPickle, assert_proportional, file, processor_time, torch_records, zip};
use super::*;

/// An entry file around the pickled `args`, `kwargs` and `signature`, with a storage of 16 bytes.
fn entry_bytes(fields: TestPickle) -> Vec<u8> {
    let start = TestPickle::new().op(b"}(").text("function_name").text("f").text("output").op(b"N");
    let pickle = start.op(&fields.0[2..]).op(b"u").stop();
    zip(&torch_records(&pickle, &[&[0; 16]]), b"")
}

fn open(fields: TestPickle) -> Result<Entry, CaptureError> {
    let (_dir, path) = file(&entry_bytes(fields));
    Entry::open(&path)
}

fn args(pickle: TestPickle) -> TestPickle {
    TestPickle::new().text("kwargs").op(b"}").text("args").op(b"(").op(&pickle.0[2..]).op(b"t")
}

/// An entry called with `positional` integers and named ones, with or without a signature.
fn call(positional: i32, named: &[&str], params: Option<&[&str]>, defaults: &[&str]) -> Entry {
    let dict = |pickle: TestPickle, names: &[&str]| {
        names.iter().fold(pickle.op(b"}("), |p, name| p.text(name).int(i32::from(name.as_bytes()[0]))).op(b"u")
    };
    let pickle = TestPickle::new().text("args").ints(&(0..positional).collect::<Vec<_>>());
    let mut pickle = dict(pickle.text("kwargs"), named);
    if let Some(params) = params {
        pickle = pickle.text("signature").op(b"}(").text("params").op(b"](");
        pickle = params.iter().fold(pickle, |p, name| p.text(name)).op(b"e").text("defaults");
        pickle = dict(pickle, defaults).op(b"u");
    }
    open(pickle).unwrap()
}

fn bind(entry: &Entry) -> Result<Bound, EntryError> {
    entry.bind(&ParameterOrder::of([entry])).map_err(|error| match error.kind {
        CaptureErrorKind::Entry(error) => error,
        other => panic!("{other}"),
    })
}

#[test]
fn parameters_take_positions_then_keywords_then_defaults_and_stop_at_the_first_without() {
    let bound = bind(&call(1, &["c"], Some(&["a", "b", "c", "d", "e"]), &["b", "c"])).unwrap();
    assert_eq!(bound.params, ["a", "b", "c"]);
    assert_eq!(bound.args, [Argument::Int(0), Argument::Int(98), Argument::Int(99)]);
    assert_eq!(bound.leftover, [""; 0]);
}

#[test]
fn positional_arguments_beyond_the_order_are_kept_and_unknown_keywords_reported() {
    let bound = bind(&call(3, &["x"], Some(&["a"]), &[])).unwrap();
    assert_eq!(bound.params, ["a", "arg1", "arg2"]);
    assert_eq!(bound.leftover, ["x"]);
}

#[test]
fn a_gap_before_a_value_and_a_value_given_twice_are_refused() {
    let gap = EntryError::Gap { missing: "b".to_owned(), later: "c".to_owned() };
    assert_eq!(bind(&call(1, &["c"], Some(&["a", "b", "c"]), &[])), Err(gap));
    let twice = EntryError::BoundTwice { param: "a".to_owned() };
    assert_eq!(bind(&call(1, &["a"], Some(&["a", "b"]), &[])), Err(twice));
}

#[test]
fn by_name_a_gap_is_none_and_unknown_keywords_come_last() {
    let by_name = |entry: Entry| entry.bind_by_name(&ParameterOrder::of([&entry])).unwrap().params;
    assert_eq!(by_name(call(1, &["c"], Some(&["a", "b", "c"]), &[])), ["a", "c"]);
    assert_eq!(by_name(call(1, &["x", "d"], Some(&["a", "b", "c", "d"]), &["c"])), ["a", "d", "x"]);
    assert_eq!(by_name(call(1, &[], Some(&["a", "b"]), &["b"])), ["a", "b"]);
}

#[test]
fn by_name_a_position_has_no_name_where_no_signature_says_it() {
    let entries = [call(2, &["c"], None, &[]), call(4, &[], None, &[]), call(3, &["c"], None, &[])];
    let order = ParameterOrder::of(&entries);
    let by_name = |entry: &Entry| entry.bind_by_name(&order).unwrap().params;
    assert_eq!(entries.each_ref().map(by_name).concat().join(" "), "arg0 arg1 c arg0 arg1 arg2 arg3 arg0 arg1 arg2 c");
}

#[test]
fn without_a_signature_the_order_is_the_first_entry_s_positions_and_then_all_keywords() {
    let entries = [call(2, &["x"], None, &[]), call(2, &["y", "x"], None, &[])];
    let order = ParameterOrder::of(&entries);
    assert_eq!(order.params(), ["arg0", "arg1", "x", "y"]);
    let later = [call(1, &[], Some(&["q"]), &[])];
    let order = ParameterOrder::of(entries.iter().chain(&later));
    assert_eq!((order.params(), order.source()), (&["q".to_owned()][..], OrderSource::Signature));
}

#[test]
fn what_is_no_entry_is_refused_by_name() {
    let empty = || TestPickle::new().text("args").op(b")").text("kwargs").op(b"}");
    let refused = |pickle: TestPickle| open(pickle).expect_err("it is not an entry").to_string();
    assert!(refused(TestPickle::new().text("args").op(b")")).contains("the key \"kwargs\" is missing"));
    assert!(refused(empty().text("args").op(b")")).contains("the key \"args\" appears twice"));
    assert!(refused(TestPickle::new().text("args").op(b"N").text("kwargs").op(b"}")).contains("args should be a list"));
    let params = |p: TestPickle| p.text("signature").op(b"}").text("params").op(b"](").text("a").text("a").op(b"es");
    assert!(refused(params(empty())).contains("the parameter \"a\" appears twice"));
    assert!(refused(empty().text("signature").op(b"}")).contains("signature.params"));
    assert!(open(empty().text("signature").op(b"N")).unwrap().signature().is_none());

    let (_dir, path) = file(&zip(&torch_records(b"\x80\x02]."[..].as_ref(), &[]), b""));
    assert!(Entry::open(&path).unwrap_err().to_string().contains("the file holds a list"));
    let (_dir, path) = file(b"neither zip nor pickle");
    assert!(Entry::open(&path).unwrap_err().to_string().contains("not a file that torch.save wrote"));
}

#[test]
fn tensors_that_lie_wrong_are_refused_where_they_are_made() {
    let refused = |pickle: TestPickle| {
        let error = open(args(pickle)).expect_err("the tensor is malformed");
        assert_eq!(error.record.as_deref(), Some("data.pkl"), "{error}");
        assert!(error.offset.is_some(), "{error}");
        match error.kind {
            CaptureErrorKind::Rebuild(error) => error,
            other => panic!("{other}"),
        }
    };
    let tensor =
        |numel, offset, shape: &[i32], strides: &[i32]| TestPickle::new().tensor("0", numel, offset, shape, strides);
    open(args(tensor(4, 0, &[2, 2], &[2, 1]))).unwrap();
    open(args(tensor(4, 1000, &[0, 2], &[2, 1]))).unwrap();
    open(args(tensor(4, 3, &[1, 1], &[1_000_000, 7]))).unwrap();
    open(args(tensor(4, 3, &[1_000_000, 1_000_000], &[0, 0]))).unwrap();
    for (tensor, what) in [
        (tensor(4, 0, &[5], &[1]), "outside"),
        (tensor(4, 4, &[1], &[1]), "outside"),
        (tensor(4, 0, &[2, 2], &[3, 1]), "outside"),
        (tensor(4, 0, &[2], &[i32::MAX]), "outside"),
        (tensor(4, -1, &[1], &[1]), "negative"),
        (tensor(4, 0, &[-1], &[1]), "negative"),
        (tensor(4, 0, &[2], &[-1]), "negative"),
        (tensor(4, 0, &[i32::MAX; 3], &[0; 3]), "overflow"),
        (tensor(5, 0, &[1], &[1]), "short"),
        (tensor(4, 0, &[1], &[1, 1]), "argument"),
    ] {
        let error = refused(tensor);
        let matched = match what {
            "outside" => matches!(error, RebuildError::Outside(_)),
            "negative" => matches!(error, RebuildError::Negative(_)),
            "overflow" => matches!(error, RebuildError::Overflow(_)),
            "short" => matches!(error, RebuildError::StorageShort { announced: 20, bytes: 16, .. }),
            _ => matches!(error, RebuildError::Argument { .. }),
        };
        assert!(matched, "{what}: {error}");
    }
    let missing = open(args(TestPickle::new().tensor("7", 1, 0, &[1], &[1]))).unwrap_err();
    assert_eq!(missing.record.as_deref(), Some("data/7"), "{missing}");
}

#[test]
fn calls_that_have_no_end_are_refused() {
    let convert = |pickle: TestPickle| match open(args(pickle)).expect_err("it has no end").kind {
        CaptureErrorKind::Convert(error) => error,
        other => panic!("{other}"),
    };
    assert_eq!(convert(TestPickle::new().op(b"]q\x00h\x00a")), ConvertError::Cycle);
    let deep = TestPickle::new().op(&[b']'; 5000]).op(&[b'a'; 4999]);
    assert_eq!(convert(deep), ConvertError::TooDeep);
    // Each list holds the previous one twice: 2^40 values in 300 bytes.
    let laughs = (0..40).fold(TestPickle::new().op(b"]"), |p, _| p.op(b"q\x000](h\x00h\x00e"));
    assert_eq!(convert(laughs), ConvertError::TooMany);
    // Tensors are copied, recorded and compared, so a call may have fewer of them than of numbers.
    let many = |value: TestPickle, count: usize| value.op(&b"2".repeat(count - 1)).op(b"e");
    let list = || TestPickle::new().op(b"](");
    assert_eq!(convert(many(list().tensor("0", 2, 0, &[1], &[1]), 40_000)), ConvertError::TooMany);
    assert_eq!(convert(many(list().op(b"K\x01\x85"), 110_000)), ConvertError::TooMany);
    open(args(many(list().op(b"K\x01"), 500_000))).unwrap();
}

#[test]
fn what_torch_never_writes_is_refused_with_its_reason() {
    let item = open(args(TestPickle::new().tensor("0", 2, 0, &[1], &[1]).op(b"K\0K\x01s"))).unwrap_err();
    assert!(matches!(item.kind, CaptureErrorKind::Rebuild(RebuildError::Items)), "{item}");
}

#[test]
fn nested_values_up_to_the_limit_can_be_copied_compared_and_printed_on_a_small_stack() {
    let deep = TestPickle::new().op(&[b']'; 120]).op(&[b'a'; 119]);
    let entry = open(args(deep)).unwrap();
    let on_a_small_stack = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let copy = entry.clone();
        assert_eq!(copy.args(), entry.args());
        assert_eq!(format!("{}", entry.args()[0]).len(), 2 * 120);
        assert_eq!(bind(&entry).unwrap().args.len(), 1);
    });
    on_a_small_stack.unwrap().join().unwrap();
}

#[test]
fn reading_takes_time_in_proportion_to_the_number_of_tuples() {
    let read = |tuples: u32| {
        let pickle = (0..tuples).fold(TestPickle::new().op(b"]("), |p, i| {
            p.op(b"J").op(&i.to_le_bytes()).op(b"K\x07\x86r").op(&i.to_le_bytes())
        });
        let (_dir, path) = file(&zip(&torch_records(&pickle.op(b"e").stop(), &[]), b""));
        processor_time(|| {
            let mut values = 0;
            TorchFile::open(&path).unwrap().walk(&mut |_| values += 1);
            assert_eq!(values, 1 + tuples * 3);
        })
    };
    assert_proportional(16, || read(20_000), || read(320_000));
}

fn write_entry(folder: &Path, name: &str, function: &str) {
    let pickle = TestPickle::new().op(b"}(").text("function_name").text(function).text("output").op(b"N");
    let pickle = pickle.text("args").ints(&[1, 2]).text("kwargs").op(b"}u").stop();
    fs::write(folder.join(name), zip(&torch_records(&pickle, &[]), b"")).unwrap();
}

#[test]
fn a_folder_gives_its_entries_in_byte_order_and_names_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["entry_10.pt", "entry_2.pt", "entry_1.pt"] {
        write_entry(dir.path(), name, "f");
    }
    for name in ["notes.txt", "entry_3.pt.part", "other_1.pt"] {
        fs::write(dir.path().join(name), "x").unwrap();
    }
    fs::create_dir(dir.path().join("entry_9.pt")).unwrap();
    let capture = Capture::open(dir.path()).unwrap();
    assert_eq!(capture.names(), ["entry_1.pt", "entry_10.pt", "entry_2.pt"]);
    assert_eq!(capture.others(), ["entry_3.pt.part", "entry_9.pt", "notes.txt", "other_1.pt"]);
    assert_eq!(capture.order().params(), ["arg0", "arg1"]);
    let opened: Vec<_> = capture.entries().map(|entry| entry.unwrap().name().to_owned()).collect();
    assert_eq!(opened, capture.names());

    let one = Capture::open(&dir.path().join("entry_2.pt")).unwrap();
    assert_eq!((one.len(), one.names()), (1, &["entry_2.pt".to_owned()][..]));
}

#[test]
fn folders_that_are_no_capture_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let kind = |path: &Path| Capture::open(path).unwrap_err();
    fs::write(dir.path().join("notes.txt"), "x").unwrap();
    let empty = kind(dir.path());
    assert!(matches!(empty.kind, CaptureErrorKind::Folder(FolderError::Empty { others: 1 })), "{empty}");
    let missing = kind(&dir.path().join("none"));
    assert!(matches!(missing.kind, CaptureErrorKind::Source(SourceError::NotFound)), "{missing}");
    write_entry(dir.path(), "entry_0.pt", "f");
    write_entry(dir.path(), "entry_1.pt", "g");
    let two = kind(dir.path()).to_string();
    assert!(two.contains("entry_1.pt: the entry calls \"g\", but \"entry_0.pt\" calls \"f\""), "{two}");
    fs::write(dir.path().join("entry_1.pt"), "PK\x03\x04 cut").unwrap();
    assert!(kind(dir.path()).to_string().contains("entry_1.pt"));
}

#[test]
fn an_entry_that_is_cut_or_replaced_after_it_was_opened_ends_in_an_error() {
    let bytes = entry_bytes(args(TestPickle::new().tensor("0", 4, 0, &[4], &[1])));
    let (_dir, path) = file(&bytes);
    let entry = Entry::open(&path).unwrap();
    let mapped = entry.map().unwrap();
    assert_eq!(mapped.storage(0).unwrap(), [0; 16]);
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(10).unwrap();
    let _ = mapped.storage(0).unwrap().iter().map(|&b| u64::from(b)).sum::<u64>();
    assert!(matches!(mapped.intact().unwrap_err().kind, CaptureErrorKind::Source(_)));
    for error in [entry.map().unwrap_err(), entry.identity(Digest::Full).unwrap_err()] {
        assert!(matches!(error.kind, CaptureErrorKind::Source(SourceError::Changed)), "{error}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(entry.map().unwrap_err().kind, CaptureErrorKind::Source(SourceError::NotFound)));
}

#[test]
fn an_open_entry_is_that_of_its_path_when_it_is_mapped_and_keeps_what_was_read() {
    let bytes = entry_bytes(args(TestPickle::new().tensor("0", 4, 0, &[4], &[1])));
    let changes: [fn(&Path, &[u8]); 3] = [
        |path, bytes| fs::write(path, &bytes[..bytes.len() - 1]).unwrap(),
        |path, bytes| {
            fs::write(path.with_extension("new"), bytes).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
        |path, _| fs::remove_file(path).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let (_dir, path) = file(&bytes);
        let entry = OpenEntry::open(&path).unwrap();
        let mapped = entry.map().unwrap();
        assert_eq!(mapped.storage(0).unwrap(), [0; 16]);
        change(&path, &bytes);
        let error = entry.map().unwrap_err();
        let gone = matches!(error.kind, CaptureErrorKind::Source(SourceError::NotFound));
        let changed = matches!(error.kind, CaptureErrorKind::Source(SourceError::Changed));
        assert!(if number == 2 { gone } else { changed }, "{number}: {error}");
        assert_eq!(mapped.storage(0).unwrap(), [0; 16]);
        assert!(mapped.intact().is_err(), "{number}");
    }
}

#[test]
fn damaged_bytes_are_found_where_they_are_read_whole() {
    let mut records = torch_records(&TestPickle::new().op(b"N").stop(), &[]);
    records[0].crc ^= 1;
    let (_dir, path) = file(&zip(&records, b""));
    let error = TorchFile::open(&path).unwrap_err();
    assert!(matches!(error.kind, CaptureErrorKind::Archive(ArchiveError::Crc { .. })), "{error}");
    assert_eq!(error.record.as_deref(), Some("data.pkl"));
}
