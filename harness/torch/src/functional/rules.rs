//! [`RULES`]: the steps that functions of torch.nn.functional take before they call an operator.

use plimsoll::capture::Argument;

use super::Lowered;
use super::arguments::{Applied, Arguments};
use super::interpolate::{bilinear, interpolate, scalars};
use super::pools::{
    adaptive_indices, adaptive_max_pool, as_the_input, fractional_max_pool, indices, max_pool, max_unpool,
};

/// A rule for computing some functions.
pub struct Rule {
    /// The names of the functions.
    pub functions: &'static str,
    /// The functions' parameters in Python, for arguments without a name.
    pub params: &'static str,
    /// Changes the call of the function into one of the operator.
    pub apply: fn(&mut Arguments, &mut Lowered) -> Applied,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule").field("functions", &self.functions).finish_non_exhaustive()
    }
}

macro_rules! rules {
    ($($functions:literal ($params:literal) $apply:expr;)*) => {
        /// Every rule.
        pub static RULES: &[Rule] = &[$(Rule { functions: $functions, params: $params, apply: $apply }),*];
    };
}

rules! {
    "relu relu6 silu mish selu hardsigmoid hardswish" ("input inplace") in_place;
    "elu celu" ("input alpha inplace") in_place;
    "leaky_relu" ("input negative_slope inplace") in_place;
    "hardtanh" ("input min_val max_val inplace") in_place;
    "threshold" ("input threshold value inplace") in_place;
    "rrelu" ("input lower upper training inplace") in_place;
    "softmax log_softmax" ("input dim _stacklevel dtype") softmax;
    "logsigmoid" ("input") |_, to| named(to, "log_sigmoid");
    "dropout alpha_dropout feature_alpha_dropout" ("input p training inplace") dropout;
    "dropout1d dropout2d dropout3d" ("input p training inplace") |from, to| { named(to, "feature_dropout")?; dropout(from, to) };
    "embedding_bag" ("input weight offsets max_norm norm_type scale_grad_by_freq mode sparse per_sample_weights \
        include_last_offset padding_idx") embedding_bag;
    "embedding" ("input weight padding_idx max_norm norm_type scale_grad_by_freq sparse") embedding;
    "batch_norm" ("input running_mean running_var weight bias training momentum eps") batch_norm;
    "instance_norm" ("input running_mean running_var weight bias use_input_stats momentum eps") instance_norm;
    "layer_norm rms_norm" ("input normalized_shape weight bias eps") |_, _| Ok(());
    "group_norm" ("input num_groups weight bias eps") |_, _| Ok(());
    "scaled_dot_product_attention" ("query key value attn_mask dropout_p is_causal scale enable_gqa") |_, _| Ok(());
    "max_pool1d max_pool2d max_pool3d" ("input kernel_size stride padding dilation ceil_mode return_indices") max_pool;
    "max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices"
        ("input kernel_size stride padding dilation ceil_mode return_indices") indices;
    "adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d" ("input output_size return_indices") adaptive_max_pool;
    "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices"
        ("input output_size return_indices") adaptive_indices;
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d" ("input output_size") as_the_input;
    "max_unpool2d max_unpool3d" ("input indices kernel_size stride padding output_size") max_unpool;
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices"
        ("input kernel_size output_size output_ratio return_indices _random_samples") fractional_max_pool;
    "upsample_nearest" ("input size scale_factor") interpolate;
    "upsample_bilinear" ("input size scale_factor") bilinear;
    "interpolate upsample" ("input size scale_factor mode align_corners recompute_scale_factor antialias") interpolate;
    "grid_sample" ("input grid mode padding_mode align_corners") grid_sample;
    "affine_grid" ("theta size align_corners") affine_grid;
    "one_hot" ("tensor num_classes") |from, _| { from.rename("tensor", "self"); Ok(()) };
    "fold" ("input output_size kernel_size dilation padding stride") |from, to| { strided(from); named(to, "col2im") };
    "grouped_mm" ("mat_a mat_b offs bias out_dtype") |from, to| {
        from.rename("mat_a", "self");
        from.rename("mat_b", "mat2");
        named(to, "_grouped_mm")
    };
    "unfold" ("input kernel_size dilation padding stride") |from, to| { strided(from); named(to, "im2col") };
    "cross_entropy" ("input target weight size_average ignore_index reduce reduction label_smoothing")
        |from, to| { reduction(from)?; named(to, "cross_entropy_loss") };
    "nll_loss" ("input target weight size_average ignore_index reduce reduction")
        |from, to| { reduction(from)?; named(to, "nll_loss_nd") };
    "binary_cross_entropy" ("input target weight size_average reduce reduction") |from, _| reduction(from);
    "binary_cross_entropy_with_logits" ("input target weight size_average reduce reduction pos_weight")
        |from, _| reduction(from);
    "l1_loss mse_loss" ("input target size_average reduce reduction weight") weighted_loss;
    "smooth_l1_loss" ("input target size_average reduce reduction beta") |from, _| reduction(from);
    "huber_loss" ("input target reduction delta weight") weighted_loss;
    "soft_margin_loss multilabel_margin_loss" ("input target size_average reduce reduction") |from, _| reduction(from);
    "hinge_embedding_loss" ("input target margin size_average reduce reduction") |from, _| reduction(from);
    "cosine_embedding_loss margin_ranking_loss" ("input1 input2 target margin size_average reduce reduction")
        |from, _| reduction(from);
    "multi_margin_loss" ("input target p margin weight size_average reduce reduction") |from, _| reduction(from);
    "triplet_margin_loss" ("anchor positive negative margin p eps swap size_average reduce reduction")
        |from, _| reduction(from);
    "poisson_nll_loss" ("input target log_input full size_average eps reduce reduction") poisson;
    "kl_div" ("input target size_average reduce reduction log_target") |from, _| reduction(from);
    "ctc_loss" ("log_probs targets input_lengths target_lengths blank reduction zero_infinity") |from, _| reduction(from);
}

