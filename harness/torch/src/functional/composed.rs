//! [`parts`]: the operators behind functions of torch.nn.functional that are not a single operator.

/// Each function that Python composes, with the operators that it calls, in order.
const COMPOSED: &[(&str, &str)] = &[
    ("gaussian_nll_loss", "aten::clamp_min, aten::log, aten::sub, aten::pow, aten::div and aten::mean"),
    ("gumbel_softmax", "aten::exponential_, aten::log, aten::neg, aten::div and aten::softmax"),
    ("local_response_norm", "aten::mul, aten::pad, aten::avg_pool2d or avg_pool3d, aten::add, aten::pow and aten::div"),
    ("lp_pool1d", "aten::pow, aten::avg_pool1d, aten::sign, aten::abs, aten::relu and aten::mul"),
    ("lp_pool2d", "aten::pow, aten::avg_pool2d, aten::sign, aten::abs, aten::relu and aten::mul"),
    ("lp_pool3d", "aten::pow, aten::avg_pool3d, aten::sign, aten::abs, aten::relu and aten::mul"),
    ("max_unpool1d", "aten::unsqueeze, aten::max_unpool2d and aten::squeeze"),
    (
        "multi_head_attention_forward",
        "aten::linear, aten::view, aten::transpose and aten::scaled_dot_product_attention, where weights are wanted \
        aten::baddbmm, aten::softmax and aten::bmm",
    ),
    ("multilabel_soft_margin_loss", "aten::log_sigmoid, aten::mul, aten::add, aten::neg, aten::sum and aten::mean"),
    ("normalize", "aten::norm, aten::clamp_min, aten::expand_as and aten::div"),
    ("softmin", "aten::neg and aten::softmax"),
    ("softsign", "aten::abs, aten::add and aten::div"),
    ("tanhshrink", "aten::tanh and aten::sub"),
    ("triplet_margin_with_distance_loss", "the distance that it is given, aten::clamp_min and aten::mean"),
];

/// The operators that the function `name` is made of, if Python composes it.
pub fn parts(name: &str) -> Option<&'static str> {
    COMPOSED.iter().find(|(known, _)| *known == name).map(|(_, parts)| *parts)
}
