//! [`Scale`]: a line for comparing amounts, which need not begin at 0.

use super::axis;
use crate::record::Unit;

/// A range of amounts of one unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    unit: Unit,
}

impl Scale {
    /// A range around `amounts` with some margin on both sides; values that are not finite are skipped.
    pub(super) fn around(amounts: impl IntoIterator<Item = f64>, unit: Unit) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for amount in amounts.into_iter().filter(|amount| amount.is_finite()) {
            (low, high) = (low.min(amount), high.max(amount));
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        // A small difference is not blown up to the whole width: it would look like noise.
        let room = ((high - low) * 0.08).max(high.abs() * 0.01).max(0.5);
        Self { low: (low - room).max(0.0), high: high + room, unit }
    }

    /// The position of `amount` from 0 to 1; amounts outside are placed at the nearest end.
    pub(super) fn share(&self, amount: f64) -> f64 {
        ((amount - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// Round amounts within the range, two to six of them.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 5.0;
        let step = match self.unit {
            Unit::Bytes => 2f64.powf(rough.log2().ceil()),
            Unit::Nanoseconds | Unit::Count => {
                let power = 10f64.powf(rough.log10().floor());
                [1.0, 2.0, 5.0, 10.0]
                    .map(|factor| factor * power)
                    .into_iter()
                    .find(|&step| step >= rough)
                    .unwrap_or(power)
            }
        };
        // Bytes, nanoseconds and counts have no fractions.
        let step = step.max(1.0);
        let first = (self.low / step).ceil();
        let ticks = (0..8).map(|at| (first + f64::from(at)) * step);
        ticks.take_while(|&tick| tick <= self.high).collect()
    }

    /// A tick with as few digits as it needs.
    pub(super) fn words(&self, tick: f64) -> String {
        match self.unit {
            Unit::Bytes => axis::amount(tick.round() as u64),
            Unit::Nanoseconds => axis::time(tick.round() as u64),
            Unit::Count => crate::report::terminal::number(tick),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: f64 = 1024.0 * 1024.0;

    fn words(scale: &Scale) -> Vec<String> {
        scale.ticks().into_iter().map(|tick| scale.words(tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_few() {
        let scale = Scale::around([53.15 * MIB, 61.21 * MIB], Unit::Bytes);
        assert_eq!(words(&scale), ["54 MiB", "56 MiB", "58 MiB", "60 MiB"]);
        assert!(scale.share(53.15 * MIB) > 0.05 && scale.share(61.21 * MIB) < 0.95);
        assert_eq!((scale.share(0.0), scale.share(1e12)), (0.0, 1.0));
        assert_eq!(words(&Scale::around([234e6, 269e6], Unit::Nanoseconds)), ["240 ms", "250 ms", "260 ms", "270 ms"]);
        assert_eq!(words(&Scale::around([0.0, 0.0], Unit::Count)), ["0"]);
        assert_eq!(words(&Scale::around([], Unit::Bytes)), ["0", "1 B"]);
    }

    proptest! {
        #[test]
        fn there_are_a_few_whatever_the_amounts(
            amounts in prop::collection::vec(0.0f64..1e18, 0..5),
            unit in prop::sample::select(vec![Unit::Bytes, Unit::Nanoseconds, Unit::Count]),
        ) {
            let scale = Scale::around(amounts.iter().copied(), unit);
            prop_assert!((1..=7).contains(&scale.ticks().len()), "{:?}", scale.ticks());
            prop_assert!(amounts.iter().all(|&amount| (0.0..=1.0).contains(&scale.share(amount))));
        }
    }
}
