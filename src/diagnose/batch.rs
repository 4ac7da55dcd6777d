//! The factors of the effective batch, from what configurations and trainers print.

use super::ascii::{Pattern, regex};
use super::findings::KnownBatch;

/// The factors of the batch found so far; later lines replace earlier ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    known: KnownBatch,
    /// The effective batch, if a line states it.
    total: Option<u64>,
}

impl Told {
    /// Reads the factors that `line` states.
    pub(super) fn read(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let last = |regex: &Pattern| {
            let found = regex.captures_iter(&text).last()?;
            found[1].replace(',', "").parse::<u64>().ok().filter(|factor| (1..=1 << 24).contains(factor))
        };
        let Self { known, total } = self;
        let micro = last(regex!(
            r"(?i)(?:instantaneous batch size per device|per[_-]device[_-]train[_-]batch[_-]size|train_micro_batch_size_per_gpu|micro[_-]batch[_-]size(?:_per_gpu)?)\b[\x22']?\s*[.:=\s]{1,20}([\d,]+)"
        ));
        let accumulation = last(regex!(r"(?i)gradient[_ -]accumulation[_ -]steps\b[\x22']?\s*[.:=\s]{1,20}([\d,]+)"));
        let world = last(regex!(r"(?i)(?:world[_ ]size|nproc[_-]per[_-]node)\b[\x22']?\s*[.:=\s]{1,20}([\d,]+)"));
        let all = last(regex!(
            r"(?i)(?:total train batch size[^=:]*|global[_-]batch[_-]size)[\x22']?\s*[.:=\s]{1,20}([\d,]+)"
        ));
        known.micro = micro.or(known.micro);
        known.accumulation = accumulation.or(known.accumulation);
        known.world = world.or(known.world);
        *total = all.or(*total);
    }

    /// The factors; a missing one follows from the product and the others.
    pub(super) fn factors(&self) -> Option<KnownBatch> {
        let mut known = self.known;
        if let Some(total) = self.total {
            let rest = |a: Option<u64>, b: Option<u64>| {
                let product = a?.checked_mul(b?)?;
                total.is_multiple_of(product).then_some(total / product)
            };
            let KnownBatch { micro, accumulation, world } = known;
            known.micro = micro.or_else(|| rest(accumulation, world));
            known.accumulation = accumulation.or_else(|| rest(micro, world));
            known.world = world.or_else(|| rest(micro, accumulation));
        }
        (known != KnownBatch::default()).then_some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trainers_and_configurations_tell_the_factors_and_the_third_follows() {
        for (lines, expected) in [
            (
                &[
                    "  Instantaneous batch size per device = 4",
                    "  Total train batch size (w. parallel, distributed & accumulation) = 512",
                    "  Gradient Accumulation steps = 16",
                ][..],
                (Some(4), Some(16), Some(8)),
            ),
            (&["--micro-batch-size 2 --global-batch-size 64", "using world size: 8"], (Some(2), Some(4), Some(8))),
            (&["per_device_train_batch_size=8,", "gradient_accumulation_steps=4,"], (Some(8), Some(4), None)),
            (&["  train_micro_batch_size_per_gpu  8", "  gradient_accumulation_steps .. 1"], (Some(8), Some(1), None)),
        ] {
            let mut told = Told::default();
            lines.iter().for_each(|line| told.read(line.as_bytes()));
            let known = told.factors().unwrap();
            assert_eq!((known.micro, known.accumulation, known.world), expected, "{lines:?}");
        }
        assert_eq!(Told::default().factors(), None);
    }
}
