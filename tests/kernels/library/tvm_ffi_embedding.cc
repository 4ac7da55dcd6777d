// torch.nn.functional.embedding by the package tvm-ffi, in its own words.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/optional.h>

#include <cstring>

namespace ffi = tvm::ffi;

void embedding(ffi::TensorView input, ffi::TensorView weight, ffi::Optional<int64_t> padding_idx,
               ffi::Optional<double> max_norm, double norm_type, bool scale_grad_by_freq, bool sparse,
               ffi::TensorView output) {
  if (max_norm.has_value()) TVM_FFI_THROW(NotImplementedError) << "max_norm is not implemented";
  if (norm_type != 2.0 || scale_grad_by_freq || sparse || padding_idx.has_value())
    TVM_FFI_THROW(ValueError) << "the captured call has none of these";
  const auto *index = static_cast<const int64_t *>(input.data_ptr());
  const size_t row = weight.size(1) * weight.dtype().bits / 8;
  for (int64_t i = 0; i < input.numel(); i++) {
    if (index[i] < 0 || index[i] >= weight.size(0)) TVM_FFI_THROW(IndexError) << "no row " << index[i];
    std::memcpy(static_cast<char *>(output.data_ptr()) + i * row,
                static_cast<const char *>(weight.data_ptr()) + index[i] * row, row);
  }
}

void refuses(ffi::TensorView, ffi::TensorView, ffi::Optional<int64_t>, ffi::Optional<double>, double, bool, bool,
             ffi::TensorView) {
  TVM_FFI_THROW(ValueError) << "not today";
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(embedding, embedding);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(refuses, refuses);
