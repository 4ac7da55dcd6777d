//! Describes the kernels of a run on a capture: where they were launched, what they were compared with, and whose
//! outputs were expected.

use super::terminal::{counted, short};
use crate::record::CaptureSemantics;
use plimsoll_capture::kernel::KernelIdentity;

/// Describes the kernels as a sentence without a full stop. `name` formats text that comes from the record.
pub(super) fn kernels(semantics: &CaptureSemantics, name: &dyn Fn(&str) -> String) -> String {
    let mut words = kernel(&semantics.kernel, name);
    words.push_str(place(semantics));
    if let Some(versus) = &semantics.versus {
        words.push_str(&format!(", in turns with {}", kernel(&versus.kernel, name)));
    }
    if let Some(reference) = &semantics.reference {
        words.push_str(&format!("; the output of {} is expected, not the captured one", kernel(reference, name)));
    }
    words
}

/// A kernel's name, the start of its digest, and the number of other files it consists of.
pub(super) fn kernel(kernel: &KernelIdentity, name: &dyn Fn(&str) -> String) -> String {
    let files = match kernel.sources.len() {
        0 => None,
        count => Some(counted(count, "more file", "more files")),
    };
    let parts: Vec<String> = kernel.digest.iter().map(|digest| name(&short(digest))).chain(files).collect();
    match parts.is_empty() {
        true => name(&kernel.name),
        false => format!("{} ({})", name(&kernel.name), parts.join(" and ")),
    }
}

/// Where the kernels were launched, as words to follow their names; empty for the CPU.
pub(super) fn place(semantics: &CaptureSemantics) -> &'static str {
    match (semantics.device.is_cpu(), semantics.graph) {
        (true, _) => "",
        (false, false) => " on a GPU",
        (false, true) => " on a GPU, replays of a CUDA graph",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_capture::gpu::PlaceKind;

    #[test]
    fn kernels_are_named_with_their_place_and_whose_outputs_were_expected() {
        let record = sample::versus();
        let mut semantics = record.semantics.capture().unwrap().clone();
        semantics.kernel = KernelIdentity::new("lib:rows.so", Some("0123456789abcdef".to_owned()));
        semantics.device = PlaceKind::Cuda;
        let name = |name: &str| format!("`{name}`");
        let words = kernels(&semantics, &name);
        assert!(words.starts_with("`lib:rows.so` (`blake3:0123456789ab`) on a GPU, in turns with `"), "{words}");
        semantics.versus = None;
        semantics.graph = true;
        semantics.reference = Some(KernelIdentity::new("torch:embedding", None));
        assert_eq!(
            kernels(&semantics, &name),
            "`lib:rows.so` (`blake3:0123456789ab`) on a GPU, replays of a CUDA graph; the output of `torch:embedding` \
             is expected, not the captured one"
        );
    }
}
