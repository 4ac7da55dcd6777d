//! Memory as a measurement of criterion 0.5: as `plimsoll::criterion` for 0.8, by the feature `criterion-0-5`.

use ::criterion_0_5 as library;

use library::Throughput;

#[path = "mod.rs"]
mod measurements;

#[doc(inline)]
pub use measurements::*;

use measurements::Amount;

impl From<&Throughput> for Amount {
    fn from(throughput: &Throughput) -> Self {
        match *throughput {
            Throughput::Bytes(bytes) => Self::Bytes(bytes),
            Throughput::BytesDecimal(bytes) => Self::DecimalBytes(bytes),
            Throughput::Elements(elements) => Self::Elements(elements),
        }
    }
}
