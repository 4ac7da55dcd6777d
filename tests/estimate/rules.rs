//! Rules M1 to M20 of training memory, as far as an estimate covers them.

use plimsoll::ByteSize;
use plimsoll::estimate::{
    Attention, Convention, Effect, Estimate, EstimateError, FitVerdict, Group, Item, Limits, Model, Offload, Optimizer,
    Phase, Precision, Rung, Setup, Tuning, ZeroStage, ladder,
};

use super::support::{GB, device, estimate, fixed_rate, gib, items, shaped};

fn working() -> Setup {
    Setup { batch: Some(8), sequence: Some(2048), ..Setup::default() }
}

#[test]
fn m1_adam_in_mixed_precision_costs_18_bytes_a_parameter() {
    let found = estimate(4 * GB, Setup::default());
    assert_eq!(found.fixed.device.bytes(), 72 * GB);
    assert_eq!(gib(found.fixed.device), "67.06");
    assert_eq!(found.bytes_per_parameter, 18.0);
    let weights = device(&found, Item::Weights) + device(&found, Item::MasterWeights);
    assert_eq!(weights.bytes(), 24 * GB);
    assert_eq!(device(&found, Item::Optimizer).bytes(), 32 * GB);
    assert_eq!(device(&found, Item::Gradients).bytes(), 16 * GB);
}

#[test]
fn m1_fixed_state_activations_and_temporaries_are_rows_of_their_own() {
    let found = Estimate::of(&shaped(), &working()).unwrap();
    assert_eq!(items(&found, Group::Fixed), [Item::Weights, Item::MasterWeights, Item::Gradients, Item::Optimizer]);
    assert_eq!(items(&found, Group::Activations), [Item::Layers, Item::Logits]);
    assert_eq!(items(&found, Group::Temporaries), [Item::LogitsGradient]);
    let parts = found.fixed.device + found.activations.unwrap().device + found.temporaries.device;
    assert_eq!(found.peak.device, parts);
    assert_eq!(found.peak_phase, Phase::Steady);
}

#[test]
fn m1_activations_scale_with_batch_sequence_depth_and_width() {
    let model = shaped();
    let of = |model: &Model, setup: Setup| device(&Estimate::of(model, &setup).unwrap(), Item::Layers).bytes();
    let once = of(&model, working());
    // 34 s b h a layer.
    assert_eq!(once, 34 * 2048 * 8 * 3072 * 32);
    assert_eq!(of(&model, Setup { batch: Some(16), ..working() }), 2 * once);
    assert_eq!(of(&model, Setup { sequence: Some(4096), ..working() }), 2 * once);
    let mut deeper = model;
    deeper.shape.as_mut().unwrap().layers = 64;
    assert_eq!(of(&deeper, working()), 2 * once);
    let mut wider = model;
    let shape = wider.shape.as_mut().unwrap();
    (shape.hidden, shape.ffn) = (2 * shape.hidden, 2 * shape.ffn);
    assert_eq!(of(&wider, working()), 2 * once);
}

#[test]
fn m5_every_suggestion_keeps_the_product_of_the_three_factors() {
    let setup = Setup { batch: Some(64), sequence: Some(2048), gpus: 2, ..Setup::default() };
    assert_eq!(setup.batch_factors().unwrap().to_string(), "64 micro x 1 accumulation x 2 world = 128");
    let limits = Limits { vram: Some(ByteSize::gib(80)), ram: None };
    let ladder = ladder(&shaped(), &setup, &limits).unwrap();
    let factors: Vec<_> = ladder.steps.iter().filter_map(|step| step.batch).collect();
    assert!(factors.len() >= 4, "{factors:?}");
    for factors in factors {
        assert_eq!(factors.effective(), 128, "{factors}");
    }
    // 4 x 16 is better than 1 x 64: the largest micro-batch that fits is taken.
    let limits = Limits { vram: Some(ByteSize::gib(110)), ram: None };
    let steps = plimsoll::estimate::ladder(&shaped(), &setup, &limits).unwrap().steps;
    let first = &steps[0];
    assert_eq!((first.rung, first.fits), (Rung::MicroBatch, Some(true)));
    assert!(first.batch.unwrap().micro > 1, "{first:?}");
}

