//! The standard normal distribution.

/// The quantile for the probability `p`: the `z` below which a standard normal variable lies with that probability.
///
/// Uses P. J. Acklam's rational approximation (2003), with a relative error below 1.2e-9. Minus infinity for 0,
/// infinity for 1, NaN outside.
pub fn quantile(p: f64) -> f64 {
    let horner = |x: f64, coefficients: &[f64]| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if p > 1.0 - 0.02425 {
        return -quantile(1.0 - p);
    }
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        let over = [
            -7.784_894_002_430_293e-3,
            -3.223_964_580_411_365e-1,
            -2.400_758_277_161_838,
            -2.549_732_539_343_734,
            4.374_664_141_464_968,
            2.938_163_982_698_783,
        ];
        let under =
            [7.784_695_709_041_462e-3, 3.224_671_290_700_398e-1, 2.445_134_137_142_996, 3.754_408_661_907_416, 1.0];
        return horner(q, &over) / horner(q, &under);
    }
    let q = p - 0.5;
    let over = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    let under = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    q * horner(q * q, &over) / horner(q * q, &under)
}

/// The probability that a standard normal variable exceeds `z`.
///
/// Uses formula 26.2.17 of Abramowitz and Stegun (1964), with an absolute error below 7.5e-8. NaN for NaN.
pub fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let polynomial = series.iter().rev().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
    let tail = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial;
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// The natural logarithm of the probability that a standard normal variable exceeds `z`, however small it is.
///
/// Uses Laplace's continued fraction from 1 on, with a relative error below 1e-9, and [`upper_tail`] below 1.
pub fn ln_upper_tail(z: f64) -> f64 {
    if z.is_nan() || z < 1.0 {
        return upper_tail(z).ln();
    }
    let fraction = (1..=120).rev().fold(0.0, |fraction, k| f64::from(k) / (z + fraction));
    -z * z / 2.0 - (2.0 * std::f64::consts::PI).sqrt().ln() - (z + fraction).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in
            [(0.025, -1.959_963_985), (0.005, -2.575_829_304), (0.0005, -3.290_526_731), (0.25, -0.674_489_750)]
        {
            assert!((quantile(p) - z).abs() < 1e-8, "{p}");
            assert!((quantile(1.0 - p) + z).abs() < 1e-8, "{p}");
        }
        assert_eq!((quantile(0.0), quantile(0.5), quantile(1.0)), (f64::NEG_INFINITY, 0.0, f64::INFINITY));
        assert!([-0.1, 1.1, f64::NAN].iter().all(|p| quantile(*p).is_nan()));
    }

    #[test]
    fn the_upper_tail_is_that_of_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.158_655), (1.644_854, 0.05), (-1.644_854, 0.95), (3.0, 0.001_350)] {
            assert!((upper_tail(z) - p).abs() < 1e-6, "{z}");
        }
        assert_eq!((upper_tail(f64::INFINITY), upper_tail(f64::NEG_INFINITY)), (0.0, 1.0));
        assert!(upper_tail(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn one_undoes_the_other(p in 1e-6f64..0.999_999) {
            prop_assert!((upper_tail(quantile(p)) - (1.0 - p)).abs() < 1e-7);
        }

        #[test]
        fn both_are_symmetric_and_monotone(p in 1e-9f64..0.5, z in 0.0f64..8.0, step in 0.01f64..1.0) {
            // 1 - p rounds, which matters where the quantile is steep.
            prop_assert!((quantile(p) + quantile(1.0 - p)).abs() < 1e-6);
            prop_assert!((upper_tail(z) + upper_tail(-z) - 1.0).abs() < 1e-15);
            prop_assert!(upper_tail(z + step) <= upper_tail(z));
            prop_assert!(quantile(p) < quantile(p * (1.0 + step)));
        }
    }
}
