//! `inspect`: what is inside files.

use std::path::Path;

use plimsoll::capture::TorchFile;
use plimsoll::inspect::{self, DigestFunction, Extraction, Inspection, Options};
use plimsoll::report::terminal;

use super::args::{DigestFunctionName, Inspect};
use super::{Failed, USAGE, output};

/// Shows what was found, or takes a tensor out; 2 where something could not be read.
pub fn run(inspect: &Inspect) -> Result<u8, Failed> {
    if let (Some(tensor), Some(out)) = (&inspect.tensor, &inspect.out) {
        return extract(&inspect.path, tensor, out, inspect.yes);
    }
    let digest = inspect.digest.map(|function| match function {
        DigestFunctionName::Sha256 => DigestFunction::Sha256,
        DigestFunctionName::Blake3 => DigestFunction::Blake3,
    });
    let found = inspect::inspect(&inspect.path, Options { digest, verify: inspect.verify });
    if inspect.json {
        output::json(&found)?;
    } else if found.entries.iter().any(|entry| entry.bytes.is_some()) {
        output::text(&terminal::inspection(&found, &super::screen()))?;
    }
    report(&found);
    Ok(if found.error.is_some() { USAGE } else { 0 })
}

/// Prints the error of each entry, or that of the folder.
fn report(found: &Inspection) {
    let own = found.error.iter().filter(|_| found.entries.is_empty());
    for error in found.entries.iter().filter_map(|entry| entry.error.as_ref()).chain(own) {
        super::report_message(&error.message);
    }
}

fn extract(path: &Path, tensor: &str, out: &Path, expand: bool) -> Result<u8, Failed> {
    let extraction = Extraction::find(TorchFile::open(path)?, tensor)?.expand(expand);
    let bytes = extraction.write(out)?;
    let layout = extraction.layout();
    output::text(&format!("{}: {} {:?}, {bytes}\n", super::shown(out), layout.dtype, layout.shape))?;
    Ok(0)
}
