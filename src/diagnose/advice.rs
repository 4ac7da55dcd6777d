//! [`advice`]: what to do about an event, cheapest step first, and only what its verdict supports.
//!
//! If the work does not fit a device, the advice climbs the ladder of the estimate up to the first rung that the
//! estimate finds sufficient. Host memory has remedies of its own, and none of them is a smaller model. `empty_cache`
//! is never advised: it returns nothing to a process that the process could not use already.

use super::findings::{Advice, Event, KnownBatch};
use super::optimizer::Optimizer;
use super::remedy::{self, Remedy};
use super::sighting::Work;
use super::snapshot::Category;
use super::terms;
use super::verdict::{Kind, Verdict};
use crate::estimate::{Effect, Ladder, Rung};

/// What is known in addition to an event.
#[derive(Clone, Copy, Default)]
pub(super) struct Known<'a> {
    pub(super) work: Work,
    pub(super) batch: Option<&'a KnownBatch>,
    pub(super) ladder: Option<&'a Ladder>,
    /// What held most of the memory, according to a snapshot.
    pub(super) tallest: Option<Category>,
    /// The optimizer whose step failed.
    pub(super) optimizer: Option<&'a Optimizer>,
    /// How many steps were complete.
    pub(super) complete: Option<u64>,
}

/// What to do about `event`, in order.
///
/// Without a ladder of the model, every rung that applies is listed, starting with those for the phase. With a ladder,
/// the rungs keep its order, because each builds on those before it, and the list ends at the first that fits.
pub(super) fn advice(event: &Event, known: Known<'_>) -> Vec<Advice> {
    let Known { work, batch, ladder, tallest, optimizer, complete } = known;
    if let Some(own) = in_terms(event) {
        return own;
    }
    let mut list: Vec<Advice> = remedy::first(event, work).into_iter().map(Advice::from).collect();
    let serves = matches!(work, Work::Serving | Work::Loading);
    if event.kind == Kind::VramOom && !serves && !event.also.contains(&Verdict::Eval) {
        let allocates = event.also.contains(&Verdict::OptimizerState) && !event.also.contains(&Verdict::FirstBackward);
        let own = terms::trains(event.software.as_deref().unwrap_or_default(), allocates);
        list.extend(own.iter().map(|what| plain(terms::filled(what, event))));
    }
    let late = complete.is_some_and(|complete| complete > 1);
    if event.also.contains(&Verdict::OptimizerStep) && optimizer.is_some_and(|optimizer| optimizer.lists && late) {
        list.push(remedy::LISTS.into());
    }
    let mut rungs = rungs(event, work).to_vec();
    // State of 8 bits cannot become smaller, and SGD has little of it.
    if optimizer.is_some_and(|optimizer| optimizer.small || optimizer.name.as_deref() == Some("SGD")) {
        rungs.retain(|rung| *rung != Rung::Optimizer8bit);
    }
    if ladder.is_some() {
        rungs.sort_unstable();
    } else if event.verdict == Verdict::Capacity {
        let against = tallest.map(against).unwrap_or_default();
        rungs.sort_by_key(|rung| against.iter().position(|first| first == rung).unwrap_or(against.len()));
    }
    for rung in rungs {
        let Some(mut one) = on_ladder(rung, work, batch) else { continue };
        if let Some(step) = ladder.and_then(|ladder| ladder.steps.iter().find(|step| step.rung == rung)) {
            if rung != Rung::ExpandableSegments && step.reason.is_some() {
                continue;
            }
            one.saving = step.saving;
            one.fits = step.fits;
        }
        list.push(one);
        if ladder.is_some_and(|ladder| ladder.first_that_fits == Some(rung)) {
            break;
        }
    }
    list.extend(remedy::last(event).into_iter().map(Advice::from));
    list
}

