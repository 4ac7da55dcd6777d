//! Pools of torch.nn.functional, whose flags and sizes Python turns into operators and numbers.

use plimsoll::capture::Argument;
use plimsoll::kernel::KernelError;

use super::Lowered;
use super::arguments::{Applied, Arguments};
use super::interpolate::{repeated, scalars};

pub fn max_pool(from: &mut Arguments, to: &mut Lowered) -> Applied {
    if from.take_flag("return_indices")? {
        to.operator.push_str("_with_indices");
    }
    Ok(())
}

pub fn indices(from: &mut Arguments, _: &mut Lowered) -> Applied {
    from.take("return_indices");
    Ok(())
}

pub fn adaptive_max_pool(from: &mut Arguments, to: &mut Lowered) -> Applied {
    to.first = !from.take_flag("return_indices")?;
    as_the_input(from, to)
}

pub fn adaptive_indices(from: &mut Arguments, to: &mut Lowered) -> Applied {
    to.operator.truncate(to.operator.len() - "_with_indices".len());
    from.take("return_indices");
    as_the_input(from, to)
}

/// Replaces a size of None by that of the input.
pub fn as_the_input(from: &mut Arguments, _: &mut Lowered) -> Applied {
    let Some(Argument::List(sizes) | Argument::Tuple(sizes)) = from.get("output_size").cloned() else { return Ok(()) };
    let shape = from.shape("input")?;
    let own = shape.len().checked_sub(sizes.len()).map(|skip| &shape[skip..]);
    let own = own.ok_or_else(|| from.refuse("output_size has more sizes than the input has dimensions"))?;
    let size = |(size, own): (Argument, &i64)| if size == Argument::None { Argument::Int(*own) } else { size };
    from.set("output_size", Argument::List(sizes.into_iter().zip(own).map(size).collect()));
    Ok(())
}

/// Sets the output size: the given one, cut to its last dimensions if it is that of the whole output; else the one that
/// a pool with these windows would reduce to the input.
pub fn max_unpool(from: &mut Arguments, _: &mut Lowered) -> Applied {
    let shape = from.shape("input")?;
    let dimensions = if from.function().ends_with("2d") { 2 } else { 3 };
    let spatial = shape.get(shape.len().saturating_sub(dimensions)..).unwrap_or_default().to_vec();
    let kernel = integers(from, "kernel_size", dimensions)?.ok_or_else(|| from.refuse("`kernel_size` is missing"))?;
    let stride = integers(from, "stride", dimensions)?.unwrap_or_else(|| kernel.clone());
    let padding = integers(from, "padding", dimensions)?.unwrap_or_else(|| vec![0; dimensions]);
    let size = match from.take_given("output_size") {
        Some(Argument::List(size) | Argument::Tuple(size)) if size.len() == dimensions + 2 => {
            Argument::List(size[2..].to_vec())
        }
        Some(size) => size,
        None => {
            let window = kernel.iter().zip(&stride).zip(&padding);
            let whole = spatial.iter().zip(window).map(|(own, ((kernel, stride), padding))| {
                (own - 1).checked_mul(*stride)?.checked_add(*kernel)?.checked_sub(padding.checked_mul(2)?)
            });
            scalars(&whole.collect::<Option<Vec<_>>>().ok_or_else(|| from.refuse("the output is too large"))?)
        }
    };
    from.set("output_size", size);
    if dimensions == 3 {
        from.set("stride", scalars(&stride));
        from.set("padding", scalars(&padding));
    }
    Ok(())
}

/// Refuses calls without random samples: Python draws the places of the windows, unless the call gives them.
pub fn fractional_max_pool(from: &mut Arguments, to: &mut Lowered) -> Applied {
    let indices = to.operator.ends_with("_with_indices");
    to.first = !from.take_flag("return_indices")? && !indices;
    to.operator = to.operator.trim_end_matches("_with_indices").to_owned();
    if from.get("_random_samples").is_none_or(|samples| *samples == Argument::None) {
        return Err(from.refuse("without _random_samples, the windows are drawn at random"));
    }
    from.rename("_random_samples", "random_samples");
    if from.take_given("output_ratio").is_some() {
        return Err(from.refuse("the operator takes no output_ratio: give output_size"));
    }
    Ok(())
}

/// The numbers `name`, one per dimension.
fn integers(from: &mut Arguments, name: &str, dimensions: usize) -> Result<Option<Vec<i64>>, KernelError> {
    let Some(items) = repeated(from, name, dimensions)? else { return Ok(None) };
    let integer = |item: &Argument| if let Argument::Int(n) = item { Some(*n) } else { None };
    let integers = items.iter().map(integer).collect::<Option<Vec<_>>>();
    Ok(Some(integers.ok_or_else(|| from.refuse(&format!("{name} must be integers")))?))
}
