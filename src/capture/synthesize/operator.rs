//! [`OperatorCall`]: a call of any operator, written down as its arguments, and captures of it whose outputs a kernel computes.

use std::path::Path;
use std::str::FromStr;

use super::content::{Stream, Table};
use super::error::SynthesizeError;
use super::examples::EXAMPLES;
use super::staging::Staging;
use crate::write::{EntryValue, Options, Source, write_entry};
use crate::{Argument, Dtype, Entry, Layout, Signature, TensorRef, TensorSpec};
use plimsoll_memory::ByteSize;

/// The distance between the streams of one entry's tensors and those of the next.
const STREAMS_AN_ENTRY: u64 = 1 << 16;
/// The default bound for a tensor's integers.
const USUAL_BOUND: u64 = 8;
/// What the first parameter is called: by functions of Python, by the schema that they share with methods, by `one_hot`.
const FIRST: [&str; 3] = ["input", "self", "tensor"];

/// A call of an operator: its arguments, without the content of its tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCall {
    function: String,
    arguments: Vec<(String, Given)>,
}

/// An argument whose tensor content does not exist yet.
#[derive(Clone, Debug, PartialEq)]
enum Given {
    /// A tensor, whose integers are below a bound.
    Tensor { spec: TensorSpec, below: u64 },
    /// Any other value.
    Value(Argument),
}

/// A text that is not an argument of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an argument: write NAME=VALUE, with the value a tensor as float32[8,64] or int64[8,64]<100 (below 100), a number, \
    true, false, none, a word, or a list as (1,2)"
)]
pub struct ParseArgumentError(String);

/// A leaf of an operator's output for an entry. The leaf owns its bytes, because the entry is written after the memory
/// of the launch is freed.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The place in the output: empty for a single value, `[1]` for the second of several.
    pub path: String,
    /// The value of the leaf.
    pub value: ComputedValue,
}

/// A value that an operator returned.
#[derive(Clone, Debug, PartialEq)]
pub enum ComputedValue {
    /// A tensor, its elements row-major.
    Tensor(TensorSpec, Vec<u8>),
    /// A value that is not a tensor.
    Value(Argument),
}

/// A function that computes the output of an entry, or says why it cannot.
pub type Compute<'a> = dyn FnMut(&Entry) -> Result<Vec<Computed>, String> + 'a;

impl OperatorCall {
    /// A call of the function `name` of torch.nn.functional, or of any other function by its full name, with the
    /// arguments of an example if there is one.
    pub fn named(name: &str) -> Self {
        let plain = name.strip_prefix("torch.nn.functional.").unwrap_or(name);
        let example = EXAMPLES.iter().find(|(names, _)| names.split(' ').any(|known| known == plain));
        let function = if name.contains(['.', ':']) { name.to_owned() } else { format!("torch.nn.functional.{name}") };
        let mut call = Self { function, arguments: Vec::new() };
        for argument in example.map_or("", |(_, arguments)| arguments).split_whitespace() {
            call.set(argument).expect("the examples are written as arguments are");
        }
        call
    }