/// Advice in the terms of the software that made the request, if it has terms of its own.
fn in_terms(event: &Event) -> Option<Vec<Advice>> {
    let software = event.software.as_deref();
    let own = match event.kind {
        Kind::VramOom => match event.verdict {
            // These two verdicts have the same remedies in every program: look at who holds the device, or at the
            // limit.
            Verdict::OtherProcess | Verdict::UnattributedMemory => return None,
            _ => terms::on_device(software?)?,
        },
        Kind::HostAllocFail | Kind::CgroupOom | Kind::HostOom => match software.and_then(terms::on_host) {
            Some(own) => own,
            None if data_side(event) => return None,
            None => &terms::ANY_HOST,
        },
        Kind::Report if event.verdict == Verdict::NearCapacity => terms::on_device(software?)?,
        Kind::Shm if matches!(software, Some("ray" | "chrome")) => terms::on_host(software?)?,
        Kind::SigkillUnattributed if event.verdict == Verdict::SigkillUnattributed => {
            // Nothing proves that memory was the cause: find out who sent the signal first.
            let found = remedy::first(event, Work::Unknown).into_iter().map(Advice::from);
            let own = terms::on_host(software?)?;
            let own = own.iter().take(1).map(|what| plain(format!("if it was memory: {}", terms::filled(what, event))));
            return Some(found.chain(own).collect());
        }
        _ => return None,
    };
    Some(own.iter().map(|what| plain(terms::filled(what, event))).collect())
}

/// Whether the process reads data for training, judged by its name or its software.
fn data_side(event: &Event) -> bool {
    let python = |name: &Option<String>| {
        name.as_deref().is_some_and(|name| {
            name.contains("python") || name.contains("pt_main") || name.contains("torch") || name.contains("ray::")
        })
    };
    python(&event.victim)
        || event.also.contains(&Verdict::DataloaderWorkerKill)
        || matches!(
            event.software.as_deref(),
            Some("python" | "pytorch" | "hf" | "deepspeed" | "megatron" | "lightning" | "arrow")
        )
}

fn plain(what: String) -> Advice {
    Advice { rung: None, what, class: Effect::KeepsTheMath, saving: None, fits: None, batch: None }
}

impl From<Remedy> for Advice {
    fn from(remedy: Remedy) -> Self {
        Self { rung: None, what: remedy.what.to_owned(), class: remedy.class, saving: None, fits: None, batch: None }
    }
}

/// The rungs that shrink a band of a snapshot, in order.
fn against(band: Category) -> &'static [Rung] {
    use Rung::{Adapter, Bf16, Checkpointing, MicroBatch, Offload, Optimizer8bit, Sdpa, Sharding, ShorterSequence};
    match band {
        Category::Parameters => &[Sharding, Bf16, Adapter, Offload],
        Category::Gradients => &[Sharding, Adapter, Bf16],
        Category::OptimizerState => &[Optimizer8bit, Sharding, Offload, Adapter],
        Category::Activations => &[Checkpointing, MicroBatch, Bf16, Sdpa, ShorterSequence],
        Category::Inputs | Category::Temporaries => &[MicroBatch, Sdpa, ShorterSequence, Bf16],
        Category::Unknown => &[],
    }
}

