//! The meter against programs of known behaviour: the readings must match their usage, and the labels be honest.

mod cgroup;
mod mappings;
mod possible;
mod program;
mod support;
mod swap;

use std::time::Duration;

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::ceiling::{CeilingStatus, judge};
use plimsoll::meter::{
    MemorySplit, Meter, MeterOptions, Metric, PhaseReadings, ProcessId, ProcessMemory, Release, Source, SystemMemory,
    Watch, process_tree,
};
use program::Program;
use support::{IN_PROC, MARGIN, assert_close, assert_includes, base, bytes, close, comes, of, pss, resident};

#[test]
fn memory_of_each_kind_is_told_apart() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(2));
    let before = ProcessMemory::read(program.pid()).unwrap();
    let (mut truth, anonymous) = resident(program.pid());
    let mut held = truth;
    for (step, mib) in [("allocate 96", 96), ("shmem 64", 64), ("file 48", 48)] {
        meter.phase(step);
        program.order(step);
        held += mib * MIB;
        assert!(comes(|| pss(&meter) + 8 * MIB > held), "{step}: {:?}", meter.so_far());
    }
    let phases = meter.finish();
    let [anon, shmem, file] = &phases[..] else { panic!("{phases:?}") };
    assert_close("anonymous", bytes(anon, Metric::PeakAnon), anonymous + 96 * MIB);
    assert_close("shared", bytes(shmem, Metric::PeakShmem), base(before.shmem) + 64 * MIB);
    let mapped = truth - anonymous - base(before.shmem);
    assert_close("file-backed", bytes(file, Metric::PeakFile), mapped + 48 * MIB);
    assert!(
        matches!(anon.readings[&Metric::PeakAnon].source, Source::Sampled { interval_ns } if interval_ns >= 2_000_000)
    );
    for (phase, mib) in [(anon, 96), (shmem, 64), (file, 48)] {
        truth += mib * MIB;
        let peak = &phase.readings[&Metric::PeakRss];
        assert_includes(&phase.phase, peak, truth);
        assert_eq!((peak.source, peak.counter.as_str()), (Source::Exact, "VmHWM"));
        // A single process shares its memory only with other tests.
        let pss = bytes(phase, Metric::PeakPss);
        assert!(pss <= peak.bytes && pss.bytes() + 8 * MIB > truth, "{pss} of {}", peak.bytes);
        assert_eq!(bytes(phase, Metric::PeakSwap), ByteSize::ZERO);
        assert!(bytes(phase, Metric::AvailableFloor) < SystemMemory::read().unwrap().total);
        assert!(phase.readings.contains_key(&Metric::SwapGrowth));
        assert!(phase.unavailable.keys().all(|metric| !IN_PROC.contains(metric)), "{:?}", phase.unavailable);
        assert!(phase.timeline.len() >= 2 && phase.timeline.is_sorted_by_key(|point| point.at_ns));
        assert!(phase.timeline.iter().any(|point| close(point.rss, truth)));
    }
}

#[test]
fn growth_and_what_stays_are_counted_from_the_start() {
    let mut program = Program::start();
    program.order("allocate 40");
    let meter = program.meter(Duration::from_secs(60));
    for step in ["spike 64", "allocate 24"] {
        meter.phase(step);
        program.order(step);
    }
    let phases = meter.finish();
    let [spike, kept] = &phases[..] else { panic!("{phases:?}") };
    let growth = &spike.readings[&Metric::PeakRssGrowth];
    assert_includes("growth", growth, 64 * MIB);
    assert_eq!(growth.source, Source::Exact);
    assert_close("nothing stays", bytes(spike, Metric::RetainedRss), 0);
    for metric in [Metric::RetainedRss, Metric::RetainedAnon, Metric::PeakAnonGrowth] {
        assert_close("stays", bytes(kept, metric), 24 * MIB);
    }
    assert_eq!(kept.readings[&Metric::RetainedAnon].source, Source::Exact);
    let rss = |split: Option<MemorySplit>| split.unwrap().rss;
    assert_close("at the end", rss(kept.at_end), rss(spike.at_start).bytes() + 24 * MIB);
    // Pages are touched one by one, or two MiB at a time if the system uses huge pages.
    let faults = [spike, kept].map(|phase| phase.activity.minor_faults.unwrap());
    assert!((32..=64 * 256 + 400).contains(&faults[0]) && faults[1] >= 12, "{faults:?}");
    assert!(spike.activity.oom_kills.is_some() && spike.activity.cpu_system_ns.is_some());
}

