//! `shard`: which share of a capture this process takes, and what each share holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use plimsoll::ByteSize;
use plimsoll::capture::{Capture, origin};
use plimsoll::elsewhere::{Keep, Local};
use plimsoll::report::terminal::{clean, counted};
use plimsoll::shard::{Found, ShardChoice, Shares};
use serde_json::json;

use super::args::{Chosen, chosen};
use super::{Failed, output};

#[derive(Args)]
pub struct Shard {
    /// The capture that is dealt out; without one, only what the launcher says is shown
    pub capture: Option<PathBuf>,

    /// The share of this process: `auto` (as the launcher says), `auto/N`, or M/N
    #[arg(long, value_name = "SHARD", env = "PLIMSOLL_SHARD", default_value = "auto")]
    pub shard: ShardChoice,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,
}

/// The most shares that are shown as rows.
const ROWS: u32 = 64;

/// Shows the shares.
pub fn run(shard: &Shard) -> Result<u8, Failed> {
    let chosen = chosen(shard.shard)?;
    let local = shard.capture.as_deref().map(|path| Local::open(path, &Keep::default())).transpose()?;
    let capture = local.as_ref().map(|local| Capture::open(local.path())).transpose()?;
    if shard.json {
        return output::json(&document(&chosen, capture.as_ref())).map(|()| 0);
    }
    let mut text = format!(" shard {} of {}\n", chosen.index, chosen.count);
    let _ = writeln!(text, "   by       {}", chosen.found.as_ref().map_or("hand".to_owned(), words));
    for other in chosen.found.iter().flat_map(|found| &found.unused) {
        let count = other.ranks.map_or(String::new(), |ranks| format!(" of {ranks}"));
        let _ = writeln!(text, "   not by   {}: process {}{count}", other.launcher, other.rank);
    }
    if let Some(capture) = &capture {
        rows(&mut text, &chosen, capture);
    }
    output::text(&text).map(|()| 0)
}

/// The launcher in one line.
fn words(found: &Found) -> String {
    let set: Vec<String> = found.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut words = format!("{} ({})", found.launcher, clean(&set.join(", ")));
    if let Some(local) = found.local_rank {
        let of = found.node_ranks.map_or(String::new(), |ranks| format!(" of {ranks}"));
        let _ = write!(words, ", process {local}{of} of its node");
    }
    if let Some(node) = found.node {
        let _ = write!(words, ", node {node}");
    }
    words
}

fn rows(text: &mut String, chosen: &Chosen, capture: &Capture) {
    let total: ByteSize = capture.sizes().iter().copied().sum();
    let shares = Shares::of(capture.names(), capture.sizes(), chosen.count);
    let mean = total.bytes() as f64 / f64::from(chosen.count.get());
    let entries = |count| counted(count, "entry", "entries");
    let path = clean(&origin::shown(capture.path()));
    let _ = writeln!(text, "   capture  {path}: {}, {total}", entries(capture.len()));
    let _ = writeln!(text, "   manifest {}\n", capture.manifest());
    let own = (chosen.index > ROWS).then_some(chosen.index);
    for number in (1..=chosen.count.get().min(ROWS)).chain(own) {
        let (places, bytes) = (shares.places(number), shares.bytes(number));
        let part = if mean > 0.0 { bytes.bytes() as f64 / mean } else { 0.0 };
        let mark = if number == chosen.index { '▸' } else { ' ' };
        let names = match places {
            [] => String::new(),
            [only] => clean(&capture.names()[*only]),
            [first, .., last] => clean(&format!("{} .. {}", capture.names()[*first], capture.names()[*last])),
        };
        let count = entries(places.len());
        let _ = writeln!(
            text,
            " {mark} {number:>4}  {count:>14}  {:>10}  {part:>5.2} of the mean  {names}",
            bytes.to_string()
        );
    }
    if let Some(more) = chosen.count.get().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(text, "   and {more} more");
    }
}

fn document(chosen: &Chosen, capture: Option<&Capture>) -> serde_json::Value {
    let found = chosen.found.as_ref().map(|found| {
        let others = found.unused.iter();
        json!({
            "launcher": found.launcher,
            "rank": found.rank,
            "ranks": found.ranks,
            "local_rank": found.local_rank,
            "node_ranks": found.node_ranks,
            "node": found.node,
            "variables": found.variables.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "unused": others.map(|other| json!({ "launcher": other.launcher, "rank": other.rank, "ranks": other.ranks })).collect::<Vec<_>>(),
        })
    });
    let dealt = capture.map(|capture| {
        let shares = Shares::of(capture.names(), capture.sizes(), chosen.count);
        // Shares beyond the entries are empty, and may be many.
        let last = u32::try_from(capture.len()).unwrap_or(u32::MAX).min(chosen.count.get());
        let share = |number: u32| {
            let names: Vec<&str> = shares.places(number).iter().map(|&place| &*capture.names()[place]).collect();
            json!({ "index": number, "bytes": shares.bytes(number), "entries": names })
        };
        json!({
            "path": capture.path().to_string_lossy(),
            "manifest": capture.manifest(),
            "entries": capture.len(),
            "bytes": capture.sizes().iter().copied().sum::<ByteSize>(),
            "shares": (1..=last).map(share).collect::<Vec<_>>(),
        })
    });
    json!({ "index": chosen.index, "count": chosen.count, "found": found, "capture": dealt })
}
