//! DeepSpeed #7693, and other cases of a ledger.

use proptest::prelude::*;

use super::*;
use crate::estimate::{Model, Offload, Setup, ZeroStage};
use crate::telemetry::{Position, Reader, Sample};
use crate::trend::TrendVerdict;
use plimsoll_memory::bytes::ByteSize;

/// A billion parameters, so that bytes per parameter are GB.
const P: u64 = 1 << 30;

fn offloaded() -> Setup {
    Setup { zero: ZeroStage::Two, offload: Offload::Cpu, ..Setup::default() }
}

fn samples(text: &str) -> Vec<Sample> {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        offset += line.len() as u64;
    }
    reader.finish(&mut samples);
    samples
}

/// A log of `see_memory_usage`: labels, and the host memory in use beyond 40 GB.
fn log(reports: &[(&str, f64)]) -> Vec<Sample> {
    let text = reports.iter().map(|(label, host)| {
        format!("{label}\nMA 2.0 GB         Max_MA 2.0 GB         CA 2.1 GB         Max_CA 2 GB \nCPU Virtual Memory:  used = {} GB, percent = 9.9%\n", 40.0 + host)
    });
    samples(&text.collect::<String>())
}

fn account(reports: &[(&str, f64)]) -> Ledger {
    let samples = log(reports);
    let readings = Reading::of_samples(&samples, MemoryKind::Host);
    Ledger::account(&Model::new(P), &offloaded(), MemoryKind::Host, readings, &samples, Some(80_000_000_000)).unwrap()
}

fn names(ledger: &Ledger) -> Vec<(&str, Stage, f64)> {
    ledger.excesses.iter().map(|e| (e.name.as_str(), e.stage, (e.rate * 100.0).round() / 100.0)).collect()
}

#[test]
fn deepspeed_7693_is_10_and_16_and_2_against_16() {
    let ledger = account(&[
        ("before deepspeed.initialize", 0.0),
        ("after deepspeed.initialize", 10.0),
        ("after first step", 26.0),
        ("after step 2", 28.0),
        ("after step 3", 28.0),
    ]);
    let moved: Vec<_> = ledger.movements.iter().map(|m| (m.stage, m.measured.round(), m.expected)).collect();
    assert_eq!(
        moved,
        [(Stage::Init, 10.0, 8.0), (Stage::Step1, 16.0, 8.0), (Stage::Later, 2.0, 0.0), (Stage::Later, 0.0, 0.0)]
    );
    assert_eq!((ledger.measured.round(), ledger.expected, ledger.exceeds), (28.0, 16.0, true));
    assert_eq!(
        names(&ledger),
        [
            ("H2D copy buffer", Stage::Init, 2.0),
            ("unscale_and_clip_grads", Stage::Step1, 4.0),
            ("adam_update", Stage::Step1, 4.0),
            ("unexplained", Stage::Later, 2.0),
        ]
    );
    // The 4 and 4 of the first step at 80e9 parameters: 640 GB.
    let wasted = ledger.stages.iter().find(|sum| sum.stage == Stage::Step1).unwrap();
    assert_eq!((wasted.rate, wasted.projected), (8.0, Some(ByteSize::new(640_000_000_000))));
    // They stay, and the second did not reuse the memory of the first.
    assert_eq!(ledger.excesses[1].came_back, Some(false));
    assert_eq!(ledger.excesses[1].reused, Some(false));
    assert_eq!(ledger.excesses[1].position.unwrap().line, 8);
}

#[test]
fn deepspeed_7693_before_the_fix_has_pinned_overhead_as_well() {
    let ledger = account(&[("before init", 0.0), ("after init", 12.0), ("after step", 28.0)]);
    let found = names(&ledger);
    assert_eq!(found[1].0, "pinned overhead of the copy buffer (gone with DeepSpeed #7689)");
    assert_eq!(found.len(), 4);
}

#[test]
fn an_excess_is_named_by_the_label_at_which_it_appeared() {
    let ledger = account(&[
        ("before init", 0.0),
        ("after init", 8.0),
        ("after backward", 8.0),
        ("after unscale_and_clip_grads", 12.0),
        ("after adam_update", 24.0),
        ("after step 1", 24.0),
        ("after step 2", 24.0),
    ]);
    assert_eq!(names(&ledger), [("unscale_and_clip_grads", Stage::Step1, 4.0), ("adam_update", Stage::Step1, 4.0)]);
    assert!(ledger.excesses.iter().all(|excess| excess.ground == Ground::Label));
    assert_eq!(ledger.movements[3].items.len(), 1, "Adam's moments came with adam_update: {:?}", ledger.movements);
    assert_eq!(ledger.excesses.iter().map(|e| e.reused).collect::<Vec<_>>(), [Some(false), Some(true)]);
}

