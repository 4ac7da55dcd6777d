//! Checked arithmetic: every amount is a quotient of integers, rounded up once.

use super::error::EstimateError;
use super::rate::Rate;
use plimsoll_memory::bytes::ByteSize;

/// The product of `factors`, or an error that names `what` was computed.
pub(super) fn product(what: &'static str, factors: &[u64]) -> Result<u128, EstimateError> {
    let product = factors.iter().try_fold(1u128, |product, &factor| product.checked_mul(u128::from(factor)));
    product.ok_or(EstimateError::TooLarge { what })
}

/// The sum of `terms`.
pub(super) fn sum(what: &'static str, terms: &[u128]) -> Result<u128, EstimateError> {
    let sum = terms.iter().try_fold(0u128, |sum, &term| sum.checked_add(term));
    sum.ok_or(EstimateError::TooLarge { what })
}

/// `numerator / denominator` bytes, rounded up.
pub(super) fn bytes(what: &'static str, numerator: u128, denominator: u128) -> Result<ByteSize, EstimateError> {
    let bytes = numerator.div_ceil(denominator.max(1));
    u64::try_from(bytes).map(ByteSize::new).map_err(|_| EstimateError::TooLarge { what })
}

/// `parameters` x `rate` bytes x `scale`, divided among `shards`.
pub(super) fn at_rate(
    what: &'static str,
    parameters: u64,
    rate: Rate,
    scale: Rate,
    shards: u64,
) -> Result<ByteSize, EstimateError> {
    let numerator = product(what, &[parameters, rate.numerator(), scale.numerator()])?;
    let denominator = product(what, &[rate.denominator(), scale.denominator(), shards])?;
    bytes(what, numerator, denominator)
}
