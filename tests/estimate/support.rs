//! What the tests here share.

use plimsoll::ByteSize;
use plimsoll::estimate::{Estimate, Group, Item, Model, Setup, Shape};

pub const GB: u64 = 1_000_000_000;

pub fn estimate(parameters: u64, setup: Setup) -> Estimate {
    Estimate::of(&Model::new(parameters), &setup).unwrap()
}

/// Four billion parameters: 32 layers of 3072 with 24 heads and a vocabulary of 32,000.
pub fn shaped() -> Model {
    let shape = Shape { heads: Some(24), vocabulary: Some(32_000), ..Shape::new(32, 3072) };
    Model { shape: Some(shape), ..Model::new(4 * GB) }
}

/// The bytes on the device of the rows of `item`.
pub fn device(estimate: &Estimate, item: Item) -> ByteSize {
    estimate.rows.iter().filter(|row| row.item == item).map(|row| row.peak.device).sum()
}

/// The fixed state on the device in bytes a parameter.
pub fn fixed_rate(estimate: &Estimate) -> f64 {
    estimate.fixed.device.bytes() as f64 / estimate.model.parameters as f64
}

/// The items of `group`.
pub fn items(estimate: &Estimate, group: Group) -> Vec<Item> {
    estimate.rows.iter().filter(|row| row.group == group).map(|row| row.item).collect()
}

/// Binary gigabytes to two places, as other tools print them.
pub fn gib(bytes: ByteSize) -> String {
    format!("{:.2}", bytes.bytes() as f64 / (1u64 << 30) as f64)
}

/// Binary megabytes to two places.
pub fn mib(bytes: ByteSize) -> String {
    format!("{:.2}", bytes.bytes() as f64 / (1u64 << 20) as f64)
}