#[test]
fn the_optimizers_state_comes_with_the_update_of_the_weights() {
    let ledger = account(&[
        ("before deepspeed.initialize", 0.0),
        ("after deepspeed.initialize", 8.0),
        ("before unscale", 8.0),
        ("after unscale", 16.0),
        ("before adam_update", 16.0),
        ("after adam_update", 32.0),
        ("after step 1", 32.0),
    ]);
    let moved: Vec<_> = ledger.movements.iter().map(|m| (m.label.as_str(), m.measured.round(), m.expected)).collect();
    assert_eq!(moved[2], ("after unscale", 8.0, 0.0), "{moved:?}");
    assert_eq!(moved[4], ("after adam_update", 16.0, 8.0), "{moved:?}");
    assert_eq!((ledger.measured.round(), ledger.expected), (32.0, 16.0));
}

#[test]
fn two_excesses_of_a_size_have_two_names() {
    // No label names a part of the step: the first excess of 4 is not the second one too.
    let ledger = account(&[
        ("before deepspeed init", 0.0),
        ("after deepspeed init", 8.0),
        ("before step 0", 8.0),
        ("inside step: one", 12.0),
        ("inside step: after optimizer.step", 24.0),
        ("after step 0", 24.0),
        ("after step 1", 24.0),
    ]);
    assert_eq!(names(&ledger), [("unscale_and_clip_grads", Stage::Step1, 4.0), ("adam_update", Stage::Step1, 4.0)]);
    assert!(ledger.excesses.iter().all(|excess| excess.ground == Ground::Known && excess.came_back == Some(false)));
}

#[test]
fn readings_before_and_after_the_parts_of_a_step_belong_to_it() {
    // The readings of DeepSpeed #7693, during and around the first step.
    let ledger = account(&[
        ("before init", 0.0),
        ("after init", 10.0),
        ("before unscale_and_clip_grads", 10.0),
        ("after unscale_and_clip_grads", 14.0),
        ("before adam_update", 14.0),
        ("after adam_update", 26.0),
    ]);
    assert!(ledger.movements[1..].iter().all(|movement| movement.stage == Stage::Step1), "{:?}", ledger.movements);
    assert_eq!((ledger.measured.round(), ledger.expected, ledger.beyond.round()), (26.0, 16.0, 10.0));
    assert_eq!(
        names(&ledger),
        [
            ("H2D copy buffer", Stage::Init, 2.0),
            ("unscale_and_clip_grads", Stage::Step1, 4.0),
            ("adam_update", Stage::Step1, 4.0)
        ]
    );
    // Their second occurrence is a later step, whether or not a label ends the first step.
    let stages = |labels: &[&str]| {
        let reports: Vec<_> = labels.iter().map(|label| (*label, 1.0)).collect();
        let readings = Reading::of_samples(&log(&reports), MemoryKind::Host);
        readings.iter().map(|reading| reading.stage).collect::<Vec<_>>()
    };
    use Stage::{Init, Later, Start, Step1};
    let twice = ["begin", "after init", "before clip_grads", "after adam", "before clip_grads", "after adam"];
    assert_eq!(stages(&twice), [Start, Init, Step1, Step1, Later, Later]);
    assert_eq!(stages(&["begin", "after unscale", "after step 1", "before adam"]), [Start, Step1, Step1, Later]);
}

#[test]
fn the_headline_is_what_was_measured_less_what_is_expected() {
    // Memory that was added and released again is not part of it.
    let ledger = account(&[("start", 0.0), ("after init", 14.0), ("after step 1", 22.0), ("after step 2", 16.0)]);
    assert_eq!((ledger.beyond.round(), ledger.exceeds), (0.0, false));
    assert!(!ledger.excesses.is_empty());
}

#[test]
fn what_comes_back_is_told() {
    let ledger = account(&[("start", 0.0), ("after init", 10.0), ("after step 1", 18.2), ("after step 2", 18.0)]);
    let back: Vec<_> = ledger.excesses.iter().map(|e| (e.name.as_str(), e.came_back)).collect();
    assert_eq!(back[0], ("H2D copy buffer", Some(false)));
    let ledger = account(&[
        ("start", 0.0),
        ("after init", 14.0),
        ("after step 1", 21.0),
        ("after step 2", 16.0),
        ("after step 3", 16.0),
    ]);
    assert!(ledger.excesses.iter().any(|excess| excess.came_back == Some(true)), "{:?}", ledger.excesses);
}

#[test]
fn what_is_as_expected_has_no_excess() {
    let ledger = account(&[("before init", 0.0), ("after init", 8.0), ("after step", 16.1)]);
    assert_eq!((ledger.excesses.len(), ledger.exceeds, ledger.verdict), (0, false, None));
}

#[test]
fn readings_are_given_on_the_command_line_too() {
    let readings: Vec<Reading> =
        ["init=10GiB", "step1=26GiB", "later=28GiB"].iter().map(|text| text.parse().unwrap()).collect();
    let ledger = Ledger::account(&Model::new(P), &offloaded(), MemoryKind::Host, readings, &[], None).unwrap();
    assert_eq!((ledger.measured, ledger.excesses.len()), (28.0, 4));
    for text in ["init", "init=", "first=1GB", "=1GB"] {
        assert!(text.parse::<Reading>().is_err(), "{text}");
    }
    let backwards = vec!["step1=2GB".parse().unwrap(), "init=1GB".parse().unwrap()];
    let refused = Ledger::account(&Model::new(P), &offloaded(), MemoryKind::Host, backwards, &[], None);
    assert!(matches!(refused, Err(LedgerError::Order { stage: Stage::Init, after: Stage::Step1 })));
    let nothing = Ledger::account(&Model::new(P), &offloaded(), MemoryKind::Host, Vec::new(), &[], None);
    assert!(matches!(nothing, Err(LedgerError::NoReadings)));
}

