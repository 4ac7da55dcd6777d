//! Tests of steps in artificial series: which are found, where, and which are not.

use proptest::prelude::*;

use super::*;
use crate::random::SplitMix64;

/// Random numbers, uniform between 0 and 1 or normal.
struct Lots(SplitMix64);

impl Lots {
    fn even(&mut self) -> f64 {
        (self.0.below(1 << 30) as f64 + 0.5) / f64::from(1 << 30)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.even().ln()).sqrt() * (std::f64::consts::TAU * self.even()).cos()
    }

    /// Points around 100 that scatter by `deviation`.
    fn series(&mut self, count: usize, deviation: f64) -> Vec<f64> {
        (0..count).map(|_| 100.0 + deviation * self.normal()).collect()
    }
}

/// `series` with every point from `at` on multiplied.
fn raised(mut series: Vec<f64>, at: usize, by: f64) -> Vec<f64> {
    series[at..].iter_mut().for_each(|value| *value *= by);
    series
}

fn places(series: &[f64]) -> Vec<usize> {
    steps(series).iter().map(|step| step.at).collect()
}

/// Two levels; this share of the points is on the upper one.
fn two_levels(lots: &mut Lots, count: usize, share: f64) -> Vec<f64> {
    (0..count).map(|_| 100.0 + if lots.even() < share { 10.0 } else { 0.0 } + 0.3 * lots.normal()).collect()
}

/// Points around 100 that scatter by 1, each correlated with the one before it.
fn wandering(lots: &mut Lots, count: usize, correlation: f64) -> Vec<f64> {
    let mut last = lots.normal();
    let mut next = || {
        last = correlation * last + (1.0 - correlation * correlation).sqrt() * lots.normal();
        100.0 + last
    };
    (0..count).map(|_| next()).collect()
}

/// The number of `tries` for which `holds` is true.
fn count(tries: usize, mut holds: impl FnMut(&mut Lots) -> bool) -> usize {
    let mut lots = Lots(SplitMix64::new(7));
    (0..tries).filter(|_| holds(&mut lots)).count()
}

#[test]
fn a_change_of_level_is_found_where_it_is() {
    let found = steps(&raised(Lots(SplitMix64::new(1)).series(27, 0.3), 15, 1.1));
    let [step] = &found[..] else { panic!("{found:?}") };
    assert_eq!(step.at, 15);
    assert!(step.before < 100.5 && step.after > 109.5 && step.p <= 1e-4, "{step:?}");
}

#[test]
fn up_and_down_again_are_two_and_stairs_are_all_found() {
    let mut lots = Lots(SplitMix64::new(2));
    let series = raised(raised(lots.series(60, 1.0), 20, 1.2), 40, 1.0 / 1.2);
    assert_eq!(places(&series), [20, 40]);
    let stairs: Vec<f64> =
        lots.series(300, 1.0).iter().enumerate().map(|(at, value)| value + 10.0 * (at / 30) as f64).collect();
    assert_eq!(places(&stairs), [30, 60, 90, 120, 150, 180, 210, 240, 270]);
}

#[test]
fn a_doubling_and_a_tenth_more_are_known_from_the_third_point_on() {
    for by in [2.0, 1.1] {
        let known = |fresh: usize| count(50, |lots| places(&raised(lots.series(40 + fresh, 1.0), 40, by)) == [40]);
        assert_eq!((known(2), known(3)), (0, 50), "{by}");
    }
}

#[test]
fn outliers_hide_no_step_and_are_none() {
    let hold = count(200, |lots| {
        let mut series = raised(lots.series(40, 1.0), 20, 1.1);
        for _ in 0..3 {
            let at = lots.0.below(40);
            series[at] *= 1.5 + 3.5 * lots.even();
        }
        // Two outliers beside the step make its place ambiguous.
        matches!(places(&series)[..], [at] if at.abs_diff(20) <= 2)
    });
    assert!(hold >= 198, "{hold} of 200");
    assert_eq!(
        count(200, |lots| {
            let mut series = lots.series(60, 1.0);
            series[30] = 1e6;
            series[45] = 0.0;
            places(&series).is_empty()
        }),
        200
    );
}

