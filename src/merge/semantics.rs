//! [`join`]: the semantics that records have in common.

use crate::record::CaptureSemantics;
use plimsoll_capture::kernel::KernelIdentity;
use serde::Serialize;

/// A difference: its name, and both values.
pub(super) struct Differs(pub &'static str, pub String, pub String);

/// Joins `other` into `own`, both without entries. If `other` is `empty`, it has no entries, so its kernels were never
/// launched and only their names are known.
pub(super) fn join(own: &mut CaptureSemantics, other: &CaptureSemantics, empty: bool) -> Result<(), Differs> {
    same("operators", &own.operator, &other.operator)?;
    kernel(&mut own.kernel, &other.kernel, empty)?;
    same("comparisons", &own.comparison, &other.comparison)?;
    same("protocols", &own.timing, &other.timing)?;
    same("ways to make one figure of times", &own.aggregation, &other.aggregation)?;
    same("devices", &own.device, &other.device)?;
    same("ways to launch (--graph)", &own.graph, &other.graph)?;
    same("arguments that may change (--mutates)", &own.mutates, &other.mutates)?;
    same("audits", &own.audit, &other.audit)?;
    match (&mut own.reference, &other.reference) {
        (Some(own), Some(other)) => kernel(own, other, empty)?,
        (own, other) => same("references", own, other)?,
    }
    match (&mut own.versus, &other.versus) {
        (Some(own), Some(other)) => {
            same("numbers of pairs", &own.pairs, &other.pairs)?;
            kernel(&mut own.kernel, &other.kernel, empty)
        }
        (own, other) => same("other kernels", own, other),
    }
}

fn same<T: PartialEq + Serialize>(what: &'static str, own: &T, other: &T) -> Result<(), Differs> {
    let text = |value| match serde_json::to_string(value) {
        Ok(text) if text != "null" => text,
        _ => "none".to_owned(),
    };
    if own == other { Ok(()) } else { Err(Differs(what, text(own), text(other))) }
}

/// A kernel consists of the files that its launches read: one shard may read more files than another, and the merged
/// kernel has all of them.
fn kernel(own: &mut KernelIdentity, other: &KernelIdentity, empty: bool) -> Result<(), Differs> {
    same("kernels", &own.name, &other.name)?;
    if empty {
        return Ok(());
    }
    let named = |kernel: &KernelIdentity, file: &str, digest: &str| format!("{} with {file} {digest}", kernel.name);
    if own.digest != other.digest {
        let [one, two] =
            [&*own, other].map(|kernel| named(kernel, "digest", kernel.digest.as_deref().unwrap_or("none")));
        return Err(Differs("kernels", one, two));
    }
    for (file, digest) in &other.sources {
        match own.sources.get(file) {
            Some(known) if known != digest => {
                return Err(Differs("kernels", named(own, file, known), named(other, file, digest)));
            }
            Some(_) => {}
            None => drop(own.sources.insert(file.clone(), digest.clone())),
        }
    }
    Ok(())
}
