//! Order statistics of all differences and all means of a sample, without computing each of them.

/// The `k`-th smallest (from 1) of all differences `a - b`. Both must be sorted upwards, finite and not empty, and no
/// difference may overflow.
///
/// The value is found by bisecting the range of floating-point numbers. Each step counts differences in one walk along
/// both samples, so the time is proportional to their lengths.
pub(crate) fn kth_difference(a: &[f64], b: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (key(a[0] - b[b.len() - 1]), key(a[a.len() - 1] - b[0]));
    while low < high {
        let middle = low + (high - low) / 2;
        if differences_up_to(a, b, from_key(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    // Zero has two keys, and the negative one comes first.
    from_key(low) + 0.0
}

/// How many differences are at most `limit`.
fn differences_up_to(a: &[f64], b: &[f64], limit: f64) -> u64 {
    let mut from = 0;
    let mut count = 0;
    for x in a {
        while from < b.len() && x - b[from] > limit {
            from += 1;
        }
        count += (b.len() - from) as u64;
    }
    count
}

/// The `k`-th smallest (from 1) of the Walsh averages: the means of every two of `sorted`, including each with itself.
/// They are found as in [`kth_difference`]. `sorted` must be finite and not empty.
pub(crate) fn kth_walsh(sorted: &[f64], k: u64) -> f64 {
    let (mut low, mut high) = (key(sorted[0]), key(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low + (high - low) / 2;
        if averages_up_to(sorted, from_key(middle)) >= k {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    from_key(low) + 0.0
}

/// How many Walsh averages are at most `limit`.
fn averages_up_to(sorted: &[f64], limit: f64) -> u64 {
    let mut to = sorted.len();
    let mut count = 0;
    for (from, x) in sorted.iter().enumerate() {
        while to > from && f64::midpoint(*x, sorted[to - 1]) > limit {
            to -= 1;
        }
        count += to.saturating_sub(from) as u64;
    }
    count
}

/// An integer with the same order as the number, widened so that two of them can be subtracted.
fn key(x: f64) -> i128 {
    let bits = x.to_bits() as i64;
    i128::from(if bits < 0 { i64::MIN - bits - 1 } else { bits })
}

fn from_key(key: i128) -> f64 {
    let key = key as i64;
    f64::from_bits(if key < 0 { i64::MIN - key - 1 } else { key } as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figures() -> impl Strategy<Value = Vec<f64>> {
        let figure = prop_oneof![-1e12f64..1e12, (0u8..4).prop_map(f64::from), -1e-300f64..1e-300];
        prop::collection::vec(figure, 1..20).prop_map(|mut figures| {
            figures.sort_by(f64::total_cmp);
            figures
        })
    }

    proptest! {
        #[test]
        fn the_kth_difference_is_that_of_the_sorted_list(a in figures(), b in figures(), k: prop::sample::Index) {
            let mut all: Vec<f64> = a.iter().flat_map(|x| b.iter().map(move |y| x - y)).collect();
            all.sort_by(f64::total_cmp);
            let k = k.index(all.len());
            prop_assert_eq!(kth_difference(&a, &b, k as u64 + 1).to_bits(), (all[k] + 0.0).to_bits());
        }

        #[test]
        fn the_kth_mean_is_that_of_the_sorted_list(figures in figures(), k: prop::sample::Index) {
            let mut all: Vec<f64> = Vec::new();
            for (at, x) in figures.iter().enumerate() {
                all.extend(figures[at..].iter().map(|y| f64::midpoint(*x, *y)));
            }
            all.sort_by(f64::total_cmp);
            let k = k.index(all.len());
            prop_assert_eq!(kth_walsh(&figures, k as u64 + 1).to_bits(), (all[k] + 0.0).to_bits());
        }

        #[test]
        fn keys_order_as_their_numbers(a in prop::num::f64::NORMAL, b in prop::num::f64::NORMAL) {
            prop_assert_eq!(key(a).cmp(&key(b)), a.total_cmp(&b));
            prop_assert_eq!(from_key(key(a)).to_bits(), a.to_bits());
        }
    }
}