#[test]
fn the_round_trip_of_7693_is_host_growth() {
    let report = |label: &str, ma: f64, ca: f64, host: f64| {
        format!(
            "{label}\nMA {ma} GB         Max_MA {ma} GB         CA {ca} GB         Max_CA {ca:.0} GB \nCPU Virtual Memory:  used = {host} GB, percent = 9.9%\n"
        )
    };
    let text = report("before", 9.36, 9.4, 135.33)
        + &report("after .to(device)", 21.36, 24.05, 135.33)
        + &report("after .cpu()", 9.36, 24.05, 147.38);
    let samples = samples(&text);
    let readings = Reading::of_samples(&samples, MemoryKind::Host);
    let ledger = Ledger::account(&Model::new(P), &offloaded(), MemoryKind::Host, readings, &samples, None).unwrap();
    assert_eq!(ledger.verdict, Some(TrendVerdict::HostGrowth));
    assert!(ledger.findings[0].explanation.contains("12.05 GiB more"), "{}", ledger.findings[0].explanation);
}

#[test]
fn the_device_has_a_ledger_as_well() {
    let readings =
        vec!["init=6GiB".parse().unwrap(), "backward=10GiB".parse().unwrap(), "step1=22GiB".parse().unwrap()];
    let ledger = Ledger::account(&Model::new(P), &Setup::default(), MemoryKind::Device, readings, &[], None).unwrap();
    assert_eq!((ledger.expected, ledger.measured), (18.0, 22.0));
    assert_eq!(names(&ledger), [("unexplained", Stage::Step1, 4.0)]);
}

#[test]
fn labels_tell_their_stages() {
    let stages = |labels: &[&str]| {
        let mut stages = Stages::default();
        labels.iter().map(|label| stages.next(label)).collect::<Vec<_>>()
    };
    let some = |stages: &[Stage]| stages.iter().map(|stage| Some(*stage)).collect::<Vec<_>>();
    use Stage::{Backward, Forward, Init, Later, Start, Step1};
    assert_eq!(
        stages(&[
            "before init",
            "After initializing ZeRO optimizer",
            "before forward 1",
            "before backward 1",
            "before optimizer step 1",
            "after step 1",
            "before forward 2"
        ]),
        some(&[Start, Init, Init, Forward, Backward, Step1, Later])
    );
    assert_eq!(
        stages(&["begin", "after backward", "after step", "after step 2"]),
        some(&[Start, Backward, Step1, Later])
    );
    assert_eq!(stages(&["hello"]), [None]);
    // The beginning of a step is not its end, however it is called, and steps may be counted from 0.
    for labels in [
        ["baseline", "engine ready", "step begin", "before clip grads", "after cpu adam", "step end", "step begin"],
        ["start", "initialize done", "enter step()", "unscale done", "adam done", "leaving step()", "entering step()"],
        [
            "begin training",
            "init done",
            "step 1 start",
            "step 1 after unscale",
            "step 1 after adam",
            "step 1 end",
            "step 2 start",
        ],
        [
            "before init",
            "after init",
            "before step 0",
            "inside step: after global_norm",
            "inside step: after step()",
            "after step 0",
            "after step 1",
        ],
        ["start", "after init", "pre-step", "grad norm computed", "optimizer_update done", "post-step", "post-step 2"],
    ] {
        assert_eq!(stages(&labels), some(&[Start, Init, Backward, Step1, Step1, Step1, Later]), "{labels:?}");
    }
    assert_eq!(
        stages(&["before step", "after step", "before step", "after step"]),
        some(&[Backward, Step1, Later, Later])
    );
}

proptest! {
    #[test]
    fn any_readings_are_accounted_or_refused(reports in prop::collection::vec((prop::sample::select(vec!["before init", "after init", "after forward", "before backward", "after unscale", "after step 1", "step 2", "x"]), 0.0f64..1e4), 0..12), at: Option<u64>, parameters in 1u64..1_000_000_000_000) {
        let samples = log(&reports);
        for place in [MemoryKind::Host, MemoryKind::Device] {
            let readings = Reading::of_samples(&samples, place);
            if let Ok(ledger) = Ledger::account(&Model::new(parameters), &offloaded(), place, readings, &samples, at) {
                prop_assert!(ledger.excesses.iter().all(|excess| excess.rate.is_finite() && excess.rate > 0.0));
                let sum: f64 = ledger.movements.iter().map(|movement| movement.measured).sum();
                prop_assert!((sum - ledger.measured).abs() <= 1e-6 * sum.abs().max(1.0));
            }
        }
    }

    #[test]
    fn any_text_is_a_reading_or_refused(text in "\\PC{0,30}") {
        let _ = text.parse::<Reading>();
        let _ = Stages::default().next(&text);
    }
}
