//! A snapshot says what was true, whoever wrote it.

use plimsoll::ByteSize;
use plimsoll::diagnose::snapshot::{Options, Snapshot};
use proptest::prelude::*;

use crate::simulation::{Allocator, Step, Truth, stacks};
use crate::writer::{DIALECTS, Dialect, Object, dict, list, pickle, text};

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..6_000_000, 0usize..6).prop_map(|(size, stack)| Step::Alloc(size, stack)),
        5 => (0usize..64).prop_map(Step::Free),
        1 => (0usize..64).prop_map(Step::FreeWhileUsed),
        1 => Just(Step::Synchronise),
        1 => (1u64..9_000_000, 0usize..6).prop_map(|(size, stack)| Step::Oom(size, stack)),
        1 => Just(Step::EmptyCache),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn every_dialect_tells_the_truth(
        steps in prop::collection::vec(step(), 1..120),
        cut in 0.0..1.0f64,
        all_contexts: bool,
        high_addresses: bool,
        dialect in prop::sample::select(&DIALECTS[..]),
    ) {
        let base = if high_addresses { 0xffff_8000_0000_0000 } else { 0x7f00_0000_0000 };
        // torch's Pickler has no unsigned integers: its addresses wrap.
        let base = if matches!(dialect, Dialect::Torch { .. }) { base & (u64::MAX >> 1) } else { base };
        let mut allocator = Allocator::new(base, stacks(6, 5), all_contexts);
        for step in steps {
            allocator.run(step);
        }
        prop_assume!(allocator.entries() > 0);
        let kept = 1 + ((allocator.entries() - 1) as f64 * cut) as usize;
        let bytes = pickle(&allocator.snapshot(kept), dialect);
        let options = Options { top: 100, ..Options::default() };
        let mut snapshot = Snapshot::read("simulated", &bytes[..], options).unwrap();
        let findings = snapshot.findings().unwrap();
        prop_assert_eq!(findings.broken.count, 0, "{:?}", findings.broken.first);

        let first = allocator.entries() - kept;
        let truths = &allocator.truths[first..];
        // The state before the first kept entry counts too.
        let before = first.checked_sub(1).map(|at| &allocator.truths[at]);
        let most = truths.iter().chain(before).map(|truth| truth.allocated).max().unwrap();
        prop_assert_eq!(findings.devices.len(), 1);
        let device = &findings.devices[0];
        let trace = device.trace.as_ref().unwrap();
        prop_assert_eq!(trace.entries, kept as u64);
        prop_assert_eq!(trace.peak.point.allocated.bytes(), most);
        let truth_at = |entry: Option<u64>| match entry {
            Some(entry) => truths[entry as usize].clone(),
            None => before.cloned().unwrap_or(Truth { allocated: 0, pending: 0, reserved: 0, stacks: Default::default() }),
        };
        let reserved = truths.iter().chain(before).map(|truth| truth.reserved).max().unwrap();
        prop_assert_eq!(trace.peak_reserved.reserved.bytes(), reserved);
        let kept_ooms: Vec<usize> = allocator.ooms.iter().filter(|&&at| at >= first).map(|&at| at - first).collect();
        prop_assert_eq!(trace.oom_count, kept_ooms.len() as u64);
        let expected = &kept_ooms[kept_ooms.len().saturating_sub(8)..];
        prop_assert_eq!(trace.ooms.iter().map(|oom| oom.moment.point.entry.unwrap() as usize).collect::<Vec<_>>(), expected);
        for moment in trace.ooms.iter().map(|oom| &oom.moment).chain([&trace.peak]) {
            let truth = truth_at(moment.point.entry);
            prop_assert_eq!(moment.point.allocated.bytes(), truth.allocated);
            prop_assert_eq!(moment.point.pending_free.bytes(), truth.pending);
            prop_assert_eq!(moment.point.reserved.bytes(), truth.reserved);
            let bytes: u64 = moment.culprits.iter().map(|culprit| culprit.bytes.bytes()).sum();
            prop_assert_eq!(bytes, truth.allocated);
            prop_assert_eq!(moment.bands.iter().map(|band| band.bytes.bytes()).sum::<u64>(), truth.allocated);
            // With the stacks of frees in the file, that of memory older than the trace is not known.
            if !all_contexts || kept == allocator.entries() {
                for (stack, (bytes, count)) in &truth.stacks {
                    let name = format!("layer{stack}");
                    let culprit = moment.culprits.iter().find(|culprit| culprit.stack[0].function == name).unwrap();
                    prop_assert_eq!((culprit.bytes.bytes(), culprit.count), (*bytes, *count));
                    prop_assert_eq!(culprit.stack.len(), 6);
                }
            }
        }
        let last = truths.last().unwrap();
        let state = device.state;
        prop_assert_eq!(state.reserved.bytes(), last.reserved);
        prop_assert_eq!(state.requested.bytes(), last.allocated + last.pending);
        prop_assert_eq!(state.allocated + state.pending_free + state.free, state.reserved);
        prop_assert_eq!(device.live.iter().map(|culprit| culprit.bytes.bytes()).sum::<u64>(), last.allocated);

        // The timeline shows the same peak, and its series add up to the allocated bytes.
        let timeline = snapshot.timeline(0, 17).unwrap().unwrap();
        let shown = timeline.allocated.iter().map(|bytes| bytes.bytes()).max().unwrap();
        prop_assert_eq!(shown, truths.iter().map(|truth| truth.allocated).max().unwrap());
        for kind in [&timeline.stacks, &timeline.categories] {
            for (at, allocated) in timeline.allocated.iter().enumerate() {
                prop_assert_eq!(kind.iter().map(|series| series.bytes[at]).sum::<ByteSize>(), *allocated);
            }
        }
        let flame = snapshot.flame_graph(0).unwrap().unwrap();
        prop_assert_eq!(flame.bytes.bytes(), most);
    }
}

