//! How readers of `.pt` files handle one corpus: the files whose tensors they all read correctly, those that they read
//! in part or wrongly, and those that they refuse.
//!
//! A tensor is correct if its shape and its logical bytes are: names and structure are not compared, because readers
//! name tensors in different ways. Tensors without elements of their own (sparse, nested, meta) count by their parts.

use std::collections::HashMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use candle_core::pickle::PthTensors;
use candle_core::{DType, Tensor};
use half::{bf16, f16};
use plimsoll::capture::{ItemValue, TensorItem, TorchFile};
use pytorch_reader::PytorchReader;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A tensor as it is compared: shape and SHA-256 of its logical bytes.
type Seen = (Vec<u64>, String);
type Outcome = Result<Vec<Seen>, Box<dyn Error>>;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn plimsoll(path: &Path) -> Outcome {
    let file = TorchFile::open(path)?;
    let mapped = file.map()?;
    let mut seen = Vec::new();
    let mut failed = None;
    file.walk(&mut |item| {
        let ItemValue::Tensor(TensorItem { elements: Some(elements), .. }) = &item.value else { return };
        if item.alias_of.is_some() {
            return;
        }
        match mapped.view(elements) {
            Ok(view) => {
                let mut bytes = vec![0; elements.layout.logical_bytes().unwrap_or(0) as usize];
                view.read_into(0, &mut bytes);
                seen.push((view.shape().to_vec(), sha256(&bytes)));
            }
            Err(error) => failed = Some(error),
        }
    });
    failed.map_or(Ok(seen), |error| Err(error.into()))
}

fn pytorch_reader(path: &Path) -> Outcome {
    let reader = PytorchReader::new(path)?;
    let tensors = reader.tensors().values();
    tensors
        .map(|tensor| Ok((tensor.shape().iter().map(|&size| size as u64).collect(), sha256(&tensor.read()?))))
        .collect()
}

fn candle(path: &Path) -> Outcome {
    let tensors = PthTensors::new(path, None)?;
    let mut seen = Vec::new();
    for name in tensors.tensor_infos().keys() {
        let Some(tensor) = tensors.get(name)? else { continue };
        let shape = tensor.dims().iter().map(|&size| size as u64).collect();
        seen.push((shape, sha256(&candle_bytes(&tensor)?)));
    }
    Ok(seen)
}

fn candle_bytes(tensor: &Tensor) -> Result<Vec<u8>, Box<dyn Error>> {
    let flat = tensor.flatten_all()?;
    macro_rules! bytes {
        ($($dtype:ident => $type:ty,)*) => {
            match tensor.dtype() {
                $(DType::$dtype => Ok(flat.to_vec1::<$type>()?.iter().flat_map(|value| value.to_le_bytes()).collect()),)*
                other => Err(format!("{other:?} cannot be read back").into()),
            }
        };
    }
    bytes! { U8 => u8, U32 => u32, I16 => i16, I32 => i32, I64 => i64, F16 => f16, BF16 => bf16, F32 => f32, F64 => f64, }
}

/// The tensors of the truth beside a file, aliases once.
fn truth(path: &Path) -> Vec<Seen> {
    let mut name = path.as_os_str().to_owned();
    name.push(".json");
    let truth: Value = serde_json::from_slice(&std::fs::read(name).expect("every file has a truth")).expect("JSON");
    let tensors = truth["tensors"].as_array().expect("it lists tensors").iter();
    tensors.filter_map(|tensor| seen(&tensor["shape"], &tensor["sha256"])).collect()
}

fn seen(shape: &Value, sha256: &Value) -> Option<Seen> {
    let shape = shape.as_array()?.iter().filter_map(Value::as_u64).collect();
    Some((shape, sha256.as_str()?.to_owned()))
}

fn torch(read: &Value) -> Outcome {
    match read {
        Value::Array(tensors) => Ok(tensors.iter().filter_map(|tensor| seen(&tensor[0], &tensor[1])).collect()),
        error => Err(error.to_string().into()),
    }
}

/// Whether the reader found every tensor of the truth. Some are found twice: a peer may copy shared ones, and parts of
/// unusual tensors are tensors that the truth does not list.
fn is_right(truth: &[Seen], found: &[Seen]) -> bool {
    let mut left: HashMap<&Seen, usize> = HashMap::new();
    found.iter().for_each(|tensor| *left.entry(tensor).or_default() += 1);
    truth.iter().all(|tensor| match left.get_mut(tensor) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(folder), Some(loaded)) = (arguments.next(), arguments.next()) else {
        return Err("give the folder of the corpus and the output of torch_load.py".into());
    };
    let loaded: Value = serde_json::from_slice(&std::fs::read(loaded)?)?;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    files.retain(|path| path.extension().is_none_or(|extension| extension != "json"));
    files.sort();

    type Reader<'a> = (&'a str, Box<dyn Fn(&Path) -> Outcome + 'a>);
    let torch_load = |path: &Path| torch(&loaded[&*path.file_name().unwrap_or_default().to_string_lossy()]);
    let readers: [Reader<'_>; 4] = [
        ("plimsoll", Box::new(plimsoll)),
        ("torch.load(weights_only=True)", Box::new(torch_load)),
        ("pytorch-reader 0.22.1", Box::new(pytorch_reader)),
        ("candle-core 0.11.1", Box::new(candle)),
    ];
    std::panic::set_hook(Box::new(|_| {}));
    println!("{} files                       all right  in part or wrong  refused  panicked", files.len());
    for (name, reader) in &readers {
        let [mut right, mut part, mut refused, mut panicked] = [0; 4];
        for path in &files {
            match catch_unwind(AssertUnwindSafe(|| reader(path))) {
                Ok(Ok(found)) if is_right(&truth(path), &found) => right += 1,
                Ok(Ok(_)) => part += 1,
                Ok(Err(_)) => refused += 1,
                Err(_) => panicked += 1,
            }
        }
        println!("{name:32} {right:9}  {part:16}  {refused:7}  {panicked:8}");
    }
    Ok(())
}
