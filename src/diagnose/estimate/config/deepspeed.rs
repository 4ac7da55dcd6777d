//! The fields of a DeepSpeed configuration. A value of `auto` counts as absent.

use std::path::Path;

use serde_json::Value;

use super::content;
use super::fields::Fields;
use super::settings::Settings;
use crate::estimate::choices::{Offload, Optimizer, Precision, ZeroStage};
use crate::estimate::convention::Convention;
use crate::estimate::error::EstimateError;
use crate::estimate::setup::Buckets;

/// DeepSpeed's default size of both buckets, in elements.
const BUCKET: u64 = 500_000_000;

/// Reads a DeepSpeed JSON file that another configuration names.
pub(super) fn read(path: &Path) -> Result<Settings, EstimateError> {
    let value = content::value(path, &content::bytes(path)?)?;
    if !content::is_deepspeed(&value) {
        return Err(EstimateError::UnknownConfig { path: path.to_owned() });
    }
    settings(&Fields { path, value: &value })
}

/// The settings in a DeepSpeed configuration.
pub(super) fn settings(fields: &Fields<'_>) -> Result<Settings, EstimateError> {
    let zero = fields.object("zero_optimization");
    let stage = stage(zero)?;
    let named = fields.object("optimizer").text("type");
    let optimizer = named.and_then(Optimizer::named);
    let file = fields.path.display();
    let unknown = named.filter(|_| optimizer.is_none());
    let mut unread: Vec<String> = unknown
        .map(|name| format!("`optimizer.type` of {file} = {name}: its state is not known; give --optimizer"))
        .into_iter()
        .collect();
    if zero.value.get("zero_hpz_partition_size").and_then(Value::as_u64).is_some_and(|size| size > 1) {
        unread.push(format!("`zero_hpz_partition_size` of {file}: each node keeps a second copy of the weights"));
    }
    Ok(Settings {
        convention: Some(Convention::Deepspeed),
        optimizer,
        unread,
        precision: precision(fields),
        zero: stage,
        offload: place(zero.object("offload_optimizer"))?,
        offload_parameters: place(zero.object("offload_param"))?,
        batch: fields.count(&["train_micro_batch_size_per_gpu"])?,
        accumulation: fields.count(&["gradient_accumulation_steps"])?,
        effective_batch: fields.count(&["train_batch_size"])?,
        buckets: buckets(zero, stage)?,
        ..Settings::default()
    })
}

fn stage(zero: Fields<'_>) -> Result<Option<ZeroStage>, EstimateError> {
    match zero.value.get("stage") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text == "auto" => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| u8::try_from(number).ok());
            let stage = number.and_then(|number| ZeroStage::try_from(number).ok());
            stage.map(Some).ok_or_else(|| zero.wrong("zero_optimization.stage", value, "must be 0, 1, 2 or 3"))
        }
    }
}

fn place(offload: Fields<'_>) -> Result<Option<Offload>, EstimateError> {
    let Some(device) = offload.text("device") else { return Ok(None) };
    let wrong = |_| {
        let expected = "must be none, cpu or nvme";
        offload.wrong("zero_optimization.offload_*.device", &Value::String(device.to_owned()), expected)
    };
    device.parse().map(Some).map_err(wrong)
}

/// fp32 if both are switched off.
fn precision(fields: &Fields<'_>) -> Option<Precision> {
    let enabled = |name| fields.object(name).flag("enabled");
    match (enabled("bf16"), enabled("fp16")) {
        (Some(true), _) => Some(Precision::Bf16Mixed),
        (_, Some(true)) => Some(Precision::Fp16Mixed),
        (Some(false), Some(false)) => Some(Precision::Fp32),
        _ => None,
    }
}

/// The buckets, if at least one size is a number.
fn buckets(zero: Fields<'_>, stage: Option<ZeroStage>) -> Result<Option<Buckets>, EstimateError> {
    let (reduce, allgather) = (zero.count(&["reduce_bucket_size"])?, zero.count(&["allgather_bucket_size"])?);
    if reduce.or(allgather).is_none() || stage.is_none_or(|stage| stage == ZeroStage::Zero) {
        return Ok(None);
    }
    // ZeRO-3 gathers layers, and overlaps communication by default.
    let three = stage == Some(ZeroStage::Three);
    let allgather = if three { 0 } else { allgather.unwrap_or(BUCKET) };
    let overlap = zero.flag("overlap_comm").unwrap_or(three);
    Ok(Some(Buckets { reduce: reduce.unwrap_or(BUCKET), allgather, overlap }))
}