    /// The functions of torch.nn.functional that have an example.
    pub fn examples() -> impl Iterator<Item = &'static str> {
        EXAMPLES.iter().flat_map(|(names, _)| names.split(' '))
    }

    /// Sets an argument, written as NAME=VALUE.
    ///
    /// # Errors
    /// [`ParseArgumentError`].
    pub fn set(&mut self, text: &str) -> Result<(), ParseArgumentError> {
        let refuse = || ParseArgumentError(text.to_owned());
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(refuse)?;
        let given = given(value).ok_or_else(refuse)?;
        let is_first = |name: &str| FIRST.contains(&name);
        let known = |(at, (known, _)): &(usize, &mut (String, Given))| {
            known == name || *at == 0 && is_first(known) && is_first(name)
        };
        match self.arguments.iter_mut().enumerate().find(known) {
            Some((_, (_, old))) => *old = given,
            None => self.arguments.push((name.to_owned(), given)),
        }
        Ok(())
    }

    /// The operator's name in the captures.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Whether the call has no arguments: no example is known, and none was set.
    pub fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// Writes `entries` calls to `dir`, a folder that is absent or empty, and returns the bytes written. The tensors
    /// follow from the seed; the outputs are those that `compute` returns for the entry, which is then already written,
    /// without an output.
    ///
    /// # Errors
    /// [`SynthesizeError`]; everything made is removed again.
    pub fn write(
        &self,
        dir: &Path,
        entries: u64,
        seed: u64,
        options: &Options<'_>,
        compute: &mut Compute<'_>,
    ) -> Result<ByteSize, SynthesizeError> {
        let staging = Staging::new(dir, ByteSize::new(self.input_bytes()? * entries))?;
        let names: Vec<String> = (0..entries).map(|index| format!("entry_{index:06}.pt")).collect();
        let mut total = ByteSize::ZERO;
        for (index, name) in (0..).zip(&names) {
            let path = staging.path().join(name);
            let inputs = self.contents(seed, index);
            let mut value = self.entry();
            let save = |value: &EntryValue, outputs: &[Vec<u8>]| {
                let storages: Vec<_> = inputs.iter().chain(outputs).map(|bytes| Source::Bytes(bytes)).collect();
                write_entry(&path, value, &storages, options).map_err(|error| error.at(dir.join(name)))
            };
            save(&value, &[])?;
            let failed = |reason: String| SynthesizeError::Compute { entry: name.clone(), reason };
            let entry = Entry::open(&path).map_err(|error| failed(error.to_string()))?;
            let (output, outputs) = output(compute(&entry).map_err(failed)?, inputs.len());
            value.output = output;
            total += save(&value, &outputs)?;
        }
        staging.commit(names.iter().map(String::as_str))?;
        Ok(total)
    }

    /// The bytes of the tensors of one call.
    fn input_bytes(&self) -> Result<u64, SynthesizeError> {
        let mut sum = 0u64;
        for (_, given) in &self.arguments {
            if let Given::Tensor { spec, .. } = given {
                let too_large = || SynthesizeError::Shape {
                    what: "the arguments",
                    why: format!("a {} tensor of shape {:?} is larger than any file", spec.dtype, spec.shape),
                };
                sum = spec.bytes().and_then(|bytes| sum.checked_add(bytes)).ok_or_else(too_large)?;
            }
        }
        Ok(sum)
    }

    /// The entry without an output, as a hook that knows the signature writes it.
    fn entry(&self) -> EntryValue {
        let mut storages = 0..;
        let argument = |(name, given): &(String, Given)| {
            let value = match given {
                Given::Value(value) => value.clone(),
                Given::Tensor { spec, .. } => Argument::Tensor(TensorRef {
                    layout: Layout::contiguous(spec.dtype, &spec.shape),
                    storage: storages.next().expect("there are enough numbers"),
                }),
            };
            (name.clone(), value)
        };
        let kwargs: Vec<(String, Argument)> = self.arguments.iter().map(argument).collect();
        let params = kwargs.iter().map(|(name, _)| name.clone()).collect();
        EntryValue {
            function_name: self.function.clone(),
            args: Vec::new(),
            output: Argument::None,
            signature: Some(Signature { params, defaults: Vec::new() }),
            kwargs,
        }
    }

    /// The bytes of each tensor of entry `index`.
    fn contents(&self, seed: u64, index: u64) -> Vec<Vec<u8>> {
        let tensors = self.arguments.iter().filter_map(|(_, given)| match given {
            Given::Tensor { spec, below } => Some((spec, *below)),
            Given::Value(_) => None,
        });
        (0..)
            .zip(tensors)
            .map(|(number, (spec, below))| content(Stream::new(seed, index * STREAMS_AN_ENTRY + number), spec, below))
            .collect()
    }
}

/// The elements of a tensor: numbers of about [-0.5, 0.5), both parts of complex ones, integers below a bound, or random
/// bools.
fn content(stream: Stream, spec: &TensorSpec, below: u64) -> Vec<u8> {
    let mut bytes = vec![0; spec.bytes().unwrap_or(0) as usize];
    let part = match spec.dtype {
        Dtype::C128 => Dtype::F64,
        Dtype::C64 => Dtype::F32,
        Dtype::C32 => Dtype::F16,
        other => other,
    };
    if part.is_float() {
        Table::new(stream, part).fill(0, &mut bytes);
        return bytes;
    }
    let below = if spec.dtype == Dtype::Bool { 2 } else { below };
    for (position, element) in (0..).zip(bytes.chunks_exact_mut(spec.dtype.size() as usize)) {
        let word = stream.index(position, below).to_le_bytes();
        let length = element.len().min(8);
        element[..length].copy_from_slice(&word[..length]);
    }
    bytes
}

/// The output of an entry, and the storages of its tensors, whose numbers begin at `first`.
fn output(computed: Vec<Computed>, first: usize) -> (Argument, Vec<Vec<u8>>) {
    let (mut storages, single) = (Vec::new(), computed.len() == 1 && computed[0].path.is_empty());
    let mut values: Vec<Argument> = computed
        .into_iter()
        .map(|leaf| match leaf.value {
            ComputedValue::Value(value) => value,
            ComputedValue::Tensor(spec, bytes) => {
                storages.push(bytes);
                let layout = Layout::contiguous(spec.dtype, &spec.shape);
                Argument::Tensor(TensorRef { layout, storage: first + storages.len() - 1 })
            }
        })
        .collect();
    let value = if single { values.remove(0) } else { Argument::Tuple(values) };
    (value, storages)
}

/// Reads a value as the user writes it.
fn given(text: &str) -> Option<Given> {
    if let Some((dtype, rest)) = text.split_once('[') {
        let (shape, below) = rest.split_once(']')?;
        let below = match below.strip_prefix('<') {
            Some(bound) => bound.parse().ok().filter(|&bound| bound > 0)?,
            None if below.is_empty() => USUAL_BOUND,
            None => return None,
        };
        let shape = shape.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().ok()).collect::<Option<_>>()?;
        return Some(Given::Tensor { spec: TensorSpec { dtype: Dtype::from_str(dtype).ok()?, shape }, below });
    }
    value(text).map(Given::Value)
}

