//! Tensors: a call that rebuilds them, around the persistent id of their storage.

use super::Refusal;
use super::encoder::{Key, Object, Pickler};
use crate::{Dtype, Layout, OutsideStorage, TensorRef};

impl Pickler<'_> {
    pub(super) fn tensor(&mut self, tensor: &TensorRef) -> Result<(), Refusal> {
        let layout = &tensor.layout;
        let class = self.storage_class(layout)?;
        let typed = class != UNTYPED;
        self.global(if typed { "torch._utils\n_rebuild_tensor_v2\n" } else { "torch._utils\n_rebuild_tensor_v3\n" });
        self.out.push(b'(');
        self.storage(tensor, class)?;
        self.unsigned(layout.offset)?;
        self.ints(&layout.shape)?;
        self.ints(&layout.strides)?;
        // No gradient is required, and there are no hooks: an empty OrderedDict.
        self.out.push(0x89);
        self.global("collections\nOrderedDict\n");
        self.out.push(b')');
        self.reduce();
        if !typed {
            self.global(&format!("torch\n{}\n", layout.dtype));
        }
        let bits: Vec<&str> =
            [("neg", layout.neg), ("conj", layout.conj)].iter().filter(|b| b.1).map(|b| b.0).collect();
        if !bits.is_empty() {
            self.out.push(b'}');
            self.memoize();
            if bits.len() > 1 {
                self.out.push(b'(');
            }
            for bit in &bits {
                self.fresh_text(bit)?;
                self.out.push(0x88);
            }
            self.out.push(if bits.len() > 1 { b'u' } else { b's' });
        }
        self.close_tuple(6);
        self.reduce();
        Ok(())
    }

    /// The storage's class, such as `torch\nLongStorage\n`, once the layout is known to be one that torch can rebuild.
    pub(super) fn storage_class(&self, layout: &Layout) -> Result<&'static str, Refusal> {
        if layout.conj && !layout.dtype.is_complex() {
            return Err(self.refuse(format!("a {} tensor cannot be conjugated", layout.dtype)));
        }
        storage_class(layout.dtype).ok_or_else(|| {
            self.refuse(format!("a {} tensor needs a scale and zero point, which a layout does not have", layout.dtype))
        })
    }

    /// The persistent id of the tensor's storage: `("storage", class, key, "cpu", length)`.
    pub(super) fn storage(&mut self, tensor: &TensorRef, class: &'static str) -> Result<(), Refusal> {
        let (layout, index) = (&tensor.layout, tensor.storage);
        let Some(&bytes) = self.lengths.get(index) else {
            return Err(self.refuse(format!("it refers to storage {index}, but there are only {}", self.lengths.len())));
        };
        let fits = layout.shape.len() == layout.strides.len()
            && layout.logical_bytes().is_some()
            && layout.reach().is_some_and(|reach| reach.end <= bytes);
        if !fits {
            let source = OutsideStorage { layout: layout.clone(), storage: bytes };
            return Err(Refusal::Outside { at: self.at.clone(), source });
        }
        let unit = if class == UNTYPED { 1 } else { layout.dtype.size() };
        if !bytes.is_multiple_of(unit) {
            let why = format!("its storage of {bytes} bytes is not a whole number of {} elements", layout.dtype);
            return Err(self.refuse(why));
        }
        let key = match self.keys[index] {
            Some(key) if key.class != class => {
                let (first, second) = (class_name(key.class), class_name(class));
                return Err(self.refuse(format!(
                    "it views storage {index} as {second}, an earlier tensor as {first}, and torch.load would give both \
                     the first dtype; give each dtype a storage of its own"
                )));
            }
            Some(key) => key,
            None => {
                let key = Key { number: self.order.len(), class };
                self.order.push(index);
                *self.keys[index].insert(key)
            }
        };
        self.out.push(b'(');
        self.text("storage")?;
        self.global(class);
        let object = Object::Key(index);
        if !self.recall(&object) {
            let place = self.fresh_text(&key.number.to_string())?;
            self.memo.insert(object, place);
        }
        self.text("cpu")?;
        self.unsigned(bytes / unit)?;
        self.close_tuple(5);
        self.out.push(b'Q');
        Ok(())
    }
}

/// The storage class of dtypes added after typed storages; its length counts bytes.
const UNTYPED: &str = "torch.storage\nUntypedStorage\n";

fn class_name(class: &str) -> &str {
    class.split('\n').nth(1).unwrap_or(class)
}

/// The class under which torch writes a storage of this dtype; `None` for quantized dtypes.
fn storage_class(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "torch\nDoubleStorage\n",
        Dtype::F32 => "torch\nFloatStorage\n",
        Dtype::F16 => "torch\nHalfStorage\n",
        Dtype::BF16 => "torch\nBFloat16Storage\n",
        Dtype::C128 => "torch\nComplexDoubleStorage\n",
        Dtype::C64 => "torch\nComplexFloatStorage\n",
        Dtype::I64 => "torch\nLongStorage\n",
        Dtype::I32 => "torch\nIntStorage\n",
        Dtype::I16 => "torch\nShortStorage\n",
        Dtype::I8 => "torch\nCharStorage\n",
        Dtype::U8 => "torch\nByteStorage\n",
        Dtype::Bool => "torch\nBoolStorage\n",
        Dtype::QI8 | Dtype::QU8 | Dtype::QI32 | Dtype::QU4X2 | Dtype::QU2X4 => return None,
        _ => UNTYPED,
    })
}
