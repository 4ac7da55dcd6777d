//! Control groups as this machine's kernel provides them.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{ActivityScope, Cgroup, CgroupVersion, MeterError, MeterOptions, Metric, Source};

use crate::possible::{cgroup, possible};
use crate::program::Program;
use crate::support::{assert_close, bytes};

/// A group for one test; `None` if the machine cannot have one.
fn group(name: &str) -> Option<Cgroup> {
    possible("cgroup", cgroup()).then(|| Cgroup::create(name).unwrap())
}

fn metered(group: &Cgroup) -> MeterOptions {
    MeterOptions { cgroup: Some(group.clone()), ..MeterOptions::default() }
}

/// As [`assert_close`], but the kernel charges a group for 64 pages in advance on each processor (`MEMCG_CHARGE_BATCH`); a
/// program of one thread was on two of them at most. With pages of 4 KiB this is less than what is close.
fn assert_charged(what: &str, read: ByteSize, truth: u64) {
    let ahead = 2 * 64 * rustix::param::page_size() as u64;
    if read.bytes().abs_diff(truth) > ahead {
        assert_close(what, read, truth);
    }
}

#[test]
fn a_group_counts_what_its_processes_take_and_is_removed() {
    let Some(group) = group("peak") else { return };
    let path = PathBuf::from(group.path());
    assert!(path.is_dir() && group.is_own());
    let mut program = Program::start_in(&group);
    let own = Cgroup::of(program.pid()).unwrap();
    assert_eq!(own, group, "it joined before it executed its program");
    let before = group.current().unwrap().bytes();
    let meter = program.meter_with(metered(&group));
    // Before Linux 6.12 the mark of version 2 cannot be reset: only a higher one belongs to the phase.
    let resets = group.reset_peak().is_ok();
    for step in ["spike 64", "nothing", "allocate 32"] {
        meter.phase(step);
        program.order(step);
    }
    let phases = meter.finish();
    let peaks: Vec<ByteSize> = phases.iter().map(|phase| bytes(phase, Metric::PeakCgroup)).collect();
    assert_charged("spike", peaks[0], before + 64 * MIB);
    assert_charged("quiet", peaks[1], before);
    assert_charged("kept", peaks[2], before + 32 * MIB);
    assert_charged("now", group.current().unwrap(), before + 32 * MIB);
    let reading = &phases[0].readings[&Metric::PeakCgroup];
    assert_eq!(reading.source, Source::Exact, "{reading:?}");
    assert!(reading.counter.contains("plimsoll-"), "{reading:?}");
    assert_eq!(reading.counter.ends_with("reset when the phase began"), resets, "{reading:?}");
    let anon = group.stat().unwrap().anon.unwrap();
    assert!(anon >= ByteSize::mib(32) && anon <= group.current().unwrap(), "{anon}");
    drop((program, meter, own));
    drop(group);
    assert!(!path.exists(), "{} is removed", path.display());
}

#[test]
fn a_process_that_is_left_in_a_group_goes_back_where_it_came_from() {
    let Some(group) = group("left") else { return };
    let (path, origin) = (PathBuf::from(group.path()), Cgroup::of(std::process::id()).unwrap());
    let mut program = Program::start_in(&group);
    drop(group);
    assert!(!path.exists());
    program.order("nothing");
    assert_eq!(Cgroup::of(program.pid()).unwrap(), origin);
}

#[test]
fn a_kill_at_the_limit_of_a_group_is_counted_as_one() {
    let Some(group) = group("limit") else { return };
    group.limit_memory(ByteSize::mib(96)).unwrap();
    match group.limit_swap(ByteSize::ZERO) {
        Ok(()) => {}
        // The kernel may be booted without swap accounting.
        Err(error) => assert!(matches!(error, MeterError::Cgroup { .. } | MeterError::Read { .. }), "{error}"),
    }
    assert_eq!(group.limits().unwrap().memory, Some(ByteSize::mib(96)));
    match (group.version(), group.kill_whole_group()) {
        (CgroupVersion::V1, Err(MeterError::NoCgroup { reason })) => assert!(reason.contains("memory.oom.group")),
        (CgroupVersion::V2, Ok(())) => {}
        (version, answer) => panic!("{version:?}: {answer:?}"),
    }
    let mut program = Program::start_in(&group);
    let meter = program.meter_with(metered(&group));
    meter.phase("beyond");
    let status = program.dies_of("allocate 512");
    let phase = meter.finish().remove(0);
    assert_eq!(status.signal(), Some(9), "{status:?}");
    assert_eq!((phase.activity.oom_kills, phase.activity.oom_kills_of), (Some(1), ActivityScope::Cgroup));
    assert_eq!(group.oom_kills().unwrap(), Some(1));
    assert_close("peak", bytes(&phase, Metric::PeakCgroup), 96 * MIB);
    assert_ne!(group.events().unwrap().limit_hits, Some(0));
}

#[test]
fn a_group_of_version_2_is_killed_at_once() {
    let Some(group) = group("kill") else { return };
    let (mut first, mut second) = (Program::start_in(&group), Program::start_in(&group));
    match (group.version(), group.kill()) {
        (CgroupVersion::V1, Err(MeterError::Cgroup { path, .. })) => assert!(path.ends_with("cgroup.kill"), "{path}"),
        (CgroupVersion::V2, Ok(())) => {
            assert_eq!([first.dies_of("nothing").signal(), second.dies_of("nothing").signal()], [Some(9), Some(9)]);
        }
        (version, answer) => panic!("{version:?}: {answer:?}"),
    }
}