#[test]
fn m6_bf16_halves_activations() {
    let in_precision = |precision| Estimate::of(&shaped(), &Setup { precision, ..working() }).unwrap();
    let (bf16, fp32) = (in_precision(Precision::Bf16Mixed), in_precision(Precision::Fp32));
    assert_eq!(device(&fp32, Item::Layers).bytes(), 2 * device(&bf16, Item::Layers).bytes());
    assert_eq!((fixed_rate(&fp32), fixed_rate(&bf16)), (16.0, 18.0));
}

#[test]
fn m6_fp16_at_a_small_batch_costs_more_than_fp32_for_its_two_weight_copies() {
    let at = |precision, batch| {
        let setup = Setup { precision, batch: Some(batch), sequence: Some(128), ..Setup::default() };
        Estimate::of(&shaped(), &setup).unwrap()
    };
    let peak = |precision, batch| at(precision, batch).peak.device;
    assert!(peak(Precision::Fp16Mixed, 1) > peak(Precision::Fp32, 1));
    assert!(peak(Precision::Fp16Mixed, 64) < peak(Precision::Fp32, 64));
    let notes = at(Precision::Fp16Mixed, 1).notes.join("; ");
    assert!(notes.contains("loss scaling") && notes.contains("second copy"), "{notes}");
    assert!(!at(Precision::Bf16Mixed, 1).notes.join("; ").contains("loss scaling"));
}

#[test]
fn m7_checkpointing_cuts_activations_and_leaves_the_state() {
    let plain = Estimate::of(&shaped(), &working()).unwrap();
    let checkpointed = Estimate::of(&shaped(), &Setup { checkpointing: true, ..working() }).unwrap();
    assert_eq!(checkpointed.fixed, plain.fixed);
    // 2 s b h in place of 34, and one layer computed again.
    assert_eq!(device(&checkpointed, Item::Layers).bytes() * 17, device(&plain, Item::Layers).bytes());
    assert_eq!(device(&checkpointed, Item::RecomputedLayer).bytes() * 32, device(&plain, Item::Layers).bytes());
    assert!(checkpointed.peak.device < plain.peak.device);
    assert!(Rung::Checkpointing.advice().contains("20 to 30 %"));
}

#[test]
fn m9_zero_shards_8_then_12_then_18_bytes() {
    let rate = |zero, gpus| fixed_rate(&estimate(4 * GB, Setup { zero, gpus, ..Setup::default() }));
    for gpus in [2, 4, 8, 64] {
        let n = gpus as f64;
        assert_eq!(rate(ZeroStage::Zero, gpus), 18.0);
        assert_eq!(rate(ZeroStage::One, gpus), 10.0 + 8.0 / n);
        assert_eq!(rate(ZeroStage::Two, gpus), 6.0 + 12.0 / n);
        assert_eq!(rate(ZeroStage::Three, gpus), 18.0 / n);
    }
}

#[test]
fn m9_one_gpu_saves_nothing() {
    for zero in [ZeroStage::One, ZeroStage::Two, ZeroStage::Three] {
        assert_eq!(fixed_rate(&estimate(4 * GB, Setup { zero, ..Setup::default() })), 18.0);
    }
    let limits = Limits { vram: Some(ByteSize::gib(24)), ram: None };
    let ladder = ladder(&shaped(), &working(), &limits).unwrap();
    let step = ladder.steps.iter().find(|step| step.rung == Rung::Sharding).unwrap();
    assert_eq!(step.reason.as_deref(), Some("sharding needs at least two GPUs"));
}

