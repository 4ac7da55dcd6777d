//! The metric names of `assert_memory!` as constants, so that a wrong name is a compile error at its place.

#![allow(non_upper_case_globals, reason = "they are written in the macro as they are in records")]

use super::counted::{HeapCounter, HeapLimit};
use super::limits::{Amount, Limit, LimitError};
use crate::bytes::ByteSize;
use crate::ceiling::{Ceiling, CeilingError};
use crate::meter::{Metric, with_metrics};

/// A metric with a maximum.
#[derive(Clone, Copy, Debug)]
pub struct Most(Metric);

/// A metric with a minimum.
#[derive(Clone, Copy, Debug)]
pub struct Least(Metric);

/// A number of calls with a maximum.
#[derive(Clone, Copy, Debug)]
pub struct Calls(HeapCounter);

/// A sum of bytes with a maximum.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(HeapCounter);

macro_rules! of_memory {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:ident $bound:ident $facts:tt)+) => {
        $(
            #[doc = concat!("[`Metric::", stringify!($variant), "`].")]
            pub const $name: $bound = $bound(Metric::$variant);
        )+
    };
}
with_metrics!(of_memory);

/// [`HeapCounter::Allocations`].
pub const allocations: Calls = Calls(HeapCounter::Allocations);
/// [`HeapCounter::Reallocations`].
pub const reallocations: Calls = Calls(HeapCounter::Reallocations);
/// [`HeapCounter::Allocated`].
pub const allocated: Bytes = Bytes(HeapCounter::Allocated);

/// Builds the limit for `metric <= limit`.
#[diagnostic::on_unimplemented(
    message = "this metric is not limited to `{Limit}` with `<=`",
    label = "a metric of bytes takes a text such as \"64 MiB\", a `ByteSize` or a `u64`; \
             a number of calls takes a `u64`; a floor is written with `>=`"
)]
pub trait AtMost<Limit> {
    /// The limit.
    ///
    /// # Errors
    /// [`LimitError`] if it is not an amount.
    fn at_most(self, limit: Limit) -> Result<super::limits::Limit, LimitError>;
}

/// Builds the limit for `metric >= limit`.
#[diagnostic::on_unimplemented(
    message = "this metric is not limited to `{Limit}` with `>=`",
    label = "only a floor, such as `available_floor`, is written with `>=`; a ceiling is written with `<=`"
)]
pub trait AtLeast<Limit> {
    /// The limit.
    ///
    /// # Errors
    /// [`LimitError`] if it is not an amount.
    fn at_least(self, limit: Limit) -> Result<super::limits::Limit, LimitError>;
}

/// Builds the limit for `metric = limit`, an argument of `#[plimsoll::test]`, as a maximum or as a floor.
#[diagnostic::on_unimplemented(
    message = "this metric is not limited to `{Limit}`",
    label = "a metric of bytes takes a text such as \"64 MiB\", a `ByteSize` or a `u64`; a number of calls takes a `u64`"
)]
pub trait LimitedTo<Limit> {
    /// The limit.
    ///
    /// # Errors
    /// [`LimitError`] if it is not an amount.
    fn limited_to(self, limit: Limit) -> Result<super::limits::Limit, LimitError>;
}

impl<A: Amount> LimitedTo<A> for Most {
    fn limited_to(self, limit: A) -> Result<Limit, LimitError> {
        self.at_most(limit)
    }
}

impl<A: Amount> LimitedTo<A> for Least {
    fn limited_to(self, limit: A) -> Result<Limit, LimitError> {
        self.at_least(limit)
    }
}

impl LimitedTo<u64> for Calls {
    fn limited_to(self, limit: u64) -> Result<Limit, LimitError> {
        self.at_most(limit)
    }
}

impl<A: Amount> LimitedTo<A> for Bytes {
    fn limited_to(self, limit: A) -> Result<Limit, LimitError> {
        self.at_most(limit)
    }
}

fn memory(metric: Metric, limit: impl Amount) -> Result<Limit, LimitError> {
    let limit = limit.amount().map_err(|source| CeilingError::Limit { metric, source })?;
    Ok(Limit::Memory(Ceiling { metric, limit }))
}

impl<A: Amount> AtMost<A> for Most {
    fn at_most(self, limit: A) -> Result<Limit, LimitError> {
        memory(self.0, limit)
    }
}

impl<A: Amount> AtLeast<A> for Least {
    fn at_least(self, limit: A) -> Result<Limit, LimitError> {
        memory(self.0, limit)
    }
}

impl AtMost<u64> for Calls {
    fn at_most(self, limit: u64) -> Result<Limit, LimitError> {
        Ok(Limit::Heap(HeapLimit { counter: self.0, limit }))
    }
}

impl<A: Amount> AtMost<A> for Bytes {
    fn at_most(self, limit: A) -> Result<Limit, LimitError> {
        let counter = self.0;
        let limit = limit.amount().map_err(|error| LimitError::Count { counter, text: error.text().to_owned() })?;
        Ok(Limit::Heap(HeapLimit { counter, limit: limit.bytes() }))
    }
}

/// A literal limit, which the compiler checks.
#[derive(Clone, Copy, Debug)]
pub struct Literal<T>(pub T);

impl Literal<&str> {
    /// The amount.
    ///
    /// # Panics
    /// If the text is not an amount.
    pub const fn checked(self) -> ByteSize {
        match ByteSize::parse(self.0) {
            Some(limit) => limit,
            None => panic!("this limit is not an amount of bytes: write a number and a unit, such as \"64 MiB\""),
        }
    }
}

impl Literal<u64> {
    /// The number.
    pub const fn checked(self) -> u64 {
        self.0
    }
}
