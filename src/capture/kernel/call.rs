//! [`Call`]: the arguments that a kernel is launched on.

use super::error::KernelError;
use serde::{Deserialize, Serialize};

use crate::{Argument, TensorRef, TensorSpec, TensorView};

/// A tensor that the captured call returned, without its elements, which no kernel may see. A kernel that fills given
/// outputs gets memory for tensors of these dtypes and shapes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedOutput {
    /// The tensor's place in the output: empty for a single one, `[1]` for the second of a tuple.
    pub path: String,
    /// The tensor's dtype and shape.
    #[serde(flatten)]
    pub spec: TensorSpec,
}

impl CapturedOutput {
    /// The tensors of a captured output, in order.
    pub fn all(output: &Argument) -> Vec<Self> {
        let mut all = Vec::new();
        output.for_each_leaf(&mut String::new(), &mut |path, leaf| {
            if let Argument::Tensor(tensor) = leaf {
                all.push(Self { path: path.to_owned(), spec: tensor.layout.spec() });
            }
        });
        all
    }
}

/// One call of a kernel: named positional arguments, and the storages of their tensors.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The name of each argument; `arg0`, `arg1` ... if the entry has no signature.
    pub params: &'a [String],
    /// The arguments, parallel to `params`.
    pub args: &'a [Argument],
    /// The bytes of each storage, by [`TensorRef::storage`](crate::TensorRef::storage).
    pub storages: &'a [&'a [u8]],
    /// The tensors that the captured call returned; empty if they are not known.
    pub outputs: &'a [CapturedOutput],
}

impl<'a> Call<'a> {
    /// The argument of the parameter `name`.
    pub fn get(&self, name: &str) -> Option<&'a Argument> {
        self.params.iter().position(|p| p == name).and_then(|i| self.args.get(i))
    }

    /// The argument of the parameter `name`, which is at `position` among the kernel's own parameters: by name, or by
    /// position if the call names that position only by its number (`arg2`).
    pub fn parameter(&self, name: &str, position: usize) -> Option<&'a Argument> {
        self.get(name).or_else(|| {
            let unnamed = self.params.get(position)?.strip_prefix("arg")?.parse() == Ok(position);
            self.args.get(position).filter(|_| unnamed)
        })
    }

    /// The tensor of a required parameter, in place.
    ///
    /// # Errors
    /// [`KernelError`] if it is missing, is not a tensor, or reaches beyond its storage.
    pub fn tensor(&self, name: &'static str, position: usize) -> Result<TensorView<'a>, KernelError> {
        let missing = || KernelError::MissingArgument { name, position, given: self.params.to_vec() };
        match self.parameter(name, position).ok_or_else(missing)? {
            Argument::Tensor(tensor) => self.view(name, tensor),
            other => Err(wrong_kind(name, "a tensor", other)),
        }
    }

    /// The tensor, in place; `name` is its argument's name, for messages.
    ///
    /// # Errors
    /// [`KernelError`] if its storage does not exist, or it reaches beyond it.
    pub fn view<'t>(&self, name: &str, tensor: &'t TensorRef) -> Result<TensorView<'t>, KernelError>
    where
        'a: 't,
    {
        let storage = self.storages.get(tensor.storage).ok_or_else(|| KernelError::NoSuchStorage {
            name: name.to_owned(),
            storage: tensor.storage,
            storages: self.storages.len(),
        })?;
        TensorView::new(&tensor.layout, storage)
            .map_err(|source| KernelError::OutsideStorage { name: name.to_owned(), source })
    }

    /// The integer of an optional parameter; `None` if it is absent or Python's `None`.
    ///
    /// # Errors
    /// [`KernelError::WrongKind`] if it is not an integer of 64 bits. A bool is not one, as in PyTorch.
    pub fn int(&self, name: &str, position: usize) -> Result<Option<i64>, KernelError> {
        match self.parameter(name, position) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::Int(n)) => Ok(Some(*n)),
            Some(other) => Err(wrong_kind(name, "an int of 64 bits or None", other)),
        }
    }

    /// The number of an optional parameter; `None` if it is absent or Python's `None`.
    ///
    /// # Errors
    /// [`KernelError::WrongKind`] if it is not a float, an int or a bool, which PyTorch takes as numbers.
    pub fn float(&self, name: &str, position: usize) -> Result<Option<f64>, KernelError> {
        match self.parameter(name, position) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::Float(x)) => Ok(Some(*x)),
            Some(Argument::Int(n)) => Ok(Some(*n as f64)),
            Some(Argument::Bool(b)) => Ok(Some(f64::from(*b))),
            Some(other) => Err(wrong_kind(name, "a number or None", other)),
        }
    }

    /// The truth value of an optional parameter; `None` if it is absent or Python's `None`.
    ///
    /// # Errors
    /// [`KernelError::WrongKind`] if it is not a bool.
    pub fn bool(&self, name: &str, position: usize) -> Result<Option<bool>, KernelError> {
        match self.parameter(name, position) {
            None | Some(Argument::None) => Ok(None),
            Some(Argument::Bool(b)) => Ok(Some(*b)),
            Some(other) => Err(wrong_kind(name, "a bool or None", other)),
        }
    }
}

