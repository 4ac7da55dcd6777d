//! The record `data.pkl`: a value as the pickler of Python 3 writes it in protocol 2, with torch's reductions.
//!
//! The pickler remembers every object it has written and refers to it when the same object comes again. An [`Argument`]
//! has no identity: equal texts are taken for one object, as literals of one function are, and everything else is
//! written anew.

use std::collections::HashMap;

use crate::capture::{Argument, Dtype, DtypeKind, Layout, OutsideStorage, TensorRef};

/// Containers within containers beyond which Python's own pickler refuses.
const DEEPEST: usize = 1000;
/// How many items the pickler writes at a time.
const BATCH: usize = 1000;

/// A value in protocol 2.
#[derive(Debug)]
pub(super) struct Pickled {
    /// The pickle.
    pub bytes: Vec<u8>,
    /// The index of the storage under each key: `data/0` holds storage `storages[0]`.
    pub storages: Vec<usize>,
}

/// Why a value cannot be pickled.
#[derive(Debug)]
pub(super) enum Refusal {
    Value { at: String, why: String },
    Outside { at: String, source: OutsideStorage },
    Unreferenced { storage: usize },
}

/// Pickles `root`, whose tensors refer to storages of these lengths in bytes.
pub(super) fn pickle(root: &Argument, storages: &[u64]) -> Result<Pickled, Refusal> {
    let mut pickler = Pickler {
        out: vec![0x80, 2],
        lengths: storages,
        keys: vec![None; storages.len()],
        order: Vec::new(),
        memo: HashMap::new(),
        memoized: 0,
        at: String::new(),
        depth: 0,
    };
    pickler.value(root)?;
    pickler.out.push(b'.');
    match pickler.keys.iter().position(Option::is_none) {
        Some(storage) => Err(Refusal::Unreferenced { storage }),
        None => Ok(Pickled { bytes: pickler.out, storages: pickler.order }),
    }
}

/// What the memo knows by identity.
#[derive(PartialEq, Eq, Hash)]
enum Object {
    Text(String),
    /// A class or function: module, newline, name.
    Global(String),
    /// The text of a storage's key: torch makes it once a storage, and it is no literal.
    Key(usize),
}

/// The key of a storage in the archive, and the class it was first written as.
#[derive(Clone, Copy)]
struct Key {
    number: usize,
    class: &'static str,
}

struct Pickler<'a> {
    out: Vec<u8>,
    lengths: &'a [u64],
    keys: Vec<Option<Key>>,
    order: Vec<usize>,
    memo: HashMap<Object, u32>,
    memoized: u32,
    /// Where the value being written stands.
    at: String,
    depth: usize,
}

