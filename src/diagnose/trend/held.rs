//! [`judge`]: what allocated and reserved memory mean together. A log and a configuration compared with its baseline
//! share this judge.

/// Below this, reserved beyond allocated memory is the cache at work: a tenth of an 80 GiB device.
const CACHE: f64 = 8.0 * (1u64 << 30) as f64;

/// The memory of the worst rank at one label, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// Whether allocated memory rises while the work stays constant.
    pub(super) rises: bool,
    pub(super) allocated: Option<f64>,
    pub(super) reserved: Option<f64>,
    /// Whether ranks with the same work and the same allocated memory reserve different amounts.
    pub(super) by_rank: bool,
}

/// Which amounts are near the baseline.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Near {
    pub(super) allocated: Option<f64>,
    pub(super) reserved: Option<f64>,
}

/// What memory is held for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Tensors that should have been freed.
    Leak,
    /// The tensors are gone, and the allocator's cache is in pieces that cannot be released.
    Fragmentation,
    /// The allocator's cache, which serves the next requests.
    Cache,
    /// Nothing beyond the memory in use.
    Used,
    /// A figure is missing.
    Unknown,
}

/// Judges `held`; with a baseline, by what is `near` it.
pub(super) fn judge(held: &Held, near: Option<Near>) -> State {
    let Some(near) = near else {
        let (Some(allocated), Some(reserved)) = (held.allocated, held.reserved) else {
            return if held.rises { State::Leak } else { State::Unknown };
        };
        let gap = reserved - allocated;
        return match gap > CACHE && gap > reserved / 2.0 {
            _ if held.rises => State::Leak,
            true if held.by_rank => State::Fragmentation,
            true => State::Cache,
            false => State::Used,
        };
    };
    let is_near = |held: Option<f64>, near: Option<f64>| Some(held? <= near?);
    match (is_near(held.allocated, near.allocated), is_near(held.reserved, near.reserved)) {
        _ if held.rises => State::Leak,
        (Some(false), _) => State::Leak,
        (Some(true), Some(false)) => State::Fragmentation,
        (Some(true), Some(true)) => State::Used,
        _ => State::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: f64 = (1u64 << 30) as f64;

    /// The rows of NVIDIA-NeMo/RL #2003, each judged alone and against its baseline.
    #[test]
    fn a_log_and_a_configuration_are_judged_alike() {
        let near = Near { allocated: Some(1.5 * GIB), reserved: Some(6.2 * GIB) };
        for (allocated, reserved, rises, by_rank, alone, beside) in [
            (0.5, 5.2, false, false, State::Used, State::Used),
            (8.9, 26.0, true, false, State::Leak, State::Leak),
            (0.6, 15.5, false, true, State::Fragmentation, State::Fragmentation),
            // Without a baseline, and equal on all ranks, the cache may be used again at the next step.
            (0.6, 15.5, false, false, State::Cache, State::Fragmentation),
            (1.1, 3.0, false, false, State::Used, State::Used),
        ] {
            let held = Held { rises, allocated: Some(allocated * GIB), reserved: Some(reserved * GIB), by_rank };
            assert_eq!((judge(&held, None), judge(&held, Some(near))), (alone, beside), "{allocated} {reserved}");
        }
        assert_eq!(judge(&Held::default(), Some(near)), State::Unknown);
    }
}