#[test]
fn a_spike_between_two_samples_is_in_the_exact_peak_and_in_no_other() {
    let mut program = Program::start();
    let before = resident(program.pid());
    let meter = program.meter(Duration::from_secs(60));
    meter.phase("spike");
    program.order("spike 64");
    meter.phase("quiet");
    program.order("nothing");
    let phases = meter.finish();
    let [spike, quiet] = &phases[..] else { panic!("{phases:?}") };
    assert_includes("peak", &spike.readings[&Metric::PeakRss], before.0 + 64 * MIB);
    assert_eq!(spike.readings[&Metric::PeakRss].source, Source::Exact);
    assert_close("sampled", bytes(spike, Metric::PeakAnon), before.1);
    // The mark of another process still includes the previous phase's spike, which must not count for this one.
    assert_close("quiet", bytes(quiet, Metric::PeakRss), before.0);
    assert_eq!(quiet.readings[&Metric::PeakRss].source, Source::Sampled { interval_ns: 60_000_000_000 });
}

#[test]
fn the_own_peak_is_exact_in_every_phase() {
    let mut program = Program::start();
    // The first run maps the meter's own code.
    program.order("meter 1");
    let (before, _) = resident(program.pid());
    let phases: Vec<PhaseReadings> = serde_json::from_str(&program.order("meter 1")).unwrap();
    for (phase, mib) in phases.iter().zip([64, 0]) {
        let peak = &phase.readings[&Metric::PeakRss];
        assert_includes(&phase.phase, peak, before + mib * MIB);
        assert_eq!(peak.source, Source::Exact, "{}", phase.phase);
    }
}

#[test]
fn a_mark_that_another_meter_has_reset_is_not_called_exact() {
    let mut program = Program::start();
    let phases: Vec<PhaseReadings> = serde_json::from_str(&program.order("meter 2")).unwrap();
    let source = |phase: &PhaseReadings| of(phase, program.pid()).peak_rss.source;
    assert_eq!((source(&phases[0]), source(&phases[1])), (Source::Exact, Source::LowerBound));
}

#[test]
fn a_child_that_has_not_yet_executed_its_program_is_not_counted_as_its_parent() {
    let mut program = Program::start();
    program.order("allocate 200");
    let truth = ProcessMemory::read(program.pid()).unwrap().rss;
    let meter = program.meter(Duration::from_micros(100));
    meter.phase("spawn");
    program.order("run 300");
    let peak = bytes(&meter.finish()[0], Metric::PeakRss);
    assert!(peak < truth + ByteSize::mib(20), "{peak}, and the parent alone is {truth}");
}

#[test]
fn a_child_of_a_large_parent_is_not_taken_for_large() {
    let mut program = Program::start();
    program.order("allocate 200");
    let meter = program.meter(Duration::from_millis(1));
    meter.phase("spawn");
    let (pid, maxrss) = program.child(8);
    let (truth, _) = resident(pid);
    let (parent, _) = resident(program.pid());
    let phase = meter.finish().remove(0);
    let child = of(&phase, pid);
    assert_includes("child", &child.peak_rss, truth);
    assert_eq!(child.peak_rss.source, Source::Exact);
    assert!(child.peak_rss.bytes < ByteSize::mib(40), "{child:?}");
    assert!(maxrss > ByteSize::mib(200), "the fact that this test stands on: ru_maxrss is inherited; it is {maxrss}");
    assert_close("tree", bytes(&phase, Metric::PeakRss), parent + truth);
}

#[test]
fn a_tree_is_summed_at_one_instant() {
    let mut program = Program::start();
    program.order("threads 20");
    let meter = program.meter(Duration::from_millis(5));
    meter.phase("tree");
    let pids: Vec<u32> = [32, 48].map(|mib| program.child(mib).0).into();
    meter.name_process(pids[0], "worker 1");
    let truth: u64 = pids.iter().chain([&program.pid()]).map(|&pid| resident(pid).0).sum();
    let tree: Vec<u32> = process_tree(program.pid()).unwrap().iter().map(|id| id.pid).collect();
    assert_eq!(tree[0], program.pid());
    assert!(tree.len() == 3 && pids.iter().all(|pid| tree.contains(pid)), "{tree:?}");
    let phase = meter.finish().remove(0);
    assert_close("tree", bytes(&phase, Metric::PeakRss), truth);
    assert!(matches!(phase.readings[&Metric::PeakRss].source, Source::Sampled { .. }));
    assert_eq!(of(&phase, pids[0]).name, "worker 1");
    assert_eq!(phase.processes[0].pid, pids[1], "the largest is first");
    assert!(bytes(&phase, Metric::PeakPss) < bytes(&phase, Metric::PeakRss));
}

