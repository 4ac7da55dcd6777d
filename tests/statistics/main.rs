//! Tests of `plimsoll-statistics` against SciPy: `src/statistics/reference/make.py` writes the table that is read here.

use plimsoll_statistics::random::SplitMix64;
use plimsoll_statistics::{Shift, Summary, mann_whitney, normal, rank, signed_rank, trend};
use plimsoll_statistics::{median, median_absolute_deviation, quantile};

const TABLE: &str = include_str!("../../src/statistics/reference/scipy.txt");

/// A line of the table: the input, and SciPy's results.
struct Case {
    line: &'static str,
    arguments: Vec<Vec<f64>>,
    results: Vec<Vec<f64>>,
}

/// The cases of a function; there is at least one.
fn cases(function: &str) -> Vec<Case> {
    let lists = |text: &str| -> Vec<Vec<f64>> {
        let list = |list: &str| list.split_whitespace().map(|number| number.parse().unwrap()).collect();
        text.split(';').map(list).collect()
    };
    let cases = TABLE.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" ; ")?;
        let (arguments, results) = rest.split_once('=')?;
        (name == function).then(|| Case { line, arguments: lists(arguments), results: lists(results) })
    });
    let cases: Vec<Case> = cases.collect();
    assert!(!cases.is_empty(), "the table has no `{function}`: run src/statistics/reference/make.py");
    cases
}

/// Whether `found` equals `expected` up to a share of it, or of 1 if it is smaller.
#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64, line: &str) {
    let off = (found - expected).abs();
    assert!(off <= tolerance * expected.abs().max(1.0), "{found} is {off:e} off {expected}:\n{line}");
}

/// How much rounding in another order of operations may change a result.
const ROUNDING: f64 = 1e-12;

#[test]
fn medians_and_quantiles_are_those_of_numpy() {
    for Case { line, arguments, results } in cases("median") {
        close(median(arguments[0].clone()).unwrap(), results[0][0], 0.0, line);
    }
    for Case { line, arguments, results } in cases("median_absolute_deviation") {
        close(median_absolute_deviation(&arguments[0]).unwrap(), results[0][0], ROUNDING, line);
    }
    for Case { line, arguments, results } in cases("quantile") {
        close(quantile(&arguments[0], arguments[1][0]).unwrap(), results[0][0], ROUNDING, line);
    }
}

#[test]
fn summaries_are_those_of_numpy_and_scipy() {
    for Case { line, arguments, results } in cases("summary") {
        let s = Summary::of(&arguments[0]).unwrap();
        for (found, expected) in
            [s.median, s.mean, s.deviation.unwrap(), s.min, s.max, s.p95].into_iter().zip(&results[0])
        {
            close(found, *expected, ROUNDING, line);
        }
        close(s.relative_error().unwrap(), results[1][0], 1e-9, line);
    }
}

#[test]
fn the_normal_distribution_is_that_of_scipy_within_its_stated_error() {
    for Case { line, arguments, results } in cases("normal_quantile") {
        close(normal::quantile(arguments[0][0]), results[0][0], 1.2e-9, line);
    }
    for Case { line, arguments, results } in cases("normal_upper_tail") {
        close(normal::upper_tail(arguments[0][0]), results[0][0], 7.5e-8, line);
    }
}

#[test]
fn far_tails_of_the_normal_distribution_are_those_of_scipy() {
    for Case { line, arguments, results } in cases("normal_ln_upper_tail") {
        close(normal::ln_upper_tail(arguments[0][0]), results[0][0], 1e-9, line);
    }
}

#[test]
fn ranks_and_effective_sizes_are_those_of_scipy() {
    for Case { line, arguments, results } in cases("middle_ranks") {
        assert_eq!(rank::middle_ranks(&arguments[0]), results[0], "{line}");
    }
    for Case { line, arguments, results } in cases("effective_size") {
        close(rank::effective_size(&arguments[0]), results[0][0], ROUNDING, line);
    }
}

#[test]
fn critical_values_are_those_of_scipys_tests() {
    let equal = |found: u64, case: &Case| assert_eq!(found as f64, case.results[0][0], "{}", case.line);
    let size = |case: &Case, argument: usize| case.arguments[argument][0] as usize;
    for case in &cases("mann_whitney_exact") {
        equal(mann_whitney::critical_exact(size(case, 0), size(case, 1), case.arguments[2][0]), case);
    }
    for case in &cases("mann_whitney_normal") {
        let (n, m) = (size(case, 0), size(case, 1));
        equal(mann_whitney::critical_normal(n, m, n as f64, m as f64, case.arguments[2][0]), case);
    }
    for case in &cases("signed_rank") {
        equal(signed_rank::critical(size(case, 0), case.arguments[1][0]), case);
    }
    for Case { line, arguments, results } in cases("fewest") {
        let confidence = arguments[0][0];
        let fewest = [mann_whitney::fewest(confidence), signed_rank::fewest(confidence)];
        assert_eq!(
            fewest.map(|fewest| vec![fewest as f64]).to_vec(),
            vec![vec![results[0][0]], vec![results[1][0]]],
            "{line}"
        );
    }
}

#[test]
fn shifts_and_their_intervals_invert_scipys_tests() {
    type Function = fn(&[f64], &[f64], f64) -> Option<Shift>;
    for (name, shift) in
        [("mann_whitney_shift", mann_whitney::shift as Function), ("signed_rank_shift", signed_rank::shift)]
    {
        for Case { line, arguments, results } in cases(name) {
            let found = shift(&arguments[0], &arguments[1], arguments[2][0]).unwrap();
            close(found.estimate, results[0][0], ROUNDING, line);
            let ends = found.interval.map_or(Vec::new(), |interval| vec![interval.low, interval.high]);
            assert_eq!(ends.len(), results[1].len(), "{line}");
            ends.iter().zip(&results[1]).for_each(|(end, expected)| close(*end, *expected, ROUNDING, line));
        }
    }
}

#[test]
fn slopes_and_trends_are_those_of_scipy() {
    for Case { line, arguments, results } in cases("theil_sen") {
        let points: Vec<(f64, f64)> = arguments[0].iter().copied().zip(arguments[1].iter().copied()).collect();
        close(trend::theil_sen(&points), results[0][0], ROUNDING, line);
    }
    for Case { line, arguments, results } in cases("mann_kendall") {
        let found = trend::mann_kendall(&arguments[0]);
        assert_eq!(found.s as f64, results[0][0], "{line}");
        // The variance comes back from a p of SciPy's, which loses digits.
        close(found.variance, results[1][0], 1e-6, line);
        close(found.p, results[2][0], 1.5e-7, line);
    }
}

#[test]
fn words_are_those_of_splitmix64() {
    let word = |halves: &[f64]| (halves[0] as u64) << 32 | halves[1] as u64;
    for Case { line, arguments, results } in cases("words") {
        let mut random = SplitMix64::new(word(&arguments[0]));
        results[0].chunks(2).for_each(|halves| assert_eq!(random.word(), word(halves), "{line}"));
    }
}
