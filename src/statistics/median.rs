//! The middle of figures.

/// The median of `figures`, in any order; the mean of the two in the middle of an even number. `None` where there are none.
pub fn median(mut figures: Vec<f64>) -> Option<f64> {
    if figures.is_empty() {
        return None;
    }
    let (half, odd) = (figures.len() / 2, figures.len() % 2 == 1);
    // The slopes of a long series are many: selecting takes a fraction of the time of sorting.
    let (below, middle, _) = figures.select_nth_unstable_by(half, f64::total_cmp);
    let middle = *middle;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(lower.filter(|_| !odd).map_or(middle, |lower| f64::midpoint(lower, middle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_odd_number_it_is_the_one_in_the_middle_and_of_an_even_the_mean_of_two() {
        assert_eq!(median(vec![9.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(vec![f64::MAX, f64::MAX]), Some(f64::MAX), "it does not overflow");
        assert_eq!(median(Vec::new()), None);
    }
}