#[test]
fn a_jump_out_of_a_creep_is_placed_where_it_is() {
    for deviation in [0.0, 0.1, 1.0] {
        let held = count(50, |lots| {
            let creep = lots.series(80, deviation).into_iter().enumerate();
            places(&raised(creep.map(|(at, value)| value + 0.1 * at as f64).collect(), 40, 1.2)) == [40]
        });
        assert_eq!(held, 50, "{deviation}");
    }
}

#[test]
fn an_excursion_that_came_back_is_no_step() {
    for points in 1..=LONGEST_EXCURSION {
        let quiet = count(50, |lots| {
            places(&raised(raised(lots.series(120, 1.0), 60, 1.3), 60 + points, 1.0 / 1.3)).is_empty()
        });
        assert_eq!(quiet, 50, "{points}");
    }
}

#[test]
fn noise_of_any_shape_has_hardly_a_step() {
    type Noise = fn(&mut Lots, usize) -> Vec<f64>;
    let half: Noise = |lots, count| two_levels(lots, count, 0.5);
    let third: Noise = |lots, count| two_levels(lots, count, 0.3);
    let normal: Noise = |lots, count| lots.series(count, 1.0);
    let heavy: Noise =
        |lots, count| (0..count).map(|_| 100.0 + lots.normal() / lots.normal().abs().max(0.05)).collect();
    let long_tail: Noise = |lots, count| (0..count).map(|_| 100.0 - 3.0 * lots.even().ln()).collect();
    let quantised: Noise = |lots, count| (0..count).map(|_| (20.0 + 0.4 * lots.normal()).round()).collect();
    let drift: Noise = |lots, count| (0..count).map(|at| 100.0 + 0.1 * at as f64 + 0.3 * lots.normal()).collect();
    let wave: Noise =
        |lots, count| (0..count).map(|at| 100.0 + 5.0 * (at as f64 / 10.0).sin() + 0.5 * lots.normal()).collect();
    let noises = [
        ("normal", normal),
        ("heavy tails", heavy),
        ("one long tail", long_tail),
        ("two levels", half),
        ("two levels, one seldom", third),
        ("quantised", quantised),
        ("drift", drift),
        ("wave", wave),
    ];
    for (name, noise) in noises {
        let alarms = [12, 30, 200].map(|points| count(60, |lots| !places(&noise(lots, points)).is_empty()));
        assert!(alarms.iter().all(|alarms| *alarms <= 4) && alarms.iter().sum::<usize>() <= 6, "{name}: {alarms:?}");
    }
}

#[test]
fn a_series_that_wanders_has_hardly_more_steps_than_independent_noise() {
    for correlation in [0.0, 0.6, 0.8, 0.9] {
        let alarms =
            [30, 60, 200].map(|points| count(100, |lots| !places(&wandering(lots, points, correlation)).is_empty()));
        assert!(alarms.iter().sum::<usize>() <= 6, "{correlation}: {alarms:?}");
    }
}

#[test]
fn a_correlation_is_not_underestimated_in_few_points() {
    let mut lots = Lots(SplitMix64::new(4));
    for (correlation, most) in [(0.0, 0.3), (0.6, 0.8), (0.8, 0.95)] {
        let mut found = || {
            let off: Vec<f64> = wandering(&mut lots, 44, correlation).iter().map(|value| value - 100.0).collect();
            wander::correlation(&off, 22)
        };
        let mean = (0..200).map(|_| found()).sum::<f64>() / 200.0;
        assert!(mean > correlation && mean < most, "{correlation}: {mean}");
    }
}

#[test]
fn a_step_of_a_series_that_wanders_is_found() {
    let found = count(100, |lots| {
        let series = raised(wandering(lots, 200, 0.8), 100, 1.2);
        matches!(places(&series)[..], [at] if at.abs_diff(100) <= 1)
    });
    assert!(found >= 95, "{found} of 100");
}

#[test]
fn a_step_makes_others_likelier_and_hardly_any_of_wandering() {
    let stairs = |lots: &mut Lots| {
        let level = |at: usize| [0.0, 2.0, 22.0][at / 60];
        lots.series(180, 1.0).iter().enumerate().map(|(at, value)| value + level(at)).collect::<Vec<f64>>()
    };
    // One in four has the small step if each step is judged alone.
    let both = count(200, |lots| matches!(places(&stairs(lots))[..], [at, 120] if at.abs_diff(60) <= 5));
    assert!(both >= 150, "{both} of 200");
    for correlation in [0.6, 0.8, 0.9] {
        let alone = count(100, |lots| {
            let found = places(&raised(wandering(lots, 200, correlation), 100, 1.1));
            matches!(found[..], [at] if at.abs_diff(100) <= 3)
        });
        assert!(alone >= 90, "{correlation}: {alone} of 100");
    }
}