#[test]
fn m9_other_conventions_shard_the_master_with_the_optimizer() {
    let rate =
        |convention, zero, gpus| fixed_rate(&estimate(4 * GB, Setup { convention, zero, gpus, ..Setup::default() }));
    for gpus in [1, 8] {
        let n = gpus as f64;
        assert_eq!(rate(Convention::ZeroPaper, ZeroStage::Zero, gpus), 16.0);
        assert_eq!(rate(Convention::ZeroPaper, ZeroStage::One, gpus), 4.0 + 12.0 / n);
        assert_eq!(rate(Convention::ZeroPaper, ZeroStage::Two, gpus), 2.0 + 14.0 / n);
        assert_eq!(rate(Convention::ZeroPaper, ZeroStage::Three, gpus), 16.0 / n);
        assert_eq!(rate(Convention::Megatron, ZeroStage::Zero, gpus), 18.0);
        assert_eq!(rate(Convention::Megatron, ZeroStage::One, gpus), 6.0 + 12.0 / n);
    }
    assert_eq!(rate(Convention::Deepspeed, ZeroStage::Zero, 8), 20.0);
    assert_eq!(rate(Convention::Deepspeed, ZeroStage::One, 8), 4.0 + 16.0 / 8.0);
    assert_eq!(rate(Convention::Deepspeed, ZeroStage::Two, 8), 2.0 + 18.0 / 8.0);
    assert_eq!(rate(Convention::Deepspeed, ZeroStage::Two, 1), 20.0);
}

#[test]
fn m10_offloading_moves_bytes_to_the_host() {
    let on = |offload, offload_parameters, zero| {
        estimate(4 * GB, Setup { offload, offload_parameters, zero, ..Setup::default() })
    };
    let none = on(Offload::None, Offload::None, ZeroStage::Two);
    let optimizer = on(Offload::Cpu, Offload::None, ZeroStage::Two);
    assert_eq!(none.fixed.device, optimizer.fixed.device + optimizer.fixed.host);
    assert_eq!((fixed_rate(&optimizer), optimizer.fixed.host.bytes()), (2.0, 64 * GB));
    let all = on(Offload::Nvme, Offload::Nvme, ZeroStage::Three);
    assert_eq!((all.fixed.device, all.fixed.host, all.fixed.nvme.bytes()), (ByteSize::ZERO, ByteSize::ZERO, 72 * GB));
}

#[test]
fn m10_the_optimizer_needs_zero_1_to_3_and_nvme_needs_zero_3() {
    let refused = |offload, offload_parameters, zero| {
        let setup = Setup { offload, offload_parameters, zero, ..Setup::default() };
        Estimate::of(&Model::new(GB), &setup).unwrap_err().to_string()
    };
    let message = refused(Offload::Cpu, Offload::None, ZeroStage::Zero);
    assert!(message.contains("offloading the optimizer to cpu needs ZeRO-1, 2 or 3: add --zero 2"), "{message}");
    let message = refused(Offload::Nvme, Offload::None, ZeroStage::Two);
    assert!(message.contains("offloading the optimizer to nvme needs ZeRO-3: add --zero 3"), "{message}");
    let message = refused(Offload::Cpu, Offload::Nvme, ZeroStage::Two);
    assert!(message.contains("offloading the parameters to nvme needs ZeRO-3"), "{message}");
    for zero in [ZeroStage::One, ZeroStage::Two, ZeroStage::Three] {
        estimate(GB, Setup { offload: Offload::Cpu, zero, ..Setup::default() });
    }
}

#[test]
fn m11_scores_grow_with_the_square_of_the_sequence_and_sdpa_has_none() {
    let scores = |attention, sequence| {
        let setup = Setup { attention, sequence: Some(sequence), ..working() };
        device(&Estimate::of(&shaped(), &setup).unwrap(), Item::AttentionScores).bytes()
    };
    let once = scores(Attention::Eager, 2048);
    assert_eq!(once, 5 * 8 * 24 * 2048 * 2048 * 32);
    assert_eq!(scores(Attention::Eager, 4096), 4 * once);
    let sdpa = Estimate::of(&shaped(), &working()).unwrap();
    assert!(!sdpa.rows.iter().any(|row| row.item == Item::AttentionScores));
}

