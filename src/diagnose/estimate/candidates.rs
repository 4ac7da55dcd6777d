//! The setups that a rung offers, mildest first.

use super::choices::{Attention, Offload, Precision, Tuning, ZeroStage};
use super::convention::Convention;
use super::model::Model;
use super::rung::Rung;
use super::setup::Setup;

/// The default rank of adapters, as in PEFT's examples and QLoRA's small setting.
const RANK: u64 = 16;

/// The shortest sequence that is suggested.
const SHORTEST_SEQUENCE: u64 = 256;

/// A setup that a rung offers.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) setup: Setup,
    /// A description of the change.
    pub(super) change: String,
}

/// The setups that `rung` offers from `setup`, mildest first, or why it does not apply.
pub(super) fn candidates(rung: Rung, model: &Model, setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    if setup.inference {
        return generating(rung, setup);
    }
    match rung {
        Rung::MicroBatch => micro_batch(setup),
        Rung::Bf16 => match setup.precision {
            Precision::Bf16Mixed | Precision::Bf16 => Err("it is in bf16 already"),
            from => {
                let to = Precision::Bf16Mixed;
                Ok(vec![Candidate { setup: Setup { precision: to, ..*setup }, change: format!("{from} -> {to}") }])
            }
        },
        Rung::Checkpointing if setup.checkpointing => Err("activations are checkpointed already"),
        Rung::Checkpointing => {
            known(setup)?;
            let change = "checkpointing on".to_owned();
            Ok(vec![Candidate { setup: Setup { checkpointing: true, ..*setup }, change }])
        }
        Rung::ExpandableSegments => Err("against fragmentation only, which no estimate shows"),
        Rung::Sdpa if setup.attention == Attention::Sdpa => Err("attention keeps no scores already"),
        Rung::Sdpa => {
            known(setup)?;
            let attention = Attention::Sdpa;
            Ok(vec![Candidate { setup: Setup { attention, ..*setup }, change: "eager -> sdpa".to_owned() }])
        }
        Rung::ShorterSequence => shorter(setup),
        Rung::Optimizer8bit => {
            let optimizer = setup.optimizer.in_8_bits()?;
            let change = format!("{} -> {optimizer}", setup.optimizer);
            Ok(vec![Candidate { setup: Setup { optimizer, ..*setup }, change }])
        }
        Rung::Sharding => sharding(setup),
        Rung::Offload => offload(setup),
        Rung::Adapter => adapter(model, setup),
    }
}

/// The rungs that help a model that generates.
fn generating(rung: Rung, setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    let one = |setup, change: String| Ok(vec![Candidate { setup, change }]);
    match rung {
        Rung::MicroBatch => {
            let (batch, _) = known(setup)?;
            let halves = std::iter::successors(Some(batch / 2), |half| Some(half / 2)).take_while(|&half| half > 0);
            let fewer = |to| Candidate {
                setup: Setup { batch: Some(to), ..*setup },
                change: format!("{batch} -> {to} sequences at once"),
            };
            Ok(halves.map(fewer).collect())
        }
        Rung::Bf16 if setup.precision == Precision::Fp32 => {
            let to = Precision::Bf16Mixed;
            one(Setup { precision: to, ..*setup }, "weights and cache in 16 bits".to_owned())
        }
        Rung::ShorterSequence => shorter(setup),
        Rung::Adapter if !matches!(setup.tuning, Tuning::Qlora { .. }) => {
            one(Setup { tuning: Tuning::Qlora { rank: RANK }, ..*setup }, "weights in 4 bits".to_owned())
        }
        Rung::Bf16 | Rung::Adapter => Err("already so"),
        _ => Err("helps only in training"),
    }
}

/// The batch and the sequence length of `setup`.
fn known(setup: &Setup) -> Result<(u64, u64), &'static str> {
    setup.batch.zip(setup.sequence).ok_or("activations are not counted: give --batch and --seq")
}

