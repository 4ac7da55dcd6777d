//! [`Limits`]: allowances by the name of a figure.

use std::str::FromStr;

use regex::Regex;

use plimsoll_memory::ceiling::{Allowance, AllowanceError};

/// An allowance for the figures whose names match.
///
/// ```
/// use plimsoll::gate::Limit;
/// let limit: Limit = "open/*=5%|1GiB".parse()?;
/// assert!(limit.matches("open/256 MiB") && !limit.matches("reopen/256 MiB"));
/// # Ok::<(), plimsoll::gate::LimitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    /// The pattern as written; `None` if it applies to every name.
    name: Option<String>,
    pattern: Option<Regex>,
    allowance: Allowance,
}

impl Limit {
    /// Whether the limit applies to a figure of this name. `*` in the pattern stands for any text and `?` for any one
    /// character.
    pub fn matches(&self, name: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(name))
    }

    /// The allowance.
    pub fn allowance(&self) -> Allowance {
        self.allowance
    }

    /// The pattern as written; `None` if it applies to every name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name that the limit applies to, if the pattern has no wildcard.
    fn single(&self) -> Option<&str> {
        self.name().filter(|name| !name.contains(['*', '?']))
    }
}

/// Why a text is not a valid limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The allowance is invalid.
    #[error(transparent)]
    Allowance(#[from] AllowanceError),
    /// The pattern is invalid.
    #[error(
        "the pattern `{pattern}` has no name before the `=`, or is too long: write `NAME=5%|1MiB`, with `*` for any text"
    )]
    Pattern {
        /// The pattern.
        pattern: String,
    },
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Parses an allowance for every figure (`5% | 1 MiB`), or for those with a matching name (`peak_rss/*=5%|1GiB`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The name of a benchmark may contain `=`, an allowance never does.
        let Some((pattern, allowance)) = text.rsplit_once('=') else {
            return Ok(Self { name: None, pattern: None, allowance: text.parse()? });
        };
        let error = || LimitError::Pattern { pattern: pattern.to_owned() };
        let pattern = pattern.trim();
        if pattern.is_empty() {
            return Err(error());
        }
        let expression = regex::escape(pattern).replace(r"\*", ".*").replace(r"\?", ".");
        let name = Some(pattern.to_owned());
        let pattern = Regex::new(&format!("^(?s:{expression})$")).map_err(|_| error())?;
        Ok(Self { name, pattern: Some(pattern), allowance: allowance.parse()? })
    }
}

/// Limits in the order given; the last one that matches a name applies.
#[derive(Clone, Debug)]
pub struct Limits {
    limits: Vec<Limit>,
    default: Allowance,
}

impl Limits {
    /// Combines `limits` with a `default` for names that none of them matches.
    pub fn new(limits: Vec<Limit>, default: Allowance) -> Self {
        Self { limits, default }
    }

    /// The allowance of the figure `name`.
    pub fn of(&self, name: &str) -> Allowance {
        self.limits.iter().rev().find(|limit| limit.matches(name)).map_or(self.default, Limit::allowance)
    }

    /// Whether one of the limits names the figure `name`, rather than every figure.
    pub fn name(&self, name: &str) -> bool {
        self.limits.iter().any(|limit| limit.name.is_some() && limit.matches(name))
    }

    /// Whether the limits also apply to figures that none of them names: true without limits, or with one that has no
    /// name.
    pub fn are_general(&self) -> bool {
        self.limits.is_empty() || self.limits.iter().any(|limit| limit.name.is_none())
    }

    /// The figures named individually, without a wildcard.
    pub fn singles(&self) -> impl Iterator<Item = &str> {
        self.limits.iter().filter_map(Limit::single)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_limit_that_matches_counts() {
        let limits = ["10%", "peak_*=5%|1GiB", "peak_rss/n=4=1%"].map(|text| text.parse().unwrap()).to_vec();
        let limits = Limits::new(limits, "50%".parse().unwrap());
        for (name, allowance) in
            [("time", "10%"), ("peak_anon/x", "5% | 1 GiB"), ("peak_rss/n=4", "1%"), ("peak_rss/n=40", "5% | 1 GiB")]
        {
            assert_eq!(limits.of(name).to_string(), allowance, "{name}");
        }
        assert!(limits.name("peak_anon") && !limits.name("wall") && limits.are_general());
        assert_eq!(limits.singles().collect::<Vec<_>>(), ["peak_rss/n=4"]);
        let none = Limits::new(Vec::new(), "50%".parse().unwrap());
        assert_eq!((none.of("x").to_string().as_str(), none.are_general()), ("50%", true));
        assert!(!Limits::new(vec!["a=5%".parse().unwrap()], "50%".parse().unwrap()).are_general());
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!("=5%".parse::<Limit>().unwrap_err().to_string().contains("no name before the `=`"));
        assert!("a=5 B".parse::<Limit>().is_ok() && "a=5".parse::<Limit>().is_err(), "five of what");
        assert!("a=b".parse::<Limit>().unwrap_err().to_string().starts_with("`b` is not part"));
    }

    proptest! {
        #[test]
        fn a_name_without_wildcards_matches_itself_alone(name in "[a-z(){}+.\\\\é^$]([a-z +.]{0,9}[a-z)])?", other in "[a-z(){}+.]{0,12}") {
            let limit: Limit = format!("{name}=5%").parse().unwrap();
            prop_assert!(limit.matches(&name));
            prop_assert_eq!(limit.matches(&other), name == other);
        }
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            let _ = text.parse::<Limit>();
        }
    }
}