fn named(to: &mut Lowered, operator: &str) -> Applied {
    to.operator = format!("aten::{operator}");
    Ok(())
}

/// Selects the operator for `inplace=True`.
fn in_place(from: &mut Arguments, to: &mut Lowered) -> Applied {
    if from.take_flag("inplace")? {
        to.operator.push('_');
    }
    Ok(())
}

/// Sets the dimension: if none is given, Python takes the first or the second, by the number of dimensions.
fn softmax(from: &mut Arguments, _: &mut Lowered) -> Applied {
    from.take("_stacklevel");
    if from.get("dim").is_none_or(|dim| *dim == Argument::None) {
        let dimensions = from.shape("input")?.len();
        from.set("dim", Argument::Int(i64::from(!matches!(dimensions, 0 | 1 | 3))));
    }
    Ok(())
}

fn dropout(from: &mut Arguments, to: &mut Lowered) -> Applied {
    in_place(from, to)?;
    from.rename("training", "train");
    from.set_default("p", Argument::Float(0.5));
    from.set_default("train", Argument::Bool(true));
    Ok(())
}

fn embedding(from: &mut Arguments, _: &mut Lowered) -> Applied {
    if from.take_given("max_norm").is_some() {
        return Err(from.refuse("max_norm changes the weight first, by another operator: use builtin:embedding"));
    }
    from.take("norm_type");
    from.rename("input", "indices");
    if let Some(Argument::Int(row)) = from.take_given("padding_idx") {
        let rows = from.shape("weight")?.first().copied().unwrap_or(0);
        from.set("padding_idx", Argument::Int(if row < 0 { row + rows } else { row }));
    }
    Ok(())
}

/// Converts `embedding_bag`: Python returns the first of four results. For an input of two dimensions it makes the
/// offsets, which must not be an argument then.
fn embedding_bag(from: &mut Arguments, to: &mut Lowered) -> Applied {
    if from.take_given("max_norm").is_some() {
        return Err(from.refuse("max_norm changes the weight first, by another operator"));
    }
    if from.shape("input")?.len() != 1 {
        return Err(from.refuse("it is a single operator only for an input of one dimension with offsets"));
    }
    let mode = from.take_text("mode", "mean")?;
    let mode = ["sum", "mean", "max"].iter().position(|known| *known == mode);
    let mode = mode.ok_or_else(|| from.refuse("there is no such mode"))?;
    from.set("mode", Argument::Int(mode as i64));
    from.take("norm_type");
    from.rename("input", "indices");
    for name in ["scale_grad_by_freq", "sparse", "include_last_offset"] {
        from.set_default(name, Argument::Bool(false));
    }
    for name in ["per_sample_weights", "padding_idx"] {
        from.set_default(name, Argument::None);
    }
    to.overload = Some("padding_idx".to_owned());
    to.first = true;
    Ok(())
}

