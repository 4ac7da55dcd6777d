//! Values: scalars, containers, and their places in the tree.

use super::Refusal;
use super::encoder::Pickler;
use crate::Argument;
use crate::error::DEPTH_LIMIT;

/// The number of items that the pickler writes in one batch.
const BATCH: usize = 1000;

impl Pickler<'_> {
    pub(super) fn value(&mut self, value: &Argument) -> Result<(), Refusal> {
        if self.depth > DEPTH_LIMIT {
            return Err(self.refuse(format!("it is nested more than {DEPTH_LIMIT} levels deep")));
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

    pub(super) fn refuse(&self, why: String) -> Refusal {
        Refusal::Value { at: if self.at.is_empty() { "the value".to_owned() } else { self.at.clone() }, why }
    }

    /// Writes `value`, which is at `step` below the current place.
    pub(super) fn below(&mut self, step: &str, value: &Argument) -> Result<(), Refusal> {
        let length = self.at.len();
        self.at.push_str(step);
        self.value(value)?;
        self.at.truncate(length);
        Ok(())
    }

    /// Writes bytes, which protocol 2 lacks, as a text of the same code points.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
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

    pub(super) fn device(&mut self, device: &str) -> Result<(), Refusal> {
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
            Some(Err(_)) => return Err(self.refuse(format!("{device:?} is not a device such as `cpu` or `cuda:0`"))),
        }
        self.reduce();
        Ok(())
    }

    pub(super) fn list(&mut self, items: &[Argument]) -> Result<(), Refusal> {
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

    pub(super) fn dict(&mut self, items: &[(Argument, Argument)]) -> Result<(), Refusal> {
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
        // The C pickler starts another batch after every full one, the last one included.
        if !items.is_empty() && items.len().is_multiple_of(BATCH) {
            self.out.extend(b"(u");
        }
        Ok(())
    }

    pub(super) fn item(&mut self, key: &Argument, item: &Argument) -> Result<(), Refusal> {
        self.value(key)?;
        match key {
            // The keys of the entry itself are shown as words: `kwargs["weight"]`.
            Argument::Str(word) if self.at.is_empty() => self.below(word, item),
            key => self.below(&format!("[{key}]"), item),
        }
    }

    pub(super) fn tuple(&mut self, items: &[Argument]) -> Result<(), Refusal> {
        if items.len() > 3 {
            self.out.push(b'(');
        }
        for (i, item) in items.iter().enumerate() {
            self.below(&format!("[{i}]"), item)?;
        }
        self.close_tuple(items.len());
        Ok(())
    }
}
