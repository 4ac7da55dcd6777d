//! Properties that hold for any model and any setup.

use plimsoll::ByteSize;
use plimsoll::estimate::{
    Attention, CONTEXT_LEAST, Convention, Estimate, Limits, Model, Offload, Optimizer, Precision, Report, Setup, Shape,
    Tuning, ZeroStage,
};
use proptest::prelude::*;

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    prop::sample::select(all)
}

prop_compose! {
    fn models()(
        parameters in prop_oneof![1u64..1_000_000_000_000_000, Just(1_000_000_000_000_000)],
        shape in prop::option::of((1u64..200, 1u64..20_000, 1u64..128, 1u64..300_000, any::<bool>())),
    ) -> Model {
        let shape = shape.map(|(layers, hidden, heads, vocabulary, untied)| Shape {
            heads: Some(heads), vocabulary: Some(vocabulary), untied, ..Shape::new(layers, hidden)
        });
        Model { shape, ..Model::new(parameters) }
    }
}

prop_compose! {
    fn setups()(
        convention in one_of(Convention::ALL),
        optimizer in one_of(Optimizer::ALL),
        precision in one_of(Precision::ALL),
        zero in 0u8..4,
        (gpus, nodes) in (1u64..64, 1u64..64),
        (offload, offload_parameters) in (one_of(Offload::ALL), one_of(Offload::ALL)),
        tuning in prop_oneof![
            Just(Tuning::Full),
            (0u64..1024).prop_map(|rank| Tuning::Lora { rank }),
            (0u64..1024).prop_map(|rank| Tuning::Qlora { rank }),
        ],
        (batch, sequence) in (prop::option::of(1u64..10_000), prop::option::of(1u64..1_000_000)),
        accumulation in 1u64..1_000,
        attention in one_of(Attention::ALL),
        (checkpointing, zero_init, sequence_parallel) in any::<(bool, bool, bool)>(),
    ) -> Setup {
        Setup {
            convention, optimizer, precision, zero: ZeroStage::try_from(zero).unwrap(), gpus, nodes, offload,
            offload_parameters, zero_init, tuning, batch, sequence, accumulation, attention, checkpointing,
            sequence_parallel: sequence_parallel && convention == Convention::Megatron, ..Setup::default()
        }
    }
}

proptest! {
    #[test]
    fn any_model_and_setup_is_estimated_or_refused(model in models(), setup in setups(), vram: u64, ram: u64) {
        let limits = Limits { vram: Some(ByteSize::new(vram)), ram: Some(ByteSize::new(ram)) };
        if let Ok(report) = Report::of(&model, &setup, &limits) {
            let estimate = &report.estimate;
            for phase in &estimate.phases {
                prop_assert!(phase.total.device <= estimate.peak.device);
            }
            let fits = report.fit.unwrap().verdict.holds();
            // A CUDA context takes its part of the device.
            let device = estimate.peak.device.checked_add(CONTEXT_LEAST);
            let beside = device.is_some_and(|device| device.bytes() <= vram);
            prop_assert_eq!(fits, beside && estimate.peak.host.bytes() <= ram);
            let json = serde_json::to_value(&report).unwrap();
            prop_assert_eq!(serde_json::from_value::<Report>(json).unwrap().estimate.peak, estimate.peak);
        }
    }

    #[test]
    fn extremes_are_refused_without_a_panic(numbers in prop::collection::vec(prop_oneof![any::<u64>(), Just(u64::MAX), Just(0)], 12)) {
        let shape = Shape { heads: Some(numbers[0]), vocabulary: Some(numbers[1]), ffn: numbers[2], ..Shape::new(numbers[3], numbers[4]) };
        let model = Model { shape: Some(shape), largest_layer: Some(numbers[6]), ..Model::new(numbers[5]) };
        let setup = Setup {
            gpus: numbers[7], nodes: numbers[8], batch: Some(numbers[9]), sequence: Some(numbers[10]),
            accumulation: numbers[11], ..Setup::default()
        };
        let _ = Report::of(&model, &setup, &Limits::default());
        let _ = Model::of_shape(shape);
    }

    #[test]
    fn more_never_costs_less(model in models(), setup in setups(), more in 1u64..1000) {
        let Ok(before) = Estimate::of(&model, &setup) else { return Ok(()) };
        let peak = |model: &Model, setup: &Setup| Estimate::of(model, setup).map(|estimate| estimate.peak).ok();
        let larger = Model { parameters: model.parameters.saturating_add(more), ..model };
        let longer = Setup { sequence: setup.sequence.map(|sequence| sequence + more), ..setup };
        let wider = Setup { batch: setup.batch.map(|batch| batch + more), ..setup };
        // If Adafactor's or an adapter's share depends on the assumed shape, a larger model may have a smaller one.
        let steady = model.shape.is_some() && setup.optimizer != Optimizer::Adafactor;
        for after in [peak(&larger, &setup).filter(|_| steady), peak(&model, &longer), peak(&model, &wider)].into_iter().flatten() {
            prop_assert!(after.device >= before.peak.device, "{:?} < {:?}", after, before.peak);
            prop_assert!(after.host >= before.peak.host && after.nvme >= before.peak.nvme);
        }
    }

    #[test]
    fn a_higher_stage_never_has_more_state_on_the_device(model in models(), setup in setups()) {
        let stages = (0..4).filter_map(|stage| {
            let zero = ZeroStage::try_from(stage).unwrap();
            let plain = Setup { zero, offload: Offload::None, offload_parameters: Offload::None, convention: Convention::Hf, sequence_parallel: false, ..setup };
            Estimate::of(&model, &plain).ok().map(|estimate| estimate.fixed.device)
        });
        let stages: Vec<_> = stages.collect();
        prop_assert!(stages.is_sorted_by(|a, b| a >= b), "{stages:?}");
    }
}
