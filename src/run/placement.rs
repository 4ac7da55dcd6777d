//! [`Placement`]: the places of a kernel's outputs in one piece of memory.

use plimsoll_capture::TensorSpec;
use plimsoll_capture::kernel::{CapturedOutput, KernelError, OutputBuffer};

use super::output::{Output, OutputValue, Placed};

/// Outputs begin at multiples of this many bytes, as storages of captures do.
pub const OUTPUT_ALIGNMENT: usize = 64;

/// The places of a kernel's outputs in one piece of memory, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    /// The outputs, in order of their offsets.
    pub outputs: Vec<Placed>,
    /// The size of all outputs in bytes.
    pub bytes: usize,
    /// The path of each in the kernel's output.
    paths: Vec<String>,
}

impl Placement {
    /// Places tensors of `specs`. If the captured call returned as many, they get the same paths; else they are
    /// numbered.
    ///
    /// # Errors
    /// [`KernelError::OutputBytes`] if they do not fit an address space.
    pub fn of(specs: &[TensorSpec], captured: &[CapturedOutput]) -> Result<Self, KernelError> {
        let mut end = 0usize;
        let mut outputs = Vec::with_capacity(specs.len());
        let mut paths = Vec::with_capacity(specs.len());
        for (i, spec) in specs.iter().enumerate() {
            let too_large = || KernelError::OutputBytes { spec: spec.clone(), given: end };
            let offset = end.checked_next_multiple_of(OUTPUT_ALIGNMENT).ok_or_else(too_large)?;
            let bytes = spec.bytes().and_then(|b| usize::try_from(b).ok()).ok_or_else(too_large)?;
            let next = offset.checked_add(bytes).filter(|&n| isize::try_from(n).is_ok()).ok_or_else(too_large)?;
            paths.push(match captured {
                captured if captured.len() == specs.len() => captured[i].path.clone(),
                _ if specs.len() == 1 => String::new(),
                _ => format!("[{i}]"),
            });
            outputs.push(Placed { spec: spec.clone(), offset, bytes, crc32: None, tolerances: None });
            end = next;
        }
        Ok(Self { outputs, bytes: end, paths })
    }

    /// The outputs, each with its path, if the piece of memory begins `start` bytes into a larger one.
    pub fn outputs_from(&self, start: usize) -> Vec<Output> {
        let named = self.paths.iter().zip(&self.outputs);
        let output = |(path, placed): (&String, &Placed)| {
            let placed = Placed { offset: start + placed.offset, ..placed.clone() };
            Output { path: path.clone(), value: OutputValue::Tensor(placed) }
        };
        named.map(output).collect()
    }

    /// The buffers of the outputs in `memory`, which begins where the placement does.
    ///
    /// # Errors
    /// [`KernelError::OutputBytes`] if `memory` is too short.
    pub fn buffers<'a>(&self, memory: &'a mut [u8]) -> Result<Vec<OutputBuffer<'a>>, KernelError> {
        let (mut rest, mut at) = (memory, 0);
        let mut buffers = Vec::with_capacity(self.outputs.len());
        for placed in &self.outputs {
            let short = KernelError::OutputBytes { spec: placed.spec.clone(), given: rest.len() };
            let (own, after) = rest
                .split_at_mut_checked(placed.offset - at)
                .and_then(|(_, tail)| tail.split_at_mut_checked(placed.bytes))
                .ok_or(short)?;
            buffers.push(OutputBuffer::new(&placed.spec, own)?);
            (rest, at) = (after, placed.range().end);
        }
        Ok(buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_capture::Dtype;
    use proptest::prelude::*;

    #[test]
    fn outputs_too_large_for_memory_are_refused() {
        let spec = |shape: &[u64]| TensorSpec { dtype: Dtype::F32, shape: shape.to_vec() };
        assert!(Placement::of(&[spec(&[u64::MAX])], &[]).is_err());
        assert!(Placement::of(&[spec(&[1 << 60]), spec(&[1 << 60]), spec(&[1 << 60])], &[]).is_err());
        assert_eq!(Placement::of(&[spec(&[3])], &[]).unwrap().outputs_from(0)[0].path, "");
    }

    proptest! {
        #[test]
        fn outputs_are_aligned_and_do_not_overlap(sizes in prop::collection::vec(0u64..300, 0..6)) {
            let specs: Vec<_> = sizes.iter().map(|&n| TensorSpec { dtype: Dtype::F16, shape: vec![n] }).collect();
            let placement = Placement::of(&specs, &[]).unwrap();
            prop_assert!(placement.outputs.iter().all(|o| o.offset % OUTPUT_ALIGNMENT == 0));
            prop_assert!(placement.outputs.windows(2).all(|p| p[0].range().end <= p[1].offset));
            let mut memory = vec![0; placement.bytes];
            let buffers = placement.buffers(&mut memory).unwrap();
            prop_assert_eq!(buffers.iter().map(|b| b.spec()).collect::<Vec<_>>(), specs);
            if placement.bytes > 0 {
                prop_assert!(placement.buffers(&mut memory[..placement.bytes - 1]).is_err());
            }
        }
    }
}
