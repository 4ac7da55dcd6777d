//! `--shard`: the share of the entries that a command takes.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::record::{Rank, hostname};
use plimsoll::shard::{Found, LauncherError, NameError, ShardChoice, Shares, detect, expand};

// Which share is taken.
#[derive(Args, Clone, Copy, Default)]
pub struct ShardFlags {
    /// Take one share of the entries: `auto` (as the launcher says), `auto/N`, or M/N
    ///
    /// Shares are whole entries, balanced by bytes, and the same in every process. `plimsoll shard` shows what is found and
    /// what each share holds.
    #[arg(long, value_name = "SHARD", env = "PLIMSOLL_SHARD")]
    pub shard: Option<ShardChoice>,
}

/// The share of this process.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The number of the shard, from 1.
    pub index: u32,
    pub count: NonZeroU32,
    /// The launcher that assigned the shard.
    pub found: Option<Found>,
}

impl ShardFlags {
    /// The share of this process; `None` to use all entries.
    pub fn chosen(self) -> Result<Option<Chosen>, LauncherError> {
        self.shard.map(chosen).transpose()
    }
}

/// The share that `choice` names.
pub fn chosen(choice: ShardChoice) -> Result<Chosen, LauncherError> {
    match choice {
        ShardChoice::Number(index, count) => Ok(Chosen { index: index.get(), count, found: None }),
        ShardChoice::Auto(given) => {
            let found = launcher(given)?;
            let count = NonZeroU32::new(found.ranks).unwrap_or(NonZeroU32::MIN);
            Ok(Chosen { index: found.rank + 1, count, found: Some(found) })
        }
    }
}

/// The shard according to the launcher of this process.
pub fn launcher(given: Option<NonZeroU32>) -> Result<Found, LauncherError> {
    // A value that is not text is an error, as any that is not a number.
    detect(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()), given)
}

impl Chosen {
    /// The indices of this share's entries among all of these names and sizes.
    pub fn places(&self, names: &[impl AsRef<str>], sizes: &[ByteSize]) -> Vec<usize> {
        Shares::of(names, sizes, self.count).places(self.index).to_vec()
    }

    /// The rank of this process within the launcher.
    pub fn rank(&self) -> Option<Rank> {
        self.found.as_ref().map(Rank::from)
    }
}

/// `path` with the placeholders for rank, node and host replaced. For a shard given by hand, its number from 0 is the
/// rank.
pub fn named(path: &Path, chosen: Option<&Chosen>) -> Result<PathBuf, NameError> {
    // Look for the launcher only if a placeholder needs it: most runs have none.
    let found = || match chosen {
        Some(Chosen { found: Some(found), .. }) => Ok(found.clone()),
        _ => launcher(None).map_err(|error| error.to_string()),
    };
    expand(path, |sign| match (sign, chosen) {
        ('r', Some(chosen)) => Ok((chosen.index - 1).to_string()),
        ('r', None) => found().map(|found| found.rank.to_string()),
        ('n', _) => {
            let found = found()?;
            found
                .node
                .map(|node| node.to_string())
                .ok_or_else(|| format!("{} numbers no nodes: use %h", found.launcher))
        }
        _ => hostname().ok_or_else(|| "this host has no name".to_owned()),
    })
}
