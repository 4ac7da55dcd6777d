// gelu in CUDA, as KernelForge writes kernels: right on every entry of a capture of gelu.
#include <torch/extension.h>
#include <cuda_runtime.h>
#include "scale.h"

__global__ void gelu_kernel(const float* __restrict__ x, float* __restrict__ y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = half_of(x[i]) * (1.0f + erff(x[i] * 0.70710678f));
}

torch::Tensor launch(torch::Tensor input) {
    auto x = input.contiguous();
    auto y = torch::empty_like(x);
    int64_t n = x.numel();
    gelu_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
