//! What grew, mapping by mapping.

use std::io::Write as _;

use plimsoll::ByteSize;
use plimsoll::bytes::MIB;
use plimsoll::meter::{MappingGrowth, MappingKind, MeterOptions, PhaseReadings};

use crate::program::Program;
use crate::support::{assert_close, comes};

fn grown(growth: &MappingGrowth) -> ByteSize {
    growth.after.saturating_sub(growth.before)
}

fn of_kind(phase: &PhaseReadings, kind: MappingKind) -> u64 {
    phase.mappings.iter().filter(|growth| growth.kind == kind).map(|growth| grown(growth).bytes()).sum()
}

#[test]
fn what_grew_is_told_apart_by_kind() {
    let steps = [
        ("heap 12", MappingKind::Heap, 12),
        ("allocate 40", MappingKind::Anonymous, 40),
        ("stacks 4 6", MappingKind::Stack, 24),
        ("file 24", MappingKind::File, 24),
        ("shmem 32", MappingKind::SharedMemory, 32),
        ("tmpfs 16", MappingKind::SharedMemory, 16),
    ];
    let mut program = Program::start();
    let meter = program.meter_with(MeterOptions { mappings: true, ..MeterOptions::default() });
    for (step, kind, mib) in steps {
        meter.phase(step);
        program.order(step);
        // Mappings are read for a small share of the time, so seldom if reading them takes a slow processor long.
        let seen = || meter.so_far().last().is_some_and(|phase| of_kind(phase, kind) + MIB > mib * MIB);
        assert!(comes(seen), "{step}: {:?}", meter.so_far());
    }
    for (phase, (step, kind, mib)) in meter.finish().iter().zip(steps) {
        let first = phase.mappings.first().unwrap_or_else(|| panic!("{step}: nothing grew"));
        assert_eq!(first.kind, kind, "{step}: {:?}", phase.mappings);
        assert_close(step, ByteSize::new(of_kind(phase, kind)), mib * MIB);
        assert!(phase.mappings.is_sorted_by_key(|growth| std::cmp::Reverse(grown(growth))), "{step}");
    }
}

#[test]
fn mappings_are_told_only_where_they_were_asked_for() {
    let mut program = Program::start();
    let meter = program.meter_with(MeterOptions::default());
    meter.phase("load");
    program.order("allocate 8");
    assert_eq!(meter.finish()[0].mappings, []);
}

#[test]
fn what_a_command_holds_has_grown_since_it_began() {
    let mut running = plimsoll::command::Metered::new(Program::command()).mappings(true).spawn().unwrap();
    let mut input = running.stdin().unwrap();
    writeln!(input, "allocate 24").unwrap();
    let held = |phase: &PhaseReadings| phase.mappings.iter().map(|growth| grown(growth).bytes()).sum::<u64>();
    // The program waits until its mappings were read.
    let seen = comes(|| held(&running.meter().so_far()[0]) >= 24 * MIB);
    assert!(seen, "{:?}", running.meter().so_far());
    drop(input);
    let ended = running.wait().unwrap();
    let held = held(&ended.phases[0]);
    assert!((24 * MIB..40 * MIB).contains(&held), "{:?}", ended.phases[0].mappings);
}