#[test]
fn m12_8_bit_adam_saves_24_gb_of_4e9_parameters() {
    let of = |optimizer| estimate(4 * GB, Setup { optimizer, ..Setup::default() }).fixed.device.bytes();
    assert_eq!(of(Optimizer::Adam) - of(Optimizer::Adam8bit), 24 * GB);
    assert!(of(Optimizer::Adafactor) < of(Optimizer::Adam8bit));
    assert_eq!(of(Optimizer::Adam) - of(Optimizer::Sgd), 16 * GB);
}

#[test]
fn m13_lora_has_gradients_and_optimizer_for_the_adapter_alone() {
    let found = Estimate::of(&shaped(), &Setup { tuning: Tuning::Lora { rank: 16 }, ..Setup::default() }).unwrap();
    assert_eq!(device(&found, Item::BaseWeights).bytes(), 8 * GB);
    // Four matrices of h x h and two of h x 4h in each of 32 layers: 18 h r.
    assert_eq!(found.trained_parameters, 32 * 18 * 3072 * 16);
    assert_eq!(device(&found, Item::Optimizer).bytes(), 8 * found.trained_parameters);
    assert_eq!(found.fixed.device.bytes(), 8 * GB + 18 * found.trained_parameters);
}

#[test]
fn m13_qlora_of_65e9_parameters_fits_in_48_gb() {
    let found = estimate(65 * GB, Setup { tuning: Tuning::Qlora { rank: 16 }, ..Setup::default() });
    assert_eq!(device(&found, Item::BaseWeights).bytes(), 33_540_000_000);
    let limits = Limits { vram: Some(ByteSize::new(48 * GB)), ram: None };
    assert!(found.fit(&limits).unwrap().verdict.holds());
    // With a sequence of 512 and checkpointing, as in the paper.
    let work = Setup { batch: Some(1), sequence: Some(512), checkpointing: true, ..found.setup };
    assert_eq!(estimate(65 * GB, work).fit(&limits).unwrap().verdict, FitVerdict::Fits);
    let whole = estimate(65 * GB, Setup { tuning: Tuning::Lora { rank: 16 }, ..Setup::default() });
    assert_eq!(whole.fit(&limits).unwrap().verdict, FitVerdict::ExceedsDevice);
}

#[test]
fn m17_the_jump_from_step_1_to_step_2_is_the_optimizer_state() {
    let found = Estimate::of(&shaped(), &working()).unwrap();
    let jump = found.at(Phase::Steady).device.bytes() - found.at(Phase::FirstBackward).device.bytes();
    assert_eq!(jump, device(&found, Item::Optimizer).bytes());
    assert_eq!(jump, 32 * GB);
    let state = found.at(Phase::FirstStep).device;
    assert_eq!(state, found.fixed.device);
    assert_eq!(found.at(Phase::Init).device.bytes(), 24 * GB);
}

#[test]
fn m4_the_ladder_is_in_order_and_marked() {
    let titles: Vec<_> = Rung::ALL.iter().map(|rung| (rung.number(), rung.mark())).collect();
    use Effect::{ChangesCapacity, ChangesTheScience, KeepsTheMath, MovesState};
    let expected =
        [KeepsTheMath; 5].into_iter().chain([ChangesTheScience, KeepsTheMath, MovesState, MovesState, ChangesCapacity]);
    assert_eq!(titles, (1..=10).zip(expected).collect::<Vec<_>>());
}

