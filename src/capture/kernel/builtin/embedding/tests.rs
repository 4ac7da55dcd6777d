use proptest::prelude::*;

use super::*;
use crate::kernel::CapturedOutput;
use crate::{Argument, TensorRef};

/// A call of the kernel over its own storages.
#[derive(Default)]
struct Case {
    params: Vec<String>,
    args: Vec<Argument>,
    storages: Vec<Vec<u8>>,
}

impl Case {
    fn of(input: Layout, indices: Vec<u8>, weight: Layout, table: Vec<u8>) -> Self {
        let tensor = |layout, storage| Argument::Tensor(TensorRef { layout, storage });
        let params = vec!["input".to_owned(), "weight".to_owned()];
        Self { params, args: vec![tensor(input, 0), tensor(weight, 1)], storages: vec![indices, table] }
    }

    fn with(mut self, name: &str, value: Argument) -> Self {
        self.params.push(name.to_owned());
        self.args.push(value);
        self
    }

    fn run(&self) -> Result<(TensorSpec, Vec<u8>), KernelError> {
        let storages: Vec<&[u8]> = self.storages.iter().map(Vec::as_slice).collect();
        let call = Call { params: &self.params, args: &self.args, storages: &storages, outputs: &[] };
        let spec = Embedding.outputs(&call)?.remove(0);
        let mut bytes = vec![0; spec.bytes().unwrap() as usize];
        let mut output = OutputBuffer::new(&spec, &mut bytes)?;
        output.poison();
        Embedding.launch(&call, &mut [output])?;
        Ok((spec, bytes))
    }
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn i32s(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// A table of 4 rows and 3 columns of bytes: element (r, c) is `10 r + c`.
fn table() -> (Layout, Vec<u8>) {
    let bytes = (0..4u8).flat_map(|r| (0..3).map(move |c| 10 * r + c)).collect();
    (Layout::contiguous(Dtype::U8, &[4, 3]), bytes)
}

fn vector(indices: &[i64]) -> Case {
    let (layout, bytes) = table();
    Case::of(Layout::contiguous(Dtype::I64, &[indices.len() as u64]), i64s(indices), layout, bytes)
}

#[test]
fn gathers_the_row_of_each_index() {
    let (spec, bytes) = vector(&[2, 0, 2, 3]).run().unwrap();
    assert_eq!(spec, TensorSpec { dtype: Dtype::U8, shape: vec![4, 3] });
    assert_eq!(bytes, [20, 21, 22, 0, 1, 2, 20, 21, 22, 30, 31, 32]);
}

#[test]
fn takes_scalar_empty_and_strided_indices_of_both_dtypes() {
    let (layout, bytes) = table();
    let run = |input: Layout, indices| Case::of(input, indices, layout.clone(), bytes.clone()).run().unwrap();
    let (spec, out) = run(Layout::contiguous(Dtype::I32, &[]), i32s(&[1]));
    assert_eq!((spec.shape, out), (vec![3], vec![10, 11, 12]));
    let (spec, out) = run(Layout::contiguous(Dtype::I64, &[2, 0]), vec![]);
    assert_eq!((spec.shape, out), (vec![2, 0, 3], vec![]));
    // A transposed [2, 2] tensor that starts at the second element.
    let mut transposed = Layout::contiguous(Dtype::I32, &[2, 2]);
    (transposed.strides, transposed.offset) = (vec![1, 2], 1);
    let (spec, out) = run(transposed, i32s(&[9, 0, 1, 2, 3]));
    assert_eq!((spec.shape, out), (vec![2, 2, 3], vec![0, 1, 2, 20, 21, 22, 10, 11, 12, 30, 31, 32]));
    // One index, repeated along a dimension of stride 0.
    let mut repeated = Layout::contiguous(Dtype::I64, &[2]);
    repeated.strides = vec![0];
    assert_eq!(run(repeated, i64s(&[3])).1, [30, 31, 32, 30, 31, 32]);
}

#[test]
fn an_index_out_of_range_is_named_with_its_place() {
    let (layout, bytes) = table();
    for (indices, index, position) in [
        ([0, 1, 2, 3, 4, 0], 4, vec![1, 1]),
        ([0, 1, -1, 3, 4, 0], -1, vec![0, 2]),
        ([i64::MIN, 0, 0, 0, 0, 0], i64::MIN, vec![0, 0]),
    ] {
        let case = Case::of(Layout::contiguous(Dtype::I64, &[2, 3]), i64s(&indices), layout.clone(), bytes.clone());
        let error = case.run().unwrap_err();
        assert_eq!(error, KernelError::IndexOutOfRange { name: "input", position, index, rows: 4 });
    }
    let error = vector(&[0, 4]).run().unwrap_err();
    assert_eq!(error.to_string(), "index 4 at [1] of `input` is out of range: the table has 4 rows");
}

#[test]
fn arguments_that_it_does_not_take_are_refused() {
    let (layout, bytes) = table();
    let indices = Layout::contiguous(Dtype::I64, &[1]);
    let refused = |case: Case| case.run().unwrap_err().to_string();
    let input = Layout::contiguous(Dtype::I16, &[1]);
    let case = Case::of(input, vec![0; 2], layout.clone(), bytes.clone());
    assert_eq!(refused(case), "tensor `input` must be int32 or int64, but the call gives int16");
    let case = Case::of(indices.clone(), i64s(&[0]), Layout::contiguous(Dtype::U8, &[12]), bytes.clone());
    assert_eq!(refused(case), "tensor `weight` must have 2 dimensions, but the call gives one of shape [12]");
    let conjugate = Layout { conj: true, ..Layout::contiguous(Dtype::C64, &[1, 1]) };
    let case = Case::of(indices.clone(), i64s(&[0]), conjugate, bytes.clone());
    assert_eq!(
        refused(case),
        "builtin:embedding does not implement a `weight` that is a lazy conjugate or negative: use a `py:` kernel for this call"
    );
    let case = Case::of(indices, i64s(&[0]), layout, bytes).with("max_norm", Argument::Float(1.0));
    assert_eq!(
        refused(case),
        "builtin:embedding does not implement max_norm for a weight of uint8 (only of float64, float32, float16 or bfloat16): use a `py:` kernel for this call"
    );
    let case = vector(&[0]).with("max_norm", Argument::Str("big".into()));
    assert_eq!(refused(case), "argument `max_norm` must be a number or None, but the call gives a value of kind str");
}

#[test]
fn padding_is_to_be_in_range_and_changes_nothing() {
    for padding in [-4, -1, 0, 3] {
        let (_, bytes) = vector(&[3, 0]).with("padding_idx", Argument::Int(padding)).run().unwrap();
        assert_eq!(bytes, [30, 31, 32, 0, 1, 2]);
    }
    for padding in [-5, 4, i64::MIN, i64::MAX] {
        let error = vector(&[3, 0]).with("padding_idx", Argument::Int(padding)).run().unwrap_err();
        assert_eq!(error.to_string(), format!("option `padding_idx` is {padding}: the weight has 4 rows"));
    }
}

#[test]
fn outputs_are_checked() {
    let case = vector(&[1]);
    let storages: Vec<&[u8]> = case.storages.iter().map(Vec::as_slice).collect();
    let call = Call { params: &case.params, args: &case.args, storages: &storages, outputs: &[] };
    assert_eq!(Embedding.launch(&call, &mut []), Err(KernelError::OutputCount { expected: 1, given: 0 }));
    let spec = TensorSpec { dtype: Dtype::U8, shape: vec![3] };
    let mut bytes = [0; 3];
    let error = Embedding.launch(&call, &mut [OutputBuffer::new(&spec, &mut bytes).unwrap()]).unwrap_err();
    assert_eq!(error.to_string(), "output 0 is uint8 [1, 3], but the buffer given is uint8 [3]");
}

/// A layout of `shape` with any strides and offset, and the bytes of a storage that holds it.
fn strided(dtype: Dtype, shape: Vec<u64>) -> impl Strategy<Value = (Layout, usize)> {
    (prop::collection::vec(0u64..7, shape.len()), 0u64..5).prop_map(move |(strides, offset)| {
        let layout = Layout { strides, offset, ..Layout::contiguous(dtype, &shape) };
        let bytes = layout.reach().unwrap().end as usize;
        (layout, bytes)
    })
}

/// Bytes of element `index` of a tensor, by the definition of a stride.
fn element<'a>(layout: &Layout, storage: &'a [u8], index: &[u64]) -> &'a [u8] {
    let at = layout.offset + layout.strides.iter().zip(index).map(|(s, i)| s * i).sum::<u64>();
    let size = layout.dtype.size();
    &storage[(at * size) as usize..((at + 1) * size) as usize]
}

