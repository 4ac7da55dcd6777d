//! A binary form of rows: the values of JSON with a byte for the type of each, and every field's name written once.
//!
//! Rows are unpacked a dozen times in a run, mostly to look at one field of each. Nothing but this process reads this
//! form: it has no version, and no reader of it is careful about its input.

mod read;
mod write;

pub(super) use read::from_slice;
pub(super) use write::to_vec;

/// Why a value cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct BinaryError(String);

impl serde::ser::Error for BinaryError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl serde::de::Error for BinaryError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The first byte of each value.
mod tag {
    /// Nothing: `None`, or a unit.
    pub const NONE: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    /// A number, in as few bytes as it takes.
    pub const UNSIGNED: u8 = 3;
    /// A negative number: the bytes of its complement.
    pub const NEGATIVE: u8 = 4;
    /// Eight bytes.
    pub const FLOAT: u8 = 5;
    /// A length, and that many bytes of UTF-8.
    pub const TEXT: u8 = 6;
    /// A list; its values follow up to [`END`].
    pub const LIST: u8 = 7;
    /// Keys and values in turn, up to [`END`].
    pub const MAP: u8 = 8;
    pub const END: u8 = 9;
    /// A name that is written for the first time: as [`TEXT`].
    pub const NEW_NAME: u8 = 10;
    /// From here on, the names in the order in which they were written first; the last tag stands for all beyond, and
    /// the number of the name follows.
    pub const NAMES: u8 = 11;
}

/// The names that take one byte.
const SHORT: usize = (u8::MAX - tag::NAMES) as usize;

#[cfg(test)]
mod tests;
