//! What is wrong with an output, and what that shows of its kernel.

use super::super::launcher::Launched;
use super::super::output::Output;
use crate::record::{Failure, FailureKind};
use plimsoll_capture::compare::LeafOutcome;
use plimsoll_memory::text::number;

/// The first wrong part of an output, and what is wrong with it.
pub(super) struct Wrong {
    pub(super) leaf: String,
    pub(super) how: String,
}

impl Wrong {
    /// What is wrong with the output that was compared, if anything.
    pub(super) fn of(leaves: &[LeafOutcome]) -> Option<Self> {
        let wrong = leaves.iter().find(|leaf| !leaf.passed)?;
        let leaf = match &wrong.path[..] {
            "" => "the output".to_owned(),
            argument if argument.starts_with("argument ") => argument.to_owned(),
            path => format!("output {path}"),
        };
        let how = match (&wrong.problem, &wrong.elements) {
            (Some(problem), _) => problem.clone(),
            (None, Some(elements)) => {
                let by = elements.max_abs_error.map_or(String::new(), |error| format!(", by up to {}", number(error)));
                format!("{} of {} elements differ{by}", elements.mismatches, elements.count)
            }
            (None, None) => "it differs".to_owned(),
        };
        Some(Self { leaf, how })
    }
}

/// The failure of a kernel whose output is not the captured one in the witness either: it does not cheat, it is wrong,
/// or the comparison is too strict for it.
pub(super) fn never_right(Wrong { leaf, how }: Wrong) -> Failure {
    let message = format!(
        "{leaf} for the captured values is not the captured one ({how}), in a process that times nothing either: the \
         kernel is wrong by this comparison, so its times mean nothing; mend it, or choose another with --compare"
    );
    Failure::new(FailureKind::Unsupported, message)
}

/// Whether there are tensors, and each has several elements, all equal.
pub(super) fn is_constant(output: &Launched) -> bool {
    let memory = (*output.memory).as_ref();
    let placed = output.outputs.iter().filter_map(Output::tensor);
    let tensors = placed.filter_map(|placed| Some((placed.bytes_in(memory)?, placed.spec.dtype.size() as usize)));
    let mut constant = tensors.map(|(bytes, size)| {
        bytes.len() > 16 * size && bytes.chunks_exact(size).all(|element| element == &bytes[..size])
    });
    constant.next().unwrap_or(false) && constant.all(|is| is)
}

/// Whether an eighth of an output, or 64 bytes in a row, still hold the fill.
pub(super) fn is_unwritten(output: &Launched, fill: u8) -> bool {
    let memory = (*output.memory).as_ref();
    output.outputs.iter().filter_map(Output::tensor).any(|placed| {
        let Some(bytes) = placed.bytes_in(memory) else { return false };
        let longest = bytes.split(|byte| *byte != fill).map(<[u8]>::len).max().unwrap_or(0);
        longest > 0 && longest >= (bytes.len() / 8).clamp(1, 64)
    })
}
