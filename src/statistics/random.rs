//! Pseudo-random numbers determined by a seed, so that draws can be repeated.

/// The SplitMix64 generator (Steele, Lea and Flood, 2014). Not for secrets.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates the generator for a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next word.
    pub const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    ///
    /// `bound` should be far below 2^64, so that the remainder favours no number by more than a part in 10^15.
    pub const fn below(&mut self, bound: usize) -> usize {
        let word = self.word();
        if bound == 0 { 0 } else { (word % bound as u64) as usize }
    }

    /// A coin toss.
    pub const fn coin(&mut self) -> bool {
        self.word() >> 63 == 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_those_of_the_published_generator() {
        // The first words for seed 1234567, from Vigna's splitmix64.c.
        let mut random = SplitMix64::new(1_234_567);
        let words = [random.word(), random.word(), random.word()];
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn coins_are_fair_and_those_of_the_seed() {
        let falls = |seed| {
            let mut random = SplitMix64::new(seed);
            (0..1000).map(|_| random.coin()).collect::<Vec<bool>>()
        };
        assert_eq!(falls(1), falls(1));
        assert_ne!(falls(1), falls(2));
        let heads = falls(1).into_iter().filter(|heads| *heads).count();
        assert!((400..600).contains(&heads), "{heads} of 1000");
    }

    proptest! {
        #[test]
        fn numbers_stay_below_their_bound_and_follow_from_the_seed(seed: u64, bound in 0usize..1000) {
            let draw = || { let mut random = SplitMix64::new(seed); [random.below(bound), random.below(bound)] };
            prop_assert_eq!(draw(), draw());
            prop_assert!(draw().iter().all(|number| *number < bound.max(1)));
        }
    }
}