#[test]
fn m4_the_climb_stops_at_the_first_rung_that_fits() {
    let setup = Setup { attention: Attention::Eager, gpus: 8, ..working() };
    let limits = Limits { vram: Some(ByteSize::gib(80)), ram: Some(ByteSize::gib(512)) };
    let found = ladder(&shaped(), &setup, &limits).unwrap();
    let first = found.first_that_fits.unwrap();
    for step in &found.steps {
        match step.fits {
            Some(fits) => assert_eq!(fits, step.rung == first, "{step:?}"),
            None => assert!(step.reason.is_some() || step.rung > first, "{step:?}"),
        }
    }
    // Nothing on the ladder is applied if nothing helps, or if everything already fits.
    let nothing =
        ladder(&shaped(), &setup, &Limits { vram: Some(ByteSize::mib(1)), ram: Some(ByteSize::ZERO) }).unwrap();
    assert_eq!(nothing.first_that_fits, None);
    let fitting = ladder(&shaped(), &setup, &Limits { vram: Some(ByteSize::gib(8192)), ram: None }).unwrap();
    assert!(fitting.steps.iter().all(|step| step.fits.is_none()) && fitting.first_that_fits.is_none());
}

#[test]
fn m4_shorter_sequences_are_not_carried_to_the_rungs_that_keep_the_science() {
    let setup = Setup { batch: Some(1), sequence: Some(32_768), gpus: 8, ..Setup::default() };
    let limits = Limits { vram: Some(ByteSize::gib(24)), ram: None };
    let found = ladder(&shaped(), &setup, &limits).unwrap();
    let step = |rung| found.steps.iter().find(|step| step.rung == rung).unwrap();
    let (shorter, sharding) = (step(Rung::ShorterSequence), step(Rung::Sharding));
    assert_eq!(shorter.fits, Some(false));
    let carried = Setup { checkpointing: true, optimizer: Optimizer::Adam8bit, zero: ZeroStage::Three, ..setup };
    assert_eq!(sharding.peak, Some(Estimate::of(&shaped(), &carried).unwrap().peak));
}

#[test]
fn m8_expandable_segments_have_no_figure() {
    let limits = Limits { vram: Some(ByteSize::gib(24)), ram: None };
    let found = ladder(&shaped(), &working(), &limits).unwrap();
    let step = &found.steps[3];
    assert_eq!((step.rung, step.saving, step.peak), (Rung::ExpandableSegments, None, None));
    assert!(step.reason.as_deref().unwrap().contains("fragmentation only"));
    assert!(step.rung.advice().contains("PYTORCH_CUDA_ALLOC_CONF") && step.rung.advice().contains("vLLM"));
}

#[test]
fn a_number_without_its_unit_is_noticed() {
    let notes = |parameters| Estimate::of(&Model::new(parameters), &Setup::default()).unwrap().notes.join("; ");
    assert!(notes(7).contains("write 7B for billions") && !notes(7_000_000).contains("very few"));
}

#[test]
fn what_contradicts_itself_is_refused() {
    let refused = |setup: Setup| Estimate::of(&Model::new(GB), &setup).unwrap_err();
    assert!(matches!(refused(Setup { gpus: 0, ..Setup::default() }), EstimateError::Zero { what: "--gpus" }));
    assert!(matches!(refused(Setup { tensor_parallel: 2, ..Setup::default() }), EstimateError::MegatronOnly { .. }));
    let megatron = Setup { convention: Convention::Megatron, ..Setup::default() };
    assert!(matches!(
        refused(Setup { tensor_parallel: 3, gpus: 8, ..megatron }),
        EstimateError::Indivisible { gpus: 8, tensor: 3, pipeline: 1 }
    ));
    assert!(matches!(
        refused(Setup { zero: ZeroStage::Two, ..megatron }),
        EstimateError::StageUnknown { stage: 2, .. }
    ));
    assert!(matches!(Estimate::of(&Model::new(0), &Setup::default()), Err(EstimateError::NoParameters)));
    let huge = Setup { batch: Some(1 << 32), sequence: Some(1 << 32), ..Setup::default() };
    assert!(matches!(Estimate::of(&shaped(), &huge), Err(EstimateError::TooLarge { .. })));
}