#[test]
fn a_process_that_ends_is_exact_only_where_it_was_observed() {
    for observed in [true, false] {
        let mut program = Program::start();
        let pid = program.pid();
        let meter =
            Meter::start_with(MeterOptions { sample_interval: Duration::from_millis(2), ..MeterOptions::default() })
                .unwrap();
        meter.phase("worker");
        program.order("allocate 40");
        program.order("spike 40");
        let truth = ProcessMemory::read(pid).unwrap().peak_rss.unwrap();
        if observed {
            meter.observe_exit(pid);
        }
        drop(program);
        std::thread::sleep(Duration::from_millis(50));
        let phase = meter.finish().remove(0);
        let worker = &of(&phase, pid).peak_rss;
        if observed {
            assert_close("worker", worker.bytes, truth.bytes());
            assert_eq!(worker.source, Source::Exact);
        } else {
            assert!(worker.bytes <= truth + ByteSize::new(MARGIN), "{worker:?}, and is {truth}");
            assert_ne!(worker.source, Source::Exact);
        }
    }
}

#[test]
fn a_forked_child_shares_what_it_does_not_write() {
    let mut program = Program::start();
    program.order("allocate 64");
    let meter = program.meter(Duration::from_millis(5));
    meter.phase("fork");
    program.order("fork 16");
    // A fork counts after it has lived for a while.
    let counted = || {
        let resident = meter.so_far()[0].readings.get(&Metric::PeakRss).map(|peak| peak.bytes);
        resident >= Some(ByteSize::mib(128)) && pss(&meter) >= 80 * MIB
    };
    assert!(comes(counted), "the fork is not counted: {:?}", meter.so_far());
    let phase = meter.finish().remove(0);
    // Both hold the 64 MiB, but only the 16 that the child wrote exist twice.
    let (rss, pss) = (bytes(&phase, Metric::PeakRss).bytes(), bytes(&phase, Metric::PeakPss).bytes());
    assert!((128 * MIB..152 * MIB).contains(&rss), "{}", ByteSize::new(rss));
    assert!((80 * MIB..92 * MIB).contains(&pss), "{}", ByteSize::new(pss));
}

#[test]
fn a_spike_of_some_milliseconds_is_exact_where_the_kernel_marks_it_and_sampled_elsewhere() {
    let mut program = Program::start();
    let before = resident(program.pid());
    let meter = program.meter(Duration::from_millis(10));
    meter.phase("spike");
    program.order("short 64");
    let phase = meter.finish().remove(0);
    let peak = &phase.readings[&Metric::PeakRss];
    assert_includes("resident", peak, before.0 + 64 * MIB);
    assert_eq!(peak.source, Source::Exact);
    // The kernel keeps no mark of anonymous memory: whatever was seen of the spike, it is not reported as exact.
    let anon = &phase.readings[&Metric::PeakAnon];
    assert!(anon.bytes.bytes() <= before.1 + 64 * MIB + MARGIN, "{anon:?}");
    assert!(matches!(anon.source, Source::Sampled { interval_ns } if interval_ns >= 10_000_000), "{anon:?}");
}

#[test]
fn what_the_kernel_had_not_counted_of_a_peak_is_said() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(5));
    meter.phase("spread");
    // Each processor that a thread ran on may hold back some pages of it, and the mark is taken when memory is given back.
    let resident = program.order("spread 16 1").parse().unwrap();
    let phase = meter.finish().remove(0);
    let peak = &phase.readings[&Metric::PeakRss];
    assert_includes("resident", peak, resident);
    assert_eq!(peak.source, Source::Exact);
}

#[test]
fn faults_and_processor_time_are_of_the_tree_and_of_what_it_reaped() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_secs(60));
    for step in ["faults 64", "nothing", "run 20"] {
        meter.phase(step);
        program.order(step);
    }
    let phases = meter.finish();
    let faults: Vec<u64> = phases.iter().map(|phase| phase.activity.minor_faults.unwrap()).collect();
    let pages = 64 * MIB / rustix::param::page_size() as u64;
    assert!(faults[0].abs_diff(pages) <= pages / 64, "{faults:?}");
    // A program that starts faults some dozen times, and was reaped.
    assert!(faults[1] < 256 && faults[2] > 20 * 20, "{faults:?}");
    assert!(phases.iter().all(|phase| phase.activity.cpu_user_ns.is_some()));
}