fn batch_norm(from: &mut Arguments, _: &mut Lowered) -> Applied {
    from.set_default("weight", Argument::None);
    from.set_default("bias", Argument::None);
    from.set_default("training", Argument::Bool(false));
    norm(from)
}

fn instance_norm(from: &mut Arguments, _: &mut Lowered) -> Applied {
    for name in ["running_mean", "running_var", "weight", "bias"] {
        from.set_default(name, Argument::None);
    }
    from.set_default("use_input_stats", Argument::Bool(true));
    norm(from)
}

fn norm(from: &mut Arguments) -> Applied {
    from.set_default("momentum", Argument::Float(0.1));
    from.set_default("eps", Argument::Float(1e-5));
    from.set("cudnn_enabled", Argument::Bool(true));
    Ok(())
}

fn grid_sample(from: &mut Arguments, to: &mut Lowered) -> Applied {
    let mode = from.take_text("mode", "bilinear")?;
    let padding = from.take_text("padding_mode", "zeros")?;
    let number = |names: [&str; 3], name: &str| names.iter().position(|known| *known == name);
    let mode = number(["bilinear", "nearest", "bicubic"], &mode).ok_or_else(|| from.refuse("there is no such mode"))?;
    let padding = number(["zeros", "border", "reflection"], &padding);
    let padding = padding.ok_or_else(|| from.refuse("there is no such padding_mode"))?;
    from.set("interpolation_mode", Argument::Int(mode as i64));
    from.set("padding_mode", Argument::Int(padding as i64));
    let corners = from.take_flag("align_corners")?;
    from.set("align_corners", Argument::Bool(corners));
    named(to, "grid_sampler")
}

fn affine_grid(from: &mut Arguments, to: &mut Lowered) -> Applied {
    let corners = from.take_flag("align_corners")?;
    from.set("align_corners", Argument::Bool(corners));
    named(to, "affine_grid_generator")
}

fn strided(from: &mut Arguments) {
    from.set_default("dilation", Argument::Int(1));
    from.set_default("padding", Argument::Int(0));
    from.set_default("stride", Argument::Int(1));
    // The schemas name two numbers, and one stands for both.
    for name in ["output_size", "kernel_size", "dilation", "padding", "stride"] {
        if let Some(Argument::Int(n)) = from.get(name) {
            let both = scalars(&[*n, *n]);
            from.set(name, both);
        }
    }
}

/// Converts Python's words for a reduction, and the two flags that they replaced, to the number that operators take.
fn reduction(from: &mut Arguments) -> Applied {
    let (average, reduce) = (from.take_given("size_average"), from.take_given("reduce"));
    let word = from.take_text("reduction", "mean")?;
    let legacy = average.is_some() || reduce.is_some();
    let is_false = |flag: Option<Argument>| flag == Some(Argument::Bool(false));
    let word = match (legacy, is_false(reduce), is_false(average)) {
        (false, ..) => word.as_str(),
        (true, true, _) => "none",
        (true, false, true) => "sum",
        (true, false, false) => "mean",
    };
    let number = ["none", "mean", "sum"].iter().position(|known| *known == word);
    let number = number.ok_or_else(|| from.refuse(&format!("reduction={word:?} needs more than one operator")))?;
    from.set("reduction", Argument::Int(number as i64));
    Ok(())
}

fn weighted_loss(from: &mut Arguments, _: &mut Lowered) -> Applied {
    if from.take_given("weight").is_some() {
        return Err(from.refuse("with a weight, it needs more than one operator"));
    }
    reduction(from)
}

fn poisson(from: &mut Arguments, _: &mut Lowered) -> Applied {
    from.set_default("log_input", Argument::Bool(true));
    from.set_default("full", Argument::Bool(false));
    from.set_default("eps", Argument::Float(1e-8));
    reduction(from)
}