/// The rungs that help with `event`, in order.
fn rungs(event: &Event, work: Work) -> &'static [Rung] {
    use Rung::{
        Adapter, Bf16, Checkpointing, ExpandableSegments, MicroBatch, Offload, Optimizer8bit, Sdpa, Sharding,
        ShorterSequence,
    };
    match event.kind {
        Kind::Report if event.verdict == Verdict::Fragmentation => return &[ExpandableSegments],
        Kind::VramOom => {}
        _ => return &[],
    }
    let in_phase = |phase| event.also.contains(&phase);
    match event.verdict {
        Verdict::Fragmentation => &[ExpandableSegments],
        Verdict::OtherProcess
        | Verdict::UnattributedMemory
        | Verdict::PrivatePool
        | Verdict::UnexplainedFreeExceedsRequest
        | Verdict::NonPytorchMemory => &[],
        // Evaluation has remedies of its own: the training state is not at fault.
        _ if in_phase(Verdict::Eval) => &[],
        // The backward pass fitted once: what came since is the optimizer's state.
        _ if in_phase(Verdict::OptimizerState) && in_phase(Verdict::FirstBackward) => {
            &[Optimizer8bit, Sharding, Offload, Adapter, Checkpointing, MicroBatch, Bf16, Sdpa, ShorterSequence]
        }
        _ if in_phase(Verdict::OptimizerStep) || in_phase(Verdict::OptimizerState) => {
            &[Optimizer8bit, Sharding, Offload, Adapter]
        }
        // A single tensor is too large: shrink that tensor. Weights and optimizer are not at fault.
        Verdict::SingleHugeRequest => &[MicroBatch, Bf16, Sdpa, ShorterSequence],
        // Only the weights are there yet.
        _ if work == Work::Loading => &[Bf16, Sharding, Offload],
        _ if matches!(work, Work::Inference | Work::Serving) => {
            &[MicroBatch, Bf16, Sdpa, ShorterSequence, Sharding, Offload]
        }
        // Gradients compete with cached activations: reduce the activations first.
        _ if in_phase(Verdict::FirstBackward) => {
            &[Checkpointing, MicroBatch, Bf16, Sdpa, ShorterSequence, Optimizer8bit, Sharding, Offload, Adapter]
        }
        _ => &[MicroBatch, Bf16, Checkpointing, Sdpa, ShorterSequence, Optimizer8bit, Sharding, Offload, Adapter],
    }
}

/// A rung as advice; `None` if the known batch rules it out.
fn on_ladder(rung: Rung, work: Work, batch: Option<&KnownBatch>) -> Option<Advice> {
    let mut advice = Advice {
        rung: Some(rung.number()),
        what: words(rung, work),
        class: rung.mark(),
        saving: None,
        fits: None,
        batch: None,
    };
    if rung == Rung::MicroBatch {
        let (micro, accumulation) = (batch.and_then(|batch| batch.micro), batch.and_then(|batch| batch.accumulation));
        match (micro, work) {
            (Some(1), _) => return None,
            (Some(micro), Work::Training | Work::Unknown) => {
                let world = batch.and_then(|batch| batch.world);
                // The smallest step that keeps the product: an odd batch is divided by its smallest factor.
                let by = (2..=micro).find(|factor| micro.is_multiple_of(*factor)).unwrap_or(micro);
                let smaller =
                    KnownBatch { micro: Some(micro / by), accumulation: accumulation.map(|steps| steps * by), world };
                let factor = |factor: Option<u64>| factor.map_or_else(|| "?".to_owned(), |factor| factor.to_string());
                let more =
                    accumulation.map_or_else(|| format!("times {by}"), |steps| format!("x{steps} -> x{}", steps * by));
                let known = format!("micro {micro} -> {}, accumulation {more}, world {}", micro / by, factor(world));
                // Replace the names of the factors by their values.
                advice.what = match advice.what.split_once(": the effective batch") {
                    Some((_, rest)) => format!("{}: {known}: the effective batch{rest}", rung.title()),
                    None => format!("{}: {known}", advice.what),
                };
                advice.batch = Some(smaller);
            }
            _ => {}
        }
    }
    Some(advice)
}

/// A rung in words. Inference has no optimizer and no accumulation.
fn words(rung: Rung, work: Work) -> String {
    if !matches!(work, Work::Inference | Work::Serving | Work::Loading) {
        return format!("{}: {}", rung.title(), rung.advice());
    }
    match rung {
        Rung::MicroBatch => "smaller batch: fewer samples, images or requests at once".to_owned(),
        Rung::Bf16 => "half precision: load the weights in bf16 or fp16, or quantized".to_owned(),
        Rung::Sharding => "shard: tensor or pipeline parallelism over at least two GPUs".to_owned(),
        Rung::Offload => "offload: device_map=\"auto\", enable_model_cpu_offload(), --cpu-offload-gb; slow".to_owned(),
        Rung::ShorterSequence => "shorter input: max_model_len, resolution or frames down".to_owned(),
        _ => format!("{}: {}", rung.title(), rung.advice()),
    }
}