#[test]
fn a_small_step_in_strong_noise_is_seen_only_from_afar() {
    let found = |side: usize| {
        count(50, |lots| {
            let series = raised(lots.series(2 * side, 1.0), side, 1.015);
            matches!(places(&series)[..], [at] if at.abs_diff(side) <= 10)
        })
    };
    let (near, far) = (found(12), found(100));
    assert!(near <= 10 && far >= 45, "{near} and {far} of 50");
}

#[test]
fn a_step_is_compared_with_the_range_of_its_history() {
    let levels = |levels: &[f64]| levels.iter().flat_map(|level| [*level; 40]).collect::<Vec<f64>>();
    assert_eq!(places(&levels(&[100.0, 100.7])), [40]);
    assert_eq!(places(&levels(&[100.0, 120.0, 120.7])), [40]);
    assert_eq!(places(&levels(&[100.0, 120.0, 121.0])), [40, 80]);
    // However far off a single record is, a few percent count.
    let mut broken = levels(&[100.0, 103.0]);
    broken[9] = 1e6;
    assert_eq!(places(&broken), [40]);
}

#[test]
fn too_little_or_nothing_that_moves_has_no_step() {
    for series in [vec![], vec![1.0], vec![100.0, 100.0, 200.0, 200.0], vec![7.0; 40], vec![0.0; 40], vec![f64::NAN; 9]]
    {
        assert_eq!(steps(&series), [], "{series:?}");
    }
    // Exact figures have no noise: half a percent counts, less does not.
    let exact = |after: f64| places(&raised(vec![1000.0; 40], 20, after));
    assert_eq!((exact(1.005), exact(1.004)), (vec![20], vec![]));
}

#[test]
fn missing_figures_are_left_out_and_places_are_those_of_the_series() {
    let mut series = raised(Lots(SplitMix64::new(3)).series(60, 1.0), 30, 1.2);
    for at in (0..60).step_by(7) {
        series[at] = f64::NAN;
    }
    assert_eq!(places(&series), [30]);
}

#[test]
fn a_clear_step_of_a_short_history_is_found() {
    for (before, after, by) in
        [(6, 3, 1.5), (4, 4, 1.1), (6, 6, 1.1), (6, 12, 1.1), (12, 6, 1.1), (20, 3, 1.1), (3, 20, 1.1)]
    {
        let found = count(300, |lots| places(&raised(lots.series(before + after, 0.5), before, by)) == [before]);
        assert_eq!(found, 300, "{before} commits before and {after} after");
    }
}

proptest! {
    #[test]
    fn steps_are_in_order_within_and_unlikely(
        series in prop::collection::vec(prop_oneof![8 => -1e12f64..1e12, 2 => Just(5.0), 1 => any::<f64>()], 0..80),
    ) {
        let found = steps(&series);
        prop_assert!(found.is_sorted_by(|a, b| a.at + SHORTEST_PART <= b.at));
        prop_assert!(found.iter().all(|step| step.at >= SHORTEST_PART && step.at + SHORTEST_PART <= series.len()));
        prop_assert!(found.iter().all(|step| (0.0..=1.0).contains(&step.p)));
        prop_assert_eq!(steps(&series), found);
    }

    #[test]
    fn the_unit_makes_no_difference(
        noise in prop::collection::vec(-1.0f64..1.0, 12..60), jump in 0.0f64..30.0, power in -40i32..40,
    ) {
        let series: Vec<f64> = noise
            .iter()
            .enumerate()
            .map(|(at, value)| 100.0 + value + if at < noise.len() / 2 { 0.0 } else { jump })
            .collect();
        let scaled: Vec<f64> = series.iter().map(|value| value * 2f64.powi(power)).collect();
        prop_assert_eq!(places(&scaled), places(&series));
    }

    #[test]
    fn a_large_step_between_quiet_levels_is_placed_right(
        before in 12usize..60, after in 12usize..60, by in 1.1f64..3.0, seed: u64,
    ) {
        let series = raised(Lots(SplitMix64::new(seed)).series(before + after, 0.5), before, by);
        prop_assert_eq!(places(&series), [before]);
    }
}
