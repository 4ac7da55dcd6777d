//! `inspect`: shows what is inside files.

use clap::{Args, ValueEnum};
use std::path::Path;
use std::path::PathBuf;

use plimsoll::capture::TorchFile;
use plimsoll::inspect::{DigestFunction, EntryInspection, Extraction, Options, Written};
use plimsoll::report::terminal;

use super::args::RemoteFlags;
use super::{Failed, USAGE, output};

#[derive(Args)]
pub struct Inspect {
    /// A file of torch.save, a folder of them, a store, or STORE/captures/NAME
    ///
    /// In a folder, *.pt, *.pth, *.ckpt and *.bin are inspected.
    pub path: PathBuf,

    /// Compute the digest of each tensor's elements
    ///
    /// Elements are taken row-major, little-endian, with conj and neg resolved.
    #[arg(long, value_name = "FUNCTION", env = "PLIMSOLL_INSPECT_DIGEST")]
    pub digest: Option<DigestFunctionName>,

    /// Check the CRC-32 of every record
    #[arg(long, env = "PLIMSOLL_VERIFY")]
    pub verify: bool,

    /// Take the tensor at this path out, such as `$["kwargs"]["weight"]`
    #[arg(long, value_name = "PATH", requires = "out", conflicts_with_all = ["json", "digest", "verify"])]
    pub tensor: Option<String>,

    /// The file to write: .npy, .safetensors, or .bin for the bare elements
    #[arg(long, value_name = "FILE", requires = "tensor")]
    pub out: Option<PathBuf>,

    /// Write an expanded tensor of more than 1 GiB, too
    #[arg(long, requires = "tensor")]
    pub yes: bool,

    /// Print what was found as JSON
    #[arg(long, env = "PLIMSOLL_JSON")]
    pub json: bool,

    #[command(flatten)]
    pub remote: RemoteFlags,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum DigestFunctionName {
    /// SHA-256
    Sha256,
    /// BLAKE3, on all processors
    Blake3,
}

/// Shows what files contain, or extracts a tensor; 2 if something could not be read.
pub fn run(inspect: &Inspect) -> Result<u8, Failed> {
    let local = inspect.remote.open(&inspect.path)?;
    if let (Some(tensor), Some(out)) = (&inspect.tensor, &inspect.out) {
        return extract(local.path(), tensor, out, inspect.yes);
    }
    let digest = inspect.digest.map(|function| match function {
        DigestFunctionName::Sha256 => DigestFunction::Sha256,
        DigestFunctionName::Blake3 => DigestFunction::Blake3,
    });
    let (options, path) = (Options { digest, verify: inspect.verify }, local.path());
    let (mut messages, mut entries) = (Vec::new(), 0);
    let mut note = |entry: &EntryInspection| {
        entries += 1;
        messages.extend(entry.error.as_ref().map(|error| error.message.clone()));
    };
    let error = if inspect.json {
        let written = Written::new(path, options, &mut note);
        output::json(&written)?;
        // The reader of a pipe may close it before the end.
        written.into_summary().and_then(|summary| summary.error)
    } else {
        let found = terminal::Inspected::read(path, options, &mut note);
        if found.is_readable() {
            output::text(&found.document(&super::screen()))?;
        }
        found.into_error()
    };
    let own = error.iter().filter(|_| entries == 0).map(|error| error.message.clone());
    messages.iter().cloned().chain(own).for_each(|message| super::report_message(&message));
    Ok(if error.is_some() { USAGE } else { 0 })
}

fn extract(path: &Path, tensor: &str, out: &Path, expand: bool) -> Result<u8, Failed> {
    let extraction = Extraction::find(TorchFile::open(path)?, tensor)?.expand(expand);
    let bytes = extraction.write(out)?;
    let layout = extraction.layout();
    output::text(&format!("{}: {} {:?}, {bytes}\n", super::shown(out), layout.dtype, layout.shape))?;
    Ok(0)
}