proptest! {
    #[test]
    fn any_strides_give_the_rows_of_the_definition(
        ((input, input_bytes), (weight, weight_bytes), indices) in
            (prop::collection::vec(0u64..4, 0..4), 1u64..5, 0u64..5, prop::sample::select(Dtype::ALL))
            .prop_flat_map(|(shape, rows, columns, dtype)| (
                strided(Dtype::I32, shape),
                strided(dtype, vec![rows, columns]),
                prop::collection::vec(0i32..rows as i32, 64),
            ))
    ) {
        let count = input_bytes / 4;
        prop_assume!(count <= indices.len());
        let table: Vec<u8> = (0..weight_bytes).map(|n| (n * 37 + 11) as u8).collect();
        let case = Case::of(input.clone(), i32s(&indices[..count]), weight.clone(), table.clone());
        let (spec, bytes) = case.run().unwrap();
        let mut expected = Vec::new();
        for n in 0..input.numel().unwrap() {
            let place: Vec<u64> = position(&input.shape, n).collect();
            let index = element(&input, &case.storages[0], &place);
            let row = u64::from(u32::from_le_bytes(index.try_into().unwrap()));
            for column in 0..weight.shape[1] {
                expected.extend_from_slice(element(&weight, &table, &[row, column]));
            }
        }
        prop_assert_eq!(spec.bytes().unwrap() as usize, expected.len());
        prop_assert_eq!(bytes, expected);
    }

    #[test]
    fn any_layouts_and_bytes_are_answered_or_refused(
        input in (prop::collection::vec(any::<u64>(), 0..3), prop::collection::vec(any::<u64>(), 0..3), any::<u64>()),
        weight in (prop::collection::vec(0u64..9, 1..4), prop::collection::vec(any::<u64>(), 1..4), any::<u64>()),
        max_norm in any::<Option<f64>>(),
        bytes in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let layout = |dtype, (shape, strides, offset)| Layout { shape, strides, offset, ..Layout::contiguous(dtype, &[]) };
        let mut case = Case::of(layout(Dtype::I64, input), bytes.clone(), layout(Dtype::F16, weight), bytes);
        if let Some(max_norm) = max_norm {
            case = case.with("max_norm", Argument::Float(max_norm));
        }
        let storages: Vec<&[u8]> = case.storages.iter().map(Vec::as_slice).collect();
        let call = Call { params: &case.params, args: &case.args, storages: &storages, outputs: &[] };
        let small = |specs: Vec<TensorSpec>| specs[0].bytes().filter(|&b| b < 1 << 20).is_some();
        if Embedding.outputs(&call).is_ok_and(small) {
            let _ = case.run();
        }
    }
}

#[test]
fn a_look_up_is_known_by_what_it_was_given_and_what_it_gave() {
    let case = vector(&[2, 0, 9, -1, 3]);
    let storages: Vec<&[u8]> = case.storages.iter().map(Vec::as_slice).collect();
    let rows = |shape: &[u64]| {
        let spec = TensorSpec { dtype: Dtype::U8, shape: shape.to_vec() };
        let outputs = [CapturedOutput { path: String::new(), spec }];
        let mut rows = Vec::new();
        let call = Call { params: &case.params, args: &case.args, storages: &storages, outputs: &outputs };
        looked_up(&call, &mut |storage, range| rows.push((storage, range)));
        rows
    };
    // An index out of range has no row.
    assert_eq!(rows(&[5, 3]), [(1, 6..9), (1, 0..3), (1, 9..12)]);
    assert_eq!(rows(&[5, 4]), [], "another function of parameters of these names");
}
