//! [`LauncherError`]: why the variables of a launcher do not identify this process.

/// Why the variables of a launcher do not say which process this is, or of how many.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LauncherError {
    /// No launcher numbers this process.
    #[error("no launcher says which shard this is: {hint}")]
    NoLauncher {
        /// What to do.
        hint: String,
    },
    /// A variable holds something other than the number it should.
    #[error("{launcher}: {variable}=`{value}` is not {expected}; correct it, or give the shard by hand: --shard M/N")]
    Senseless {
        /// The launcher.
        launcher: &'static str,
        /// The variable.
        variable: &'static str,
        /// The variable's value.
        value: String,
        /// The expected value.
        expected: String,
    },
    /// A launcher numbers this process but does not say how many there are.
    #[error(
        "{launcher} says that this is process {index} ({variable}) but not of how many: give the number of shards, --shard auto/N"
    )]
    NoCount {
        /// The launcher.
        launcher: &'static str,
        /// The variable of the index.
        variable: &'static str,
        /// The index as written in the variable.
        index: u64,
    },
    /// A launcher says how many processes there are but not which one this is.
    #[error("{launcher} sets {set} but not {missing}: set both, or give the shard by hand: --shard M/N")]
    Missing {
        /// The launcher.
        launcher: &'static str,
        /// A variable that is set.
        set: &'static str,
        /// The variable that is missing.
        missing: &'static str,
    },
    /// Two numbers that should be equal differ.
    #[error("{one} and {other} contradict each other; correct them, or give the shard by hand: --shard M/N")]
    Contradiction {
        /// The first value and its source.
        one: String,
        /// The other value and its source.
        other: String,
    },
}