fn wrong_kind(name: &str, expected: &'static str, found: &Argument) -> KernelError {
    KernelError::WrongKind { name: name.to_owned(), expected, found: found.kind() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Layout, TensorRef};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn arguments_are_found_by_name_and_unnamed_ones_by_position() {
        let args = [Argument::Int(1), Argument::Int(2), Argument::Int(3)];
        let params = names(&["arg0", "weight", "arg7"]);
        let call = Call { params: &params, args: &args, storages: &[], outputs: &[] };
        assert_eq!(call.int("weight", 0), Ok(Some(2)), "the name wins over the position");
        assert_eq!(call.int("input", 0), Ok(Some(1)));
        assert_eq!(call.int("bias", 1), Ok(None), "position 1 is another parameter");
        assert_eq!(call.int("bias", 2), Ok(None), "the number of an unnamed argument is its position");
        assert_eq!(call.int("bias", 9), Ok(None));
    }

    #[test]
    fn kinds_are_checked() {
        let params = names(&["a"]);
        let check = |value: Argument| {
            let args = [value];
            let call = Call { params: &params, args: &args, storages: &[], outputs: &[] };
            (call.int("a", 0).ok(), call.float("a", 0).ok(), call.bool("a", 0).ok())
        };
        assert_eq!(check(Argument::None), (Some(None), Some(None), Some(None)));
        assert_eq!(check(Argument::Int(2)), (Some(Some(2)), Some(Some(2.0)), None));
        assert_eq!(check(Argument::Float(0.5)), (None, Some(Some(0.5)), None));
        assert_eq!(check(Argument::Bool(true)), (None, Some(Some(1.0)), Some(Some(true))));
        assert_eq!(check(Argument::Str("x".into())), (None, None, None));
    }

    #[test]
    fn tensors_are_refused_with_the_reason() {
        let layout = Layout::contiguous(Dtype::F32, &[2]);
        let args = [
            Argument::Tensor(TensorRef { layout: layout.clone(), storage: 0 }),
            Argument::Tensor(TensorRef { layout, storage: 1 }),
            Argument::Int(3),
        ];
        let params = names(&["a", "b", "c"]);
        let call = Call { params: &params, args: &args, storages: &[&[0; 7]], outputs: &[] };
        let message = |name, position| call.tensor(name, position).unwrap_err().to_string();
        assert_eq!(
            message("a", 0),
            "argument `a`: a float32 tensor of shape [2], strides [1] and offset 0 reaches beyond its storage of 7 bytes: save the tensor again"
        );
        assert_eq!(message("b", 1), "argument `b` is in storage 1, but the call has 1 storages");
        assert_eq!(message("c", 2), "argument `c` must be a tensor, but the call gives a value of kind int");
        assert_eq!(message("d", 3), r#"argument `d` (position 3) is missing: the call has ["a", "b", "c"]"#);
    }
}