fn value(text: &str) -> Option<Argument> {
    if let Some(items) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let items = items.split(',').filter(|item| !item.is_empty());
        return items.map(value).collect::<Option<_>>().map(Argument::Tuple);
    }
    Some(match text {
        "true" => Argument::Bool(true),
        "false" => Argument::Bool(false),
        "none" => Argument::None,
        _ => {
            let number = text.parse().map(Argument::Int).or_else(|_| text.parse().map(Argument::Float));
            let word = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
            match number {
                Ok(number) => number,
                Err(_) if !text.is_empty() && text.chars().all(word) => Argument::Str(text.to_owned()),
                Err(_) => return None,
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_they_are_written() {
        let tensor = |dtype, shape: &[u64], below| {
            Some(Given::Tensor { spec: TensorSpec { dtype, shape: shape.to_vec() }, below })
        };
        assert_eq!(given("bfloat16[2,3]"), tensor(Dtype::BF16, &[2, 3], USUAL_BOUND));
        assert_eq!(given("int64[4]<100"), tensor(Dtype::I64, &[4], 100));
        assert_eq!(given("float32[]"), tensor(Dtype::F32, &[], USUAL_BOUND));
        let pair = Argument::Tuple(vec![Argument::Int(1), Argument::None]);
        assert_eq!(given("(1,none)"), Some(Given::Value(pair)));
        assert_eq!(given("1e-5"), Some(Given::Value(Argument::Float(1e-5))));
        assert_eq!(given("nearest-exact"), Some(Given::Value(Argument::Str("nearest-exact".to_owned()))));
        for wrong in ["", "float32[2", "float33[2]", "float32[2]<0", "float32[-1]", "float32[2]x", "(1", "a b"] {
            assert_eq!(given(wrong), None, "{wrong}");
        }
        let mut call = OperatorCall::named("aten::mm");
        assert!(call.is_empty());
        assert!(call.set("=1").is_err() && call.set("x").is_err());
    }

    #[test]
    fn the_first_argument_of_an_example_has_any_of_its_names() {
        for name in FIRST {
            let mut call = OperatorCall::named("one_hot");
            let count = call.arguments.len();
            call.set(&format!("{name}=int64[3]<2")).unwrap();
            assert_eq!(call.arguments.len(), count);
            assert!(matches!(&call.arguments[0].1, Given::Tensor { spec, below: 2 } if spec.shape == [3]), "{name}");
        }
    }

    #[test]
    fn both_parts_of_complex_elements_are_numbers_like_any_other() {
        for (dtype, part) in [(Dtype::C128, Dtype::F64), (Dtype::C64, Dtype::F32), (Dtype::C32, Dtype::F16)] {
            let of = |dtype, count| content(Stream::new(1, 2), &TensorSpec { dtype, shape: vec![count] }, USUAL_BOUND);
            assert_eq!(of(dtype, 40), of(part, 80));
        }
    }

    #[test]
    fn an_entry_holds_what_was_computed_and_depends_on_its_seed_alone() {
        let made = |seed| {
            let dir = tempfile::tempdir().unwrap();
            let capture = dir.path().join("capture");
            let mut call = OperatorCall::named("relu");
            call.set("input=int32[3]<1000").unwrap();
            let mut negate = |entry: &Entry| {
                let bytes = entry.map().unwrap().storage(0).unwrap().to_vec();
                let spec = TensorSpec { dtype: Dtype::I32, shape: vec![3] };
                let value = ComputedValue::Tensor(spec, bytes.iter().map(|byte| !byte).collect());
                Ok(vec![Computed { path: String::new(), value }])
            };
            call.write(&capture, 2, seed, &Options::default(), &mut negate).unwrap();
            let files: Vec<_> =
                (0..2).map(|i| std::fs::read(capture.join(format!("entry_{i:06}.pt"))).unwrap()).collect();
            let entry = Entry::open(&capture.join("entry_000001.pt")).unwrap();
            assert_eq!((entry.function_name(), entry.storages().len()), ("torch.nn.functional.relu", 2));
            let mapped = entry.map().unwrap();
            let both = mapped.storage(0).unwrap().iter().zip(mapped.storage(1).unwrap());
            assert!(both.clone().count() == 12 && both.into_iter().all(|(input, output)| *input == !output));
            files
        };
        assert_eq!(made(1), made(1));
        assert_ne!(made(1), made(2));
        assert_ne!(made(1)[0], made(1)[1]);
    }

    #[test]
    fn what_cannot_be_computed_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let mut fail = |_: &Entry| Err("no".to_owned());
        let call = OperatorCall::named("relu");
        let error = call.write(&dir.path().join("capture"), 1, 0, &Options::default(), &mut fail).unwrap_err();
        assert_eq!(error.to_string(), "entry_000000.pt: its output could not be computed: no");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
