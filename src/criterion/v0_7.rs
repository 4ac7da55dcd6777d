//! Memory measurements for criterion 0.7: like `plimsoll::criterion`, which is for 0.8, under the feature
//! `criterion-0-7`.

use ::criterion_0_7 as library;

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
            Throughput::Bits(bits) => Self::Bits(bits),
            Throughput::Elements(elements) => Self::Elements(elements),
        }
    }
}
