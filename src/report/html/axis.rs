//! Round ticks for bytes and for times.

use crate::report::terminal::duration;
use plimsoll_memory::bytes::ByteSize;

/// Round steps from 0 to `top` bytes, four to eight of them, as powers of two.
pub(super) fn bytes(top: u64) -> Vec<u64> {
    // The largest power of two that gives at least four steps.
    let step = (top / 4).checked_ilog2().map_or(1, |power| 1 << power);
    multiples(step, top)
}

/// A round amount with as few digits as it needs: `256 MiB`.
pub(super) fn amount(bytes: u64) -> String {
    if bytes == 0 { "0".to_owned() } else { ByteSize::new(bytes).to_string().replace(".00 ", " ") }
}

/// Round steps from 0 to `span` nanoseconds, five to twelve of them.
pub(super) fn times(span: u64) -> Vec<u64> {
    const SECOND: u64 = 1_000_000_000;
    const MINUTES: [u64; 10] = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200];
    let rough = (span / 6).max(1);
    let decimal = || {
        let power = 10u64.pow(rough.ilog10());
        [1, 2, 5, 10].into_iter().map(|factor| factor * power).find(|&step| step >= rough).unwrap_or(power)
    };
    let minutes = || MINUTES.into_iter().map(|seconds| seconds * SECOND).find(|&step| step >= rough);
    let step = if rough <= 30 * SECOND { decimal() } else { minutes().unwrap_or_else(decimal) };
    multiples(step, span)
}

/// A round time with as few digits as it needs: `20 ms`, `1.5 s`, `2 min`.
pub(super) fn time(ns: u64) -> String {
    if ns >= 60_000_000_000 {
        return duration(ns as f64).replace(" min 00 s", " min").replace(" h 00 min", " h");
    }
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns")];
    match units.into_iter().find(|&(unit, _)| ns >= unit) {
        // Ticks are round, so the float prints few digits.
        Some((unit, name)) => format!("{} {name}", ns as f64 / unit as f64),
        None => "0".to_owned(),
    }
}

/// The multiples of `step` from 0 to `end`.
fn multiples(step: u64, end: u64) -> Vec<u64> {
    (0..).map_while(|count: u64| count.checked_mul(step)).take_while(|&at| at <= end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let mib = 1 << 20;
        assert_eq!(bytes(340 * mib), [0, 64 * mib, 128 * mib, 192 * mib, 256 * mib, 320 * mib]);
        assert_eq!(bytes(0), [0]);
        assert_eq!(amount(64 * mib), "64 MiB");
        assert_eq!(
            times(1_200_000_000).iter().map(|&at| time(at)).collect::<Vec<_>>(),
            ["0", "200 ms", "400 ms", "600 ms", "800 ms", "1 s", "1.2 s"]
        );
        assert_eq!(
            times(600_000_000_000).iter().map(|&at| time(at)).take(3).collect::<Vec<_>>(),
            ["0", "2 min", "4 min"]
        );
        assert_eq!(time(90_000_000_000), "1 min 30 s");
        assert_eq!(time(20_000_000), "20 ms");
        assert_eq!(time(2_500_000), "2.5 ms");
    }

    proptest! {
        #[test]
        fn there_are_a_few_whatever_the_range(top in any::<u64>(), span in any::<u64>()) {
            prop_assert!((1..=9).contains(&bytes(top).len()), "{:?}", bytes(top));
            prop_assert!((1..=17).contains(&times(span).len()), "{:?}", times(span));
        }
    }
}
