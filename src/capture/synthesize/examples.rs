//! [`EXAMPLES`]: a call of each operator that models commonly use, small enough for any machine.

/// Functions of torch.nn.functional, with example arguments.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("embedding", "input=int64[8,64]<4096 weight=float32[4096,256]"),
    ("linear", "input=float32[8,64,256] weight=float32[512,256] bias=float32[512]"),
    ("conv1d", "input=float32[4,16,256] weight=float32[32,16,3] bias=float32[32] stride=1 padding=1"),
    ("conv2d", "input=float32[4,16,32,32] weight=float32[32,16,3,3] bias=float32[32] stride=1 padding=1"),
    ("conv3d", "input=float32[2,8,8,16,16] weight=float32[16,8,3,3,3] bias=float32[16] stride=1 padding=1"),
    ("conv_transpose1d", "input=float32[4,16,128] weight=float32[16,32,4] bias=float32[32] stride=2 padding=1"),
    ("conv_transpose2d", "input=float32[4,16,16,16] weight=float32[16,32,4,4] bias=float32[32] stride=2 padding=1"),
    ("conv_transpose3d", "input=float32[2,8,4,8,8] weight=float32[8,16,2,2,2] bias=float32[16] stride=2"),
    // There are no running statistics, because a variance cannot be negative.
    (
        "batch_norm",
        "input=float32[8,32,16,16] running_mean=none running_var=none weight=float32[32] bias=float32[32] training=true",
    ),
    ("instance_norm", "input=float32[8,32,16,16]"),
    ("layer_norm", "input=float32[8,64,256] normalized_shape=(256) weight=float32[256] bias=float32[256]"),
    ("rms_norm", "input=float32[8,64,256] normalized_shape=(256) weight=float32[256]"),
    ("group_norm", "input=float32[8,32,16,16] num_groups=8 weight=float32[32] bias=float32[32]"),
    ("softmax log_softmax", "input=float32[8,64,256] dim=-1"),
    (
        "gelu relu relu6 silu mish sigmoid tanh elu selu celu leaky_relu hardtanh hardswish hardsigmoid softplus logsigmoid",
        "input=float32[8,64,256]",
    ),
    ("glu", "input=float32[8,64,256] dim=-1"),
    (
        "scaled_dot_product_attention",
        "query=float32[2,8,64,32] key=float32[2,8,64,32] value=float32[2,8,64,32] is_causal=true",
    ),
    ("pad", "input=float32[4,16,32,32] pad=(1,1,2,2) mode=constant value=0.0"),
    ("adaptive_avg_pool1d adaptive_max_pool1d", "input=float32[4,16,256] output_size=7"),
    ("adaptive_avg_pool2d adaptive_max_pool2d", "input=float32[4,16,32,32] output_size=(7,7)"),
    ("adaptive_avg_pool3d adaptive_max_pool3d", "input=float32[2,8,8,16,16] output_size=(3,5,5)"),
    ("max_pool1d avg_pool1d", "input=float32[4,16,256] kernel_size=3 stride=2 padding=1"),
    ("max_pool2d avg_pool2d", "input=float32[4,16,32,32] kernel_size=3 stride=2 padding=1"),
    ("max_pool3d avg_pool3d", "input=float32[2,8,8,16,16] kernel_size=3 stride=2 padding=1"),
    ("interpolate", "input=float32[4,16,16,16] scale_factor=2.0 mode=bilinear align_corners=false"),
    ("one_hot", "tensor=int64[8,64]<100 num_classes=100"),
    ("cross_entropy", "input=float32[512,1000] target=int64[512]<1000"),
    ("nll_loss", "input=float32[512,1000] target=int64[512]<1000"),
    ("mse_loss l1_loss smooth_l1_loss huber_loss", "input=float32[512,1000] target=float32[512,1000]"),
    (
        "grid_sample",
        "input=float32[4,16,32,32] grid=float32[4,24,24,2] mode=bilinear padding_mode=zeros align_corners=false",
    ),
    ("affine_grid", "theta=float32[4,2,3] size=(4,16,32,32) align_corners=false"),
    ("unfold", "input=float32[4,16,32,32] kernel_size=3 padding=1"),
    ("fold", "input=float32[4,64,256] output_size=(32,32) kernel_size=2 stride=2"),
    ("pixel_shuffle", "input=float32[4,16,32,32] upscale_factor=2"),
    ("cosine_similarity", "x1=float32[512,256] x2=float32[512,256]"),
];
