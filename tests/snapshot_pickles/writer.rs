//! A pickle writer for tests: plain data, as Python's pickler and torch's C++ Pickler write it.
//!
//! Repeated objects are memo references, as in both writers: by identity for lists and dictionaries, by content for
//! texts.

use std::collections::HashMap;
use std::rc::Rc;

/// A Python object.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    Tuple(Vec<Object>),
    List(Rc<Vec<Object>>),
    Dict(Rc<Vec<(Object, Object)>>),
}

pub fn text(text: &str) -> Object {
    Object::Text(text.into())
}

pub fn list(items: Vec<Object>) -> Object {
    Object::List(Rc::new(items))
}

pub fn dict<const N: usize>(items: [(&str, Object); N]) -> Object {
    Object::Dict(Rc::new(items.into_iter().map(|(key, value)| (text(key), value)).collect()))
}

impl<T: Into<i128>> From<T> for Object {
    fn from(value: T) -> Self {
        Self::Int(value.into())
    }
}

/// The writer of the pickle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `pickle.dump` with this protocol, 2 to 5.
    Python(u8),
    /// torch's C++ Pickler, which calls `restore_type_tag` around the lists and dictionaries that it tags.
    Torch { tags: bool },
}

pub const DIALECTS: [Dialect; 6] = [
    Dialect::Python(2),
    Dialect::Python(3),
    Dialect::Python(4),
    Dialect::Python(5),
    Dialect::Torch { tags: false },
    Dialect::Torch { tags: true },
];

/// The items that Python's pickler adds at once.
const BATCH: usize = 1000;

pub struct Writer {
    pub out: Vec<u8>,
    dialect: Dialect,
    texts: HashMap<Rc<str>, u32>,
    containers: HashMap<usize, u32>,
    /// The memo entry of torch's `restore_type_tag`.
    tag: Option<u32>,
    next: u32,
}

/// The pickle of `object`.
pub fn pickle(object: &Object, dialect: Dialect) -> Vec<u8> {
    let mut writer = Writer::new(dialect);
    writer.begin();
    writer.write(object);
    writer.out.push(b'.');
    writer.out
}

impl Writer {
    pub fn new(dialect: Dialect) -> Self {
        Self { out: Vec::new(), dialect, texts: HashMap::new(), containers: HashMap::new(), tag: None, next: 0 }
    }

    pub fn begin(&mut self) {
        let protocol = match self.dialect {
            Dialect::Python(protocol) => protocol,
            Dialect::Torch { .. } => 2,
        };
        self.out.extend([0x80, protocol]);
        if protocol >= 4 {
            self.out.push(0x95);
            self.out.extend([0; 8]);
        }
    }

    /// Forgets that `object` was written, because it will be dropped and another may get its address.
    pub fn forget(&mut self, object: &Object) {
        match object {
            Object::List(items) => self.containers.remove(&(Rc::as_ptr(items) as usize)),
            Object::Dict(items) => self.containers.remove(&(Rc::as_ptr(items) as usize)),
            _ => None,
        };
    }

    fn put(&mut self) -> u32 {
        let index = self.next;
        self.next += 1;
        match (self.dialect, u8::try_from(index)) {
            (Dialect::Python(4..), _) => self.out.push(0x94),
            (_, Ok(index)) => self.out.extend([b'q', index]),
            _ => {
                self.out.push(b'r');
                self.out.extend(index.to_le_bytes());
            }
        }
        index
    }

    fn get(&mut self, index: u32) {
        match u8::try_from(index) {
            Ok(index) => self.out.extend([b'h', index]),
            Err(_) => {
                self.out.push(b'j');
                self.out.extend(index.to_le_bytes());
            }
        }
    }