/// Every divisor below the micro-batch; accumulation grows by the same factor.
fn micro_batch(setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    let (batch, _) = known(setup)?;
    if batch == 1 {
        return Err("the micro-batch is 1 already");
    }
    // Large divisors are found by their small partners, so that a hostile batch costs a bounded search.
    let small: Vec<u64> = (2..=batch.min(4096)).filter(|part| batch % part == 0).collect();
    let to_one = small.last() != Some(&batch);
    let parts = small.into_iter().chain(to_one.then_some(batch));
    let candidate = |part: u64| {
        let micro = batch / part;
        let accumulation = setup.accumulation.checked_mul(part)?;
        let from = setup.accumulation;
        let change = format!("micro-batch {batch} -> {micro}, accumulation {from} -> {accumulation}");
        Some(Candidate { setup: Setup { batch: Some(micro), accumulation, ..*setup }, change })
    };
    Ok(parts.filter_map(candidate).collect())
}

fn shorter(setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    let (_, sequence) = known(setup)?;
    let halves = [2, 4].into_iter().map(|part| sequence / part).filter(|&shorter| shorter >= SHORTEST_SEQUENCE);
    let candidates: Vec<_> = halves
        .map(|shorter| Candidate {
            setup: Setup { sequence: Some(shorter), ..*setup },
            change: format!("sequence {sequence} -> {shorter}"),
        })
        .collect();
    if candidates.is_empty() { Err("the sequence is short already") } else { Ok(candidates) }
}

fn sharding(setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    if setup.data_parallel() < 2 {
        return Err("sharding needs at least two GPUs");
    }
    let most = if setup.convention == Convention::Megatron { ZeroStage::One } else { ZeroStage::Three };
    let stages = [ZeroStage::One, ZeroStage::Two, ZeroStage::Three];
    let candidates: Vec<_> = stages
        .into_iter()
        .filter(|&stage| stage > setup.zero && stage <= most)
        .map(|zero| Candidate { setup: Setup { zero, ..*setup }, change: format!("ZeRO-{}", u8::from(zero)) })
        .collect();
    if candidates.is_empty() { Err("everything is sharded already") } else { Ok(candidates) }
}

fn offload(setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    if setup.convention == Convention::Megatron {
        return Err("the megatron convention has no formula for it");
    }
    let two = setup.zero.max(ZeroStage::Two);
    let three = ZeroStage::Three;
    let (cpu, nvme) = (Offload::Cpu, Offload::Nvme);
    let all = [
        (two, cpu, Offload::None, "optimizer to the host"),
        (three, cpu, cpu, "optimizer and parameters to the host"),
        (three, nvme, nvme, "optimizer and parameters to NVMe"),
    ];
    let candidates: Vec<_> = all
        .into_iter()
        .filter(|&(_, offload, parameters, _)| offload > setup.offload || parameters > setup.offload_parameters)
        .map(|(zero, offload, offload_parameters, words)| Candidate {
            setup: Setup { zero, offload, offload_parameters, ..*setup },
            change: format!("ZeRO-{}, {words}", u8::from(zero)),
        })
        .collect();
    if candidates.is_empty() { Err("everything is offloaded already") } else { Ok(candidates) }
}

fn adapter(model: &Model, setup: &Setup) -> Result<Vec<Candidate>, &'static str> {
    let with = |tuning, change: String| Candidate { setup: Setup { tuning, ..*setup }, change };
    let share = |rank| model.adapter_parameters(rank) as f64 / model.parameters as f64 * 100.0;
    match setup.tuning {
        Tuning::Full => Ok(vec![
            with(Tuning::Lora { rank: RANK }, format!("LoRA of rank {RANK}: {:.2} % of the parameters", share(RANK))),
            with(Tuning::Qlora { rank: RANK }, format!("QLoRA of rank {RANK}: the base in 4 bits")),
        ]),
        Tuning::Lora { rank } => Ok(vec![with(Tuning::Qlora { rank }, "QLoRA: the base in 4 bits".to_owned())]),
        Tuning::Qlora { .. } => Err("the base is in 4 bits already"),
    }
}