#[test]
fn a_tree_with_a_child_too_short_to_see_is_not_called_exact() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_secs(60));
    meter.phase("alone");
    program.order("nothing");
    program.order("allocate 2");
    meter.phase("not alone");
    program.order("run 1");
    program.order("allocate 2");
    let phases = meter.finish();
    assert_eq!(phases[0].readings[&Metric::PeakRss].source, Source::Exact);
    assert_ne!(phases[1].readings[&Metric::PeakRss].source, Source::Exact);
}

#[test]
fn a_runaway_process_is_told_at_once() {
    let mut program = Program::start();
    let limit = ByteSize::mib(100);
    let watches =
        vec![Watch { metric: Metric::PeakAnon, limit }, Watch { metric: Metric::PeakRss, limit: ByteSize::gib(900) }];
    let root = program.pid();
    let meter = Meter::start_with(MeterOptions { root, watches, ..MeterOptions::default() }).unwrap();
    meter.name_process(root, "worker 1");
    meter.phase("validate");
    program.order("allocate 50");
    assert_eq!(meter.breach(), None);
    program.order("allocate 60");
    let mut poll = [rustix::event::PollFd::from_borrowed_fd(meter.breach_fd(), rustix::event::PollFlags::IN)];
    assert_eq!(rustix::event::poll(&mut poll, None).unwrap(), 1);
    let breach = meter.breach().unwrap();
    assert_eq!((breach.metric, breach.limit, breach.phase.as_str()), (Metric::PeakAnon, limit, "validate"));
    assert!(breach.reading.bytes > limit && breach.reading.bytes < ByteSize::mib(120));
    let holder = breach.process.unwrap();
    assert_eq!((holder.pid, holder.name.as_str()), (root, "worker 1"));
    // The breach is reported once, not in every sample.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(meter.breach(), None);
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut poll, Some(&now)).unwrap(), 0);
}

#[test]
fn a_root_that_ends_ends_no_meter() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(1));
    meter.phase("alive");
    program.order("allocate 40");
    std::thread::sleep(Duration::from_millis(50));
    drop(program);
    std::thread::sleep(Duration::from_millis(20));
    meter.phase("gone");
    let phases = meter.finish();
    assert_ne!(phases[0].readings[&Metric::PeakRss].source, Source::Exact);
    assert_eq!(phases[0].processes[0].peak_rss.source, Source::LowerBound);
    assert!(!phases[1].readings.contains_key(&Metric::PeakRss), "nothing is no reading of 0: {:?}", phases[1].readings);
    assert!(phases[1].unavailable[&Metric::PeakRss].contains("no process"));
}

#[test]
fn a_meter_of_no_process_is_refused() {
    let error = Meter::start_with(MeterOptions { root: u32::MAX, ..MeterOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("/proc/4294967295/stat"), "{error}");
}

#[test]
fn the_end_of_a_worker_is_proven() {
    let available_before = SystemMemory::read().unwrap().available;
    let mut program = Program::start();
    program.order("allocate 300");
    let release = Release::begin(ProcessId::of(program.pid()).unwrap(), available_before);
    drop(program);
    // Other programs on this machine take memory too, so it may not return to its earlier value.
    let proof = release.wait(ByteSize::gib(1), Duration::from_millis(100));
    assert!(proof.gone && proof.recovered.is_some(), "{proof:?}");
    assert!(proof.worker_peak_rss >= proof.worker_rss_at_end && proof.worker_rss_at_end > Some(ByteSize::mib(300)));
}

#[test]
fn a_ceiling_names_the_process_that_broke_it() {
    let mut program = Program::start();
    let meter = program.meter(Duration::from_millis(10));
    meter.name_process(program.pid(), "worker 1");
    meter.phase("validate");
    program.order("allocate 80");
    let verdicts =
        judge(&meter.finish(), &"peak_rss = 64 MiB, peak_anon = 1 GiB, swap_growth = 1 GiB".parse().unwrap());
    let status: Vec<CeilingStatus> = verdicts.iter().map(|verdict| verdict.status).collect();
    assert_eq!(status, [CeilingStatus::Broken, CeilingStatus::Holds, CeilingStatus::Holds], "{verdicts:#?}");
    assert!(verdicts[0].message.contains("phase `validate`") && verdicts[0].message.contains("worker 1"));
    assert_eq!(verdicts[0].reading.as_ref().unwrap().source, Source::Exact);
}