    fn int(&mut self, value: i128) {
        if let Ok(value) = u8::try_from(value) {
            self.out.extend([b'K', value]);
        } else if let Ok(value) = u16::try_from(value) {
            self.out.push(b'M');
            self.out.extend(value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.out.push(b'J');
            self.out.extend(value.to_le_bytes());
        } else {
            // torch writes eight bytes, Python as few as hold the sign.
            let bytes = value.to_le_bytes();
            let fits = |&length: &usize| value >> (8 * length - 1) == value >> 127;
            let length = match self.dialect {
                Dialect::Torch { .. } => 8,
                Dialect::Python(_) => (1..16).find(fits).unwrap(),
            };
            self.out.extend([0x8a, length as u8]);
            self.out.extend(&bytes[..length]);
        }
    }

    pub fn text(&mut self, text: &Rc<str>) {
        if let Some(&index) = self.texts.get(text) {
            return self.get(index);
        }
        if let (Dialect::Python(4..), Ok(length)) = (self.dialect, u8::try_from(text.len())) {
            self.out.extend([0x8c, length]);
        } else {
            self.out.push(b'X');
            self.out.extend((text.len() as u32).to_le_bytes());
        }
        self.out.extend(text.as_bytes());
        let index = self.put();
        self.texts.insert(Rc::clone(text), index);
    }

    pub fn write(&mut self, object: &Object) {
        match object {
            Object::None => self.out.push(b'N'),
            &Object::Bool(value) => self.out.push(if value { 0x88 } else { 0x89 }),
            &Object::Int(value) => self.int(value),
            &Object::Float(value) => {
                self.out.push(b'G');
                self.out.extend(value.to_be_bytes());
            }
            Object::Text(text) => self.text(text),
            Object::Tuple(items) => {
                if items.len() > 3 {
                    self.out.push(b'(');
                }
                items.iter().for_each(|item| self.write(item));
                self.out.push([b')', 0x85, 0x86, 0x87].get(items.len()).copied().unwrap_or(b't'));
                if let (Dialect::Python(_), false) = (self.dialect, items.is_empty()) {
                    self.put();
                }
            }
            Object::List(items) => {
                let identity = Rc::as_ptr(items) as usize;
                self.container(identity, Rc::strong_count(items) > 1, b']', items.len(), [b'a', b'e'], |writer, at| {
                    writer.write(&items[at]);
                });
            }
            Object::Dict(items) => {
                let identity = Rc::as_ptr(items) as usize;
                self.container(identity, Rc::strong_count(items) > 1, b'}', items.len(), [b's', b'u'], |writer, at| {
                    writer.write(&items[at].0);
                    writer.write(&items[at].1);
                });
            }
        }
    }

    fn container(
        &mut self,
        identity: usize,
        shared: bool,
        open: u8,
        count: usize,
        [one, many]: [u8; 2],
        write: impl Fn(&mut Self, usize),
    ) {
        if let Some(&index) = self.containers.get(&identity) {
            return self.get(index);
        }
        match self.dialect {
            Dialect::Python(_) => {
                self.out.push(open);
                let index = self.put();
                self.containers.insert(identity, index);
                for start in (0..count).step_by(BATCH) {
                    let end = count.min(start + BATCH);
                    if end - start == 1 {
                        write(self, start);
                        self.out.push(one);
                    } else {
                        self.out.push(b'(');
                        (start..end).for_each(|at| write(self, at));
                        self.out.push(many);
                    }
                }
            }
            Dialect::Torch { tags } => {
                if tags {
                    match self.tag {
                        Some(index) => self.get(index),
                        None => {
                            self.out.extend(b"ctorch.jit._pickle\nrestore_type_tag\n");
                            self.tag = Some(self.put());
                        }
                    }
                }
                self.out.extend([open, b'(']);
                (0..count).for_each(|at| write(self, at));
                self.out.push(many);
                if tags {
                    self.text(&if open == b']' { "List[Any]" } else { "Dict[str, Any]" }.into());
                    self.out.extend([0x86, b'R']);
                }
                if shared {
                    let index = self.put();
                    self.containers.insert(identity, index);
                }
            }
        }
    }
}
