//! [`Pickler`]: opcodes, numbers, texts and the memo.

use std::collections::HashMap;

use super::Refusal;

/// An object that the memo knows by identity.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Object {
    Text(String),
    /// A class or function: module, newline, name.
    Global(String),
    /// The text of a storage's key, which is not a literal: torch makes it once per storage.
    Key(usize),
}

/// The key of a storage in the archive, and the class it was first written as.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub number: usize,
    pub class: &'static str,
}

/// A pickle being written.
pub(super) struct Pickler<'a> {
    pub out: Vec<u8>,
    /// The length of each storage in bytes.
    pub lengths: &'a [u64],
    /// The key of each storage that a tensor has referred to.
    pub keys: Vec<Option<Key>>,
    /// The storages in the order of their keys.
    pub order: Vec<usize>,
    pub memo: HashMap<Object, u32>,
    memoized: u32,
    /// The place of the value being written.
    pub at: String,
    /// The number of containers around it.
    pub depth: usize,
}

impl<'a> Pickler<'a> {
    /// Starts a pickle whose tensors refer to storages of these lengths.
    pub(super) fn new(lengths: &'a [u64]) -> Self {
        Self {
            out: vec![0x80, 2],
            lengths,
            keys: vec![None; lengths.len()],
            order: Vec::new(),
            memo: HashMap::new(),
            memoized: 0,
            at: String::new(),
            depth: 0,
        }
    }

    pub(super) fn memoize(&mut self) -> u32 {
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
    pub(super) fn recall(&mut self, object: &Object) -> bool {
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

    pub(super) fn global(&mut self, name: &str) {
        let object = Object::Global(name.to_owned());
        if !self.recall(&object) {
            self.out.push(b'c');
            self.out.extend(name.as_bytes());
            let index = self.memoize();
            self.memo.insert(object, index);
        }
    }

    /// Writes a text that is not a literal, always anew. Returns its place in the memo.
    pub(super) fn fresh_text(&mut self, text: &str) -> Result<u32, Refusal> {
        let length = u32::try_from(text.len())
            .map_err(|_| self.refuse("a text of 4 GiB or more does not fit in protocol 2".to_owned()))?;
        self.out.push(b'X');
        self.out.extend(length.to_le_bytes());
        self.out.extend(text.as_bytes());
        Ok(self.memoize())
    }

    pub(super) fn text(&mut self, text: &str) -> Result<(), Refusal> {
        let object = Object::Text(text.to_owned());
        if !self.recall(&object) {
            let index = self.fresh_text(text)?;
            self.memo.insert(object, index);
        }
        Ok(())
    }

    pub(super) fn int(&mut self, n: i64) {
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

    pub(super) fn big_int(&mut self, digits: &str) -> Result<(), Refusal> {
        if let Ok(n) = digits.parse() {
            self.int(n);
            return Ok(());
        }
        match two_complement(digits) {
            Some(bytes) => self.long(bytes, digits.starts_with('-')),
            None => return Err(self.refuse(format!("{digits:?} is not a decimal integer"))),
        }
        Ok(())
    }

    /// An integer in little-endian two's complement, cut to its shortest form.
    pub(super) fn long(&mut self, mut bytes: Vec<u8>, negative: bool) {
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

    pub(super) fn float(&mut self, x: f64) {
        self.out.push(b'G');
        self.out.extend(x.to_be_bytes());
    }

    /// A size, stride, offset or length: torch counts them in signed 64 bits.
    pub(super) fn unsigned(&mut self, value: u64) -> Result<(), Refusal> {
        let n = i64::try_from(value).map_err(|_| self.refuse(format!("{value} exceeds the 63 bits of a size")))?;
        self.int(n);
        Ok(())
    }

    pub(super) fn ints(&mut self, values: &[u64]) -> Result<(), Refusal> {
        if values.len() > 3 {
            self.out.push(b'(');
        }
        for &value in values {
            self.unsigned(value)?;
        }
        self.close_tuple(values.len());
        Ok(())
    }

    /// Ends a tuple of `length` items; for more than 3, its mark was written before them. The empty tuple is one object
    /// that the pickler does not remember.
    pub(super) fn close_tuple(&mut self, length: usize) {
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

    pub(super) fn reduce(&mut self) {
        self.out.push(b'R');
        self.memoize();
    }
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
