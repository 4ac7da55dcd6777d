//! [`ShardChoice`]: the value of `--shard`.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The requested shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// `auto`, or `auto/N`: the shard that the launcher assigns, out of the launcher's count or N.
    Auto(Option<NonZeroU32>),
    /// `M/N`: shard M, counted from 1, of N.
    Number(NonZeroU32, NonZeroU32),
}

/// A text that does not name a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard: write auto, auto/N, or M/N with M from 1 to N")]
pub struct ParseShardError(String);

impl FromStr for ShardChoice {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseShardError(text.to_owned());
        let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<NonZeroU32>().map_err(|_| refused()),
            false => Err(refused()),
        };
        match text.split_once('/') {
            None if text == "auto" => Ok(Self::Auto(None)),
            Some(("auto", count)) => Ok(Self::Auto(Some(number(count)?))),
            Some((index, count)) => match (number(index)?, number(count)?) {
                (index, count) if index <= count => Ok(Self::Number(index, count)),
                _ => Err(refused()),
            },
            None => Err(refused()),
        }
    }
}

impl fmt::Display for ShardChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto(None) => f.write_str("auto"),
            Self::Auto(Some(count)) => write!(f, "auto/{count}"),
            Self::Number(index, count) => write!(f, "{index}/{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbered_from_one() {
        for text in ["auto", "auto/8", "1/1", "2/8", "8/8"] {
            assert_eq!(text.parse::<ShardChoice>().unwrap().to_string(), text);
        }
        for text in
            ["", "0/8", "9/8", "1/0", "auto/0", "auto/", "1", "1/", "/2", "-1/2", "+1/2", "1/2/3", "a/2", "Auto"]
        {
            assert_eq!(text.parse::<ShardChoice>(), Err(ParseShardError(text.to_owned())));
        }
    }
}
