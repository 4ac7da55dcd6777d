//! torch.nn.functional.interpolate: one function for the operators of every mode and number of dimensions.

use plimsoll::capture::Argument;
use plimsoll::kernel::KernelError;

use super::Lowered;
use super::arguments::Arguments;

/// The numbers as a Python list.
pub fn scalars(numbers: &[i64]) -> Argument {
    Argument::List(numbers.iter().map(|&n| Argument::Int(n)).collect())
}

/// Chooses the operator by the mode and the input's dimensions, with one size or factor per dimension.
pub fn interpolate(from: &mut Arguments, to: &mut Lowered) -> Result<(), KernelError> {
    let mode = from.take_text("mode", "nearest")?;
    let shape = from.shape("input")?;
    let spatial = shape.get(2..).unwrap_or_default().to_vec();
    let mut size = repeated(from, "size", spatial.len())?;
    let mut factors = repeated(from, "scale_factor", spatial.len())?;
    let corners = from.take_flag("align_corners")?;
    let recompute = from.take_flag("recompute_scale_factor")?;
    let antialias = from.take_flag("antialias")?;
    if let Some(given) = factors.as_ref().filter(|_| recompute || mode == "area") {
        let scaled = |(own, factor): (&i64, &Argument)| match factor {
            Argument::Float(factor) => (*own as f64 * factor).floor() as i64,
            Argument::Int(factor) => own * factor,
            _ => *own,
        };
        size = Some(spatial.iter().zip(given).map(scaled).map(Argument::Int).collect());
        factors = None;
    }
    let smoothed = if antialias { "_aa" } else { "" };
    let private = if antialias { "_" } else { "" };
    let operator = match (mode.as_str(), spatial.len()) {
        ("nearest", n @ 1..=3) => format!("upsample_nearest{n}d"),
        ("nearest-exact", n @ 1..=3) => format!("_upsample_nearest_exact{n}d"),
        ("area", n @ 1..=3) => format!("adaptive_avg_pool{n}d"),
        ("linear", 1) => "upsample_linear1d".to_owned(),
        ("bilinear", 2) => format!("{private}upsample_bilinear2d{smoothed}"),
        ("trilinear", 3) => "upsample_trilinear3d".to_owned(),
        ("bicubic", 2) => format!("{private}upsample_bicubic2d{smoothed}"),
        (mode, n) => return Err(from.refuse(&format!("there is no mode {mode:?} for {n} dimensions"))),
    };
    to.operator = format!("aten::{operator}");
    let list = |items: Option<Vec<Argument>>| items.map_or(Argument::None, Argument::List);
    from.set("output_size", list(size));
    if mode == "area" {
        return Ok(());
    }
    to.overload = Some("vec".to_owned());
    if !mode.starts_with("nearest") {
        from.set("align_corners", Argument::Bool(corners));
    }
    from.set("scale_factors", list(factors.map(|factors| factors.into_iter().map(float).collect())));
    Ok(())
}

/// Converts deprecated functions, which Python computes by `interpolate`.
pub fn bilinear(from: &mut Arguments, to: &mut Lowered) -> Result<(), KernelError> {
    from.set("mode", Argument::Str("bilinear".to_owned()));
    from.set("align_corners", Argument::Bool(true));
    interpolate(from, to)
}

/// The sizes or factors `name`; a single one stands for all dimensions.
pub fn repeated(from: &mut Arguments, name: &str, dimensions: usize) -> Result<Option<Vec<Argument>>, KernelError> {
    match from.take_given(name) {
        None => Ok(None),
        Some(Argument::List(items) | Argument::Tuple(items)) if items.len() == dimensions => Ok(Some(items)),
        Some(Argument::List(_) | Argument::Tuple(_)) => {
            Err(from.refuse(&format!("{name} does not have one number for each of {dimensions} dimensions")))
        }
        Some(one) => Ok(Some(vec![one; dimensions])),
    }
}

fn float(number: Argument) -> Argument {
    match number {
        Argument::Int(n) => Argument::Float(n as f64),
        other => other,
    }
}
