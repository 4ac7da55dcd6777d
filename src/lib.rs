//! Plimsoll: a test harness and regression-benchmark framework for memory.

pub mod bytes;
pub mod capture;
pub mod ceiling;
pub mod compare;
pub mod inspect;
pub mod kernel;
pub mod meter;
pub mod record;
pub mod report;
pub mod run;
pub mod timing;

pub use bytes::ByteSize;
