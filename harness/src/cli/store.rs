//! `store ls`, `store stat`, `store gc`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use plimsoll::capture::store::{Store, Survey};
use plimsoll::elsewhere::is_address;
use plimsoll::report::terminal::clean;

use super::args::RemoteFlags;
use super::{Failed, USAGE, output, shown};

#[derive(Args)]
pub struct StoreArguments {
    #[command(subcommand)]
    pub command: StoreCommand,
}

#[derive(Subcommand)]
pub enum StoreCommand {
    /// List captures and their entries
    Ls(StorePlace),
    /// Show what the store holds and what it saves
    Stat(StorePlace),
    /// Remove objects that no entry needs, and what writers left unfinished
    Gc(StorePlace),
}

#[derive(Args)]
pub struct StorePlace {
    /// The store
    pub store: PathBuf,

    /// Print it as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Shows the store, or collects its garbage.
pub fn run(arguments: &StoreArguments) -> Result<u8, Failed> {
    match &arguments.command {
        StoreCommand::Ls(place) => list(place),
        StoreCommand::Stat(place) => stat(place),
        StoreCommand::Gc(place) => collect(place),
    }
}

fn list(place: &StorePlace) -> Result<u8, Failed> {
    let local = place.remote.open(&place.store)?;
    let survey = Store::open(local.path())?.survey()?;
    if place.json {
        output::json(&survey.captures)?;
    } else {
        output::text(&names(&survey))?;
    }
    let mut entries = survey.captures.iter().flat_map(|capture| &capture.entries);
    Ok(if entries.any(|entry| entry.error.is_some()) { USAGE } else { 0 })
}

fn names(survey: &Survey) -> String {
    let mut text = String::new();
    for capture in &survey.captures {
        for entry in &capture.entries {
            let error = entry.error.as_ref().map_or_else(String::new, |error| format!("  ✗ {}", clean(error)));
            let size = entry.bytes.to_string();
            text.push_str(&format!("{size:>12}  {}/{}{error}\n", clean(&capture.name), clean(&entry.name)));
        }
    }
    text
}

fn stat(place: &StorePlace) -> Result<u8, Failed> {
    let local = place.remote.open(&place.store)?;
    let survey = Store::open(local.path())?.survey()?;
    if place.json {
        output::json(&survey)?;
        return Ok(0);
    }
    let entries: usize = survey.captures.iter().map(|capture| capture.entries.len()).sum();
    let mut text = format!(
        "{}: {} captures, {entries} entries, {} in {} objects of {}",
        shown(&place.store),
        survey.captures.len(),
        survey.file_bytes,
        survey.objects,
        survey.object_bytes,
    );
    if survey.compressed > 0 {
        text.push_str(&format!(", {} compressed", survey.compressed));
    }
    text.push('\n');
    for capture in &survey.captures {
        let (name, entries) = (clean(&capture.name), capture.entries.len());
        let (files, own, shared) = (capture.file_bytes, capture.own_bytes, capture.shared_bytes);
        text.push_str(&format!("  {name}: {entries} entries, {files} in {own} of its own and {shared} shared\n"));
    }
    if survey.unneeded > 0 {
        let (objects, bytes) = (survey.unneeded, survey.unneeded_bytes);
        text.push_str(&format!(
            "  {objects} objects of {bytes} that no entry needs: `plimsoll store gc` removes them\n"
        ));
    }
    output::text(&text)?;
    Ok(0)
}

fn collect(place: &StorePlace) -> Result<u8, Failed> {
    if is_address(&place.store) {
        let why = "an object store cannot lock out other writers while it is cleaned";
        return Err(format!("{}: {why}; make a local copy, or delete the store whole", shown(&place.store)).into());
    }
    let garbage = Store::open(&place.store)?.collect_garbage()?;
    if place.json {
        output::json(&garbage)?;
    } else {
        output::text(&format!(
            "{}: {} objects and {} unfinished files removed, {}\n",
            shown(&place.store),
            garbage.objects,
            garbage.unfinished,
            garbage.bytes,
        ))?;
    }
    Ok(0)
}