impl Pickler<'_> {
    fn value(&mut self, value: &Argument) -> Result<(), Refusal> {
        if self.depth > DEEPEST {
            return Err(self.refuse(format!("it is nested more than {DEEPEST} levels deep")));
        }
        self.depth += 1;
        match value {
            Argument::None => self.out.push(b'N'),
            Argument::Bool(truth) => self.out.push(if *truth { 0x88 } else { 0x89 }),
            Argument::Int(n) => self.int(*n),
            Argument::BigInt(digits) => self.big_int(digits)?,
            Argument::Float(x) => self.float(*x),
            Argument::Complex(re, im) => {
                self.global("__builtin__\ncomplex\n");
                self.float(*re);
                self.float(*im);
                self.close_tuple(2);
                self.reduce();
            }
            Argument::Str(text) => self.text(text)?,
            Argument::Bytes(bytes) => self.bytes(bytes)?,
            Argument::Dtype(dtype) => self.global(&format!("torch\n{dtype}\n")),
            Argument::Device(device) => self.device(device)?,
            Argument::Tensor(tensor) => self.tensor(tensor)?,
            Argument::List(items) => self.list(items)?,
            Argument::Tuple(items) => self.tuple(items)?,
            Argument::Dict(items) => self.dict(items)?,
            Argument::Opaque { class, .. } => {
                return Err(self.refuse(format!("an object of class {class} has no plain value; leave it out")));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn refuse(&self, why: String) -> Refusal {
        Refusal::Value { at: if self.at.is_empty() { "the value".to_owned() } else { self.at.clone() }, why }
    }

    /// Writes `value`, which stands at `step` below the present place.
    fn below(&mut self, step: &str, value: &Argument) -> Result<(), Refusal> {
        let length = self.at.len();
        self.at.push_str(step);
        self.value(value)?;
        self.at.truncate(length);
        Ok(())
    }

    fn memoize(&mut self) -> u32 {
        let index = self.memoized;
        match u8::try_from(index) {
            Ok(short) => self.out.extend([b'q', short]),
            Err(_) => {
                self.out.push(b'r');
                self.out.extend(index.to_le_bytes());
            }
        }
        self.memoized += 1;
        index
    }

    /// Writes a reference to `object` if it was written before.
    fn recall(&mut self, object: &Object) -> bool {
        let Some(&index) = self.memo.get(object) else { return false };
        match u8::try_from(index) {
            Ok(short) => self.out.extend([b'h', short]),
            Err(_) => {
                self.out.push(b'j');
                self.out.extend(index.to_le_bytes());
            }
        }
        true
    }

    fn global(&mut self, name: &str) {
        let object = Object::Global(name.to_owned());
        if !self.recall(&object) {
            self.out.push(b'c');
            self.out.extend(name.as_bytes());
            let index = self.memoize();
            self.memo.insert(object, index);
        }
    }

    /// A text that is no literal: always written anew. Returns its place in the memo.
    fn fresh_text(&mut self, text: &str) -> Result<u32, Refusal> {
        let length = u32::try_from(text.len())
            .map_err(|_| self.refuse("a text of 4 GiB or more does not fit in protocol 2".to_owned()))?;
        self.out.push(b'X');
        self.out.extend(length.to_le_bytes());
        self.out.extend(text.as_bytes());
        Ok(self.memoize())
    }

    fn text(&mut self, text: &str) -> Result<(), Refusal> {
        let object = Object::Text(text.to_owned());
        if !self.recall(&object) {
            let index = self.fresh_text(text)?;
            self.memo.insert(object, index);
        }
        Ok(())
    }

    fn int(&mut self, n: i64) {
        if let Ok(short) = u8::try_from(n) {
            self.out.extend([b'K', short]);
        } else if let Ok(short) = u16::try_from(n) {
            self.out.push(b'M');
            self.out.extend(short.to_le_bytes());
        } else if let Ok(int) = i32::try_from(n) {
            self.out.push(b'J');
            self.out.extend(int.to_le_bytes());
        } else {
            self.long(n.to_le_bytes().to_vec(), n < 0);
        }
    }

    fn big_int(&mut self, digits: &str) -> Result<(), Refusal> {
        if let Ok(n) = digits.parse() {
            self.int(n);
            return Ok(());
        }
        match two_complement(digits) {
            Some(bytes) => self.long(bytes, digits.starts_with('-')),
            None => return Err(self.refuse(format!("{digits:?} is no integer in decimal"))),
        }
        Ok(())
    }

    /// An integer in little-endian two's complement, cut to its shortest form.
    fn long(&mut self, mut bytes: Vec<u8>, negative: bool) {
        let sign = if negative { 0xff } else { 0 };
        while let [.., next, last] = bytes[..]
            && last == sign
            && (next >= 0x80) == negative
        {
            bytes.pop();
        }
        match u8::try_from(bytes.len()) {
            Ok(short) => self.out.extend([0x8a, short]),
            Err(_) => {
                self.out.push(0x8b);
                self.out.extend((bytes.len() as u32).to_le_bytes());
            }
        }
        self.out.extend(bytes);
    }

    fn float(&mut self, x: f64) {
        self.out.push(b'G');
        self.out.extend(x.to_be_bytes());
    }

    /// Protocol 2 has no bytes: they go as a text of the same code points.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.is_empty() {
            self.global("__builtin__\nbytes\n");
            self.out.push(b')');
        } else {
            self.global("_codecs\nencode\n");
            let text: String = bytes.iter().copied().map(char::from).collect();
            self.fresh_text(&text)?;
            self.text("latin1")?;
            self.close_tuple(2);
        }
        self.reduce();
        Ok(())
    }

    fn device(&mut self, device: &str) -> Result<(), Refusal> {
        self.global("torch\ndevice\n");
        let (kind, index) = match device.split_once(':') {
            Some((kind, index)) => (kind, Some(index)),
            None => (device, None),
        };
        self.fresh_text(kind)?;
        match index.map(str::parse::<u8>) {
            None => self.close_tuple(1),
            Some(Ok(index)) => {
                self.int(index.into());
                self.close_tuple(2);
            }
            Some(Err(_)) => return Err(self.refuse(format!("{device:?} is no device such as `cpu` or `cuda:0`"))),
        }
        self.reduce();
        Ok(())
    }

    fn list(&mut self, items: &[Argument]) -> Result<(), Refusal> {
        self.out.push(b']');
        self.memoize();
        if let [item] = items {
            self.below("[0]", item)?;
            self.out.push(b'a');
            return Ok(());
        }
        for (batch, chunk) in items.chunks(BATCH).enumerate() {
            self.out.push(b'(');
            for (i, item) in chunk.iter().enumerate() {
                self.below(&format!("[{}]", batch * BATCH + i), item)?;
            }
            self.out.push(b'e');
        }
        Ok(())
    }

    fn dict(&mut self, items: &[(Argument, Argument)]) -> Result<(), Refusal> {
        self.out.push(b'}');
        self.memoize();
        if let [(key, item)] = items {
            self.item(key, item)?;
            self.out.push(b's');
            return Ok(());
        }
        for chunk in items.chunks(BATCH) {
            self.out.push(b'(');
            for (key, item) in chunk {
                self.item(key, item)?;
            }
            self.out.push(b'u');
        }
        // The C pickler goes round again after every full batch, the last one included.
        if !items.is_empty() && items.len().is_multiple_of(BATCH) {
            self.out.extend(b"(u");
        }
        Ok(())
    }

    fn item(&mut self, key: &Argument, item: &Argument) -> Result<(), Refusal> {
        self.value(key)?;
        match key {
            // The keys of the entry itself read as words: `kwargs["weight"]`.
            Argument::Str(word) if self.at.is_empty() => self.below(word, item),
            key => self.below(&format!("[{key}]"), item),
        }
    }

    fn tuple(&mut self, items: &[Argument]) -> Result<(), Refusal> {
        if items.len() > 3 {
            self.out.push(b'(');
        }
        for (i, item) in items.iter().enumerate() {
            self.below(&format!("[{i}]"), item)?;
        }
        self.close_tuple(items.len());
        Ok(())
    }

    fn ints(&mut self, values: &[u64]) -> Result<(), Refusal> {
        if values.len() > 3 {
            self.out.push(b'(');
        }
        for &value in values {
            self.unsigned(value)?;
        }
        self.close_tuple(values.len());
        Ok(())
    }

    /// A size, stride, offset or length: torch counts them in signed 64 bits.
    fn unsigned(&mut self, value: u64) -> Result<(), Refusal> {
        let n = i64::try_from(value).map_err(|_| self.refuse(format!("{value} exceeds the 63 bits of a size")))?;
        self.int(n);
        Ok(())
    }

    /// Ends a tuple of `length` items; above 3, its mark was written before them. The empty tuple is one object that
    /// the pickler does not remember.
    fn close_tuple(&mut self, length: usize) {
        match length {
            0 => self.out.push(b')'),
            1 => self.out.push(0x85),
            2 => self.out.push(0x86),
            3 => self.out.push(0x87),
            _ => self.out.push(b't'),
        }
        if length > 0 {
            self.memoize();
        }
    }

    fn reduce(&mut self) {
        self.out.push(b'R');
        self.memoize();
    }

    fn tensor(&mut self, tensor: &TensorRef) -> Result<(), Refusal> {
        let layout = &tensor.layout;
        let class = self.storage_class(layout)?;
        let typed = class != UNTYPED;
        self.global(if typed { "torch._utils\n_rebuild_tensor_v2\n" } else { "torch._utils\n_rebuild_tensor_v3\n" });
        self.out.push(b'(');
        self.storage(tensor, class)?;
        self.unsigned(layout.offset)?;
        self.ints(&layout.shape)?;
        self.ints(&layout.strides)?;
        // No gradient is required, and no hooks are there: an empty OrderedDict.
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
    fn storage_class(&self, layout: &Layout) -> Result<&'static str, Refusal> {
        if layout.conj && !layout.dtype.is_complex() {
            return Err(self.refuse(format!("a {} tensor cannot be conjugated", layout.dtype)));
        }
        storage_class(layout.dtype).ok_or_else(|| {
            self.refuse(format!("a {} tensor needs a scale and zero point, which no layout has", layout.dtype))
        })
    }

    /// The persistent id of the tensor's storage: `("storage", class, key, "cpu", length)`.
    fn storage(&mut self, tensor: &TensorRef, class: &'static str) -> Result<(), Refusal> {
        let (layout, index) = (&tensor.layout, tensor.storage);
        let Some(&bytes) = self.lengths.get(index) else {
            return Err(self.refuse(format!("it refers to storage {index}, but there are {}", self.lengths.len())));
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
            let why = format!("its storage of {bytes} bytes is no whole number of {} elements", layout.dtype);
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

/// The storage class of dtypes that came after typed storages; its length counts bytes.
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
        other => {
            debug_assert!(other.kind() != DtypeKind::Bool);
            UNTYPED
        }
    })
}

/// A decimal integer in little-endian two's complement, with at least a bit to spare for the sign.
fn two_complement(decimal: &str) -> Option<Vec<u8>> {
    let digits = decimal.strip_prefix('-').unwrap_or(decimal);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mut limbs: Vec<u64> = Vec::new();
    for group in digits.as_bytes().chunks(18) {
        let scale = 10u64.pow(group.len() as u32);
        let mut carry = group.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0'));
        for limb in &mut limbs {
            let wide = u128::from(*limb) * u128::from(scale) + u128::from(carry);
            *limb = wide as u64;
            carry = (wide >> 64) as u64;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    limbs.push(0);
    if decimal.starts_with('-') {
        let mut carry = true;
        for limb in &mut limbs {
            let (negated, overflow) = (!*limb).overflowing_add(u64::from(carry));
            (*limb, carry) = (negated, overflow);
        }
    }
    Some(limbs.into_iter().flat_map(u64::to_le_bytes).collect())
}