#[test]
fn settings_are_decoded() {
    let allocator = Allocator::new(0, stacks(1, 0), false);
    for dialect in DIALECTS {
        let bytes = pickle(&allocator.snapshot(0), dialect);
        let findings = Snapshot::read("settings", &bytes[..], Options::default()).unwrap().findings().unwrap();
        let settings = findings.settings.unwrap();
        assert_eq!(settings.conf.as_deref(), Some("expandable_segments:False"), "{dialect:?}");
        assert_eq!(settings.max_split_size, None);
        assert_eq!(settings.garbage_collection_threshold, Some(0.5));
        assert_eq!(settings.expandable_segments, Some(false));
        assert_eq!(settings.roundup_power2_divisions.into_iter().collect::<Vec<_>>(), [("2".to_owned(), 4)]);
        assert_eq!(findings.annotations, 1);
    }
}

/// torch 1.x to 2.0: a bare list of segments, blocks without an address, frames in a history.
#[test]
fn the_list_of_old_versions_is_read() {
    let frames = stacks(1, 2).remove(0);
    let history = |size: u64| {
        list(vec![dict([("addr", 4096u64.into()), ("real_size", size.into()), ("frames", frames.clone())])])
    };
    let segments = list(vec![dict([
        ("device", 1u64.into()),
        ("address", 4096u64.into()),
        ("total_size", 2_097_152u64.into()),
        ("allocated_size", 1024u64.into()),
        ("active_size", 1024u64.into()),
        ("stream", 0u64.into()),
        ("segment_type", text("small")),
        (
            "blocks",
            list(vec![
                dict([("size", 512u64.into()), ("state", text("active_allocated")), ("history", history(400))]),
                dict([("size", 512u64.into()), ("state", text("active_allocated")), ("history", history(500))]),
                dict([("size", 2_096_128u64.into()), ("state", text("inactive"))]),
            ]),
        ),
    ])]);
    for dialect in DIALECTS {
        let bytes = pickle(&segments, dialect);
        let findings = Snapshot::read("old", &bytes[..], Options::default()).unwrap().findings().unwrap();
        assert_eq!(findings.broken.count, 0, "{:?}", findings.broken);
        let device = &findings.devices[0];
        assert_eq!((device.device, device.state.requested.bytes(), device.state.rounding.bytes()), (1, 900, 124));
        assert_eq!((device.live[0].bytes.bytes(), device.live[0].count, device.live[0].stack.len()), (900, 2, 3));
        assert_eq!(device.trace, None);
        assert_eq!(device.groups[0].large, Some(false));
    }
}

/// `_profile_to_snapshot`: categories on allocations, segments without an address.
#[test]
fn the_profilers_categories_come_first() {
    let alloc = |address: u64, category: &str| {
        dict([
            ("action", text("alloc")),
            ("addr", address.into()),
            ("size", 512u64.into()),
            ("stream", 0u64.into()),
            ("frames", list(vec![])),
            ("category", text(category)),
        ])
    };
    let free = |action: &str| {
        dict([("action", text(action)), ("addr", 4096u64.into()), ("size", 512u64.into()), ("stream", 0u64.into())])
    };
    let block = dict([
        ("size", 512u64.into()),
        ("state", text("active_allocated")),
        ("requested_size", 512u64.into()),
        ("frames", list(vec![])),
    ]);
    let snapshot = dict([
        (
            "device_traces",
            list(vec![list(vec![
                alloc(4096, "activation"),
                alloc(8192, "parameter"),
                free("free_requested"),
                free("free_completed"),
            ])]),
        ),
        (
            "segments",
            list(vec![
                dict([
                    ("device", 0u64.into()),
                    ("address", 8192u64.into()),
                    ("total_size", 512u64.into()),
                    ("stream", 0u64.into()),
                    ("blocks", list(vec![block])),
                ]),
                dict([
                    ("device", 1u64.into()),
                    ("address", Object::None),
                    ("total_size", 0u64.into()),
                    ("stream", 0u64.into()),
                    ("blocks", list(vec![])),
                ]),
            ]),
        ),
    ]);
    let bytes = pickle(&snapshot, Dialect::Python(4));
    let findings = Snapshot::read("profile", &bytes[..], Options::default()).unwrap().findings().unwrap();
    let bands = &findings.devices[0].trace.as_ref().unwrap().peak.bands;
    let found: Vec<_> = bands.iter().map(|band| (band.category.name(), band.bytes.bytes(), band.source)).collect();
    use plimsoll::diagnose::snapshot::CategorySource::Profiler;
    assert_eq!(found, [("parameters", 512, Profiler), ("activations", 512, Profiler)]);
    assert_eq!(findings.devices[0].bands[0].category.name(), "parameters");
}
