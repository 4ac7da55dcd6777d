// torch.nn.functional.embedding, forward, in CUDA. Tensors on the GPU are used in place, on the stream that the kernel is
// given, and nothing waits; those on the host are uploaded, and the output is brought back, so that the kernel can be checked
// wherever its arguments lie.
//
//     nvcc -O2 -shared -Xcompiler -fPIC -o embedding.so embedding.cu
//     plimsoll check captures/embedding --kernel lib:./embedding.so --device cuda
#include <cuda_runtime.h>

#include "plimsoll_kernel.h"

namespace {

// Copies `words` words per row. An index out of range leaves its row unchanged and is reported in `bad`; if `bad` is null,
// it ends the launch with a fault, as PyTorch's own kernel does.
template <typename Word>
__global__ void gather(const int64_t *index, const Word *table, Word *out, int64_t count, int64_t rows, int64_t words,
                       unsigned long long *bad) {
  for (int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    const int64_t row = index[i];
    if (row < 0 || row >= rows) {
      if (!bad) __trap();
      if (threadIdx.x == 0) atomicMin(bad, static_cast<unsigned long long>(i));
      continue;
    }
    for (int64_t w = threadIdx.x; w < words; w += blockDim.x) out[i * words + w] = table[row * words + w];
  }
}

int cuda_error(cudaError_t error, const char *what) {
  return kernel_fail(error == cudaErrorMemoryAllocation ? "OutOfMemoryError" : "RuntimeError", "%s: CUDA error: %s", what,
                     cudaGetErrorString(error));
}

#define CHECK(call)                                                  \
  do {                                                               \
    const cudaError_t error = (call);                                \
    if (error != cudaSuccess) return cuda_error(error, #call);       \
  } while (0)

// Memory of the device that is given back at the end of its scope.
struct Memory {
  void *data = nullptr;
  ~Memory() {
    if (data) cudaFree(data);
  }
};

// Where a tensor lies on the device: where it is, or in `copy`, which is filled where it is an input.
int place(const DLTensor *tensor, bool is_input, Memory &copy, void *&at) {
  at = kernel_data(tensor);
  if (tensor->device.device_type == 2) return 0;
  const size_t bytes = static_cast<size_t>(kernel_numel(tensor)) * tensor->dtype.bits / 8;
  CHECK(cudaMalloc(&copy.data, bytes ? bytes : 1));
  if (is_input) CHECK(cudaMemcpy(copy.data, at, bytes, cudaMemcpyHostToDevice));
  at = copy.data;
  return 0;
}

}  // namespace

extern "C" KERNEL(embedding) {
  (void)self, (void)result;
  if (num_args != 8) return kernel_fail("TypeError", "embedding takes 7 arguments and an output, not %d", (int)num_args);
  const DLTensor *input = kernel_tensor(&args[0]), *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  if (!input || !weight || !output) return kernel_fail("TypeError", "input, weight and output are tensors");
  if (!kernel_is(input, KERNEL_INT, 64)) return kernel_fail("TypeError", "input is to be int64");
  if (weight->ndim != 2 || !kernel_is_contiguous(input) || !kernel_is_contiguous(weight))
    return kernel_fail("ValueError", "weight is to have two dimensions, and it and input are to be contiguous");
  if (args[3].type_index != KERNEL_IS_NONE) return kernel_fail("NotImplementedError", "max_norm is not implemented");

  const bool on_device = weight->device.device_type == 2;
  auto stream = static_cast<cudaStream_t>(on_device ? TVMFFIEnvGetStream(2, weight->device.device_id) : nullptr);
  Memory input_copy, weight_copy, output_copy, bad_memory;
  void *index, *table, *out;
  if (place(input, true, input_copy, index) || place(weight, true, weight_copy, table) ||
      place(output, false, output_copy, out))
    return -1;
  const unsigned long long none = ~0ull;
  unsigned long long bad = none;
  if (!on_device) {
    CHECK(cudaMalloc(&bad_memory.data, sizeof bad));
    CHECK(cudaMemcpy(bad_memory.data, &none, sizeof bad, cudaMemcpyHostToDevice));
  }

  const int64_t count = kernel_numel(input), rows = weight->shape[0];
  const int64_t row = weight->shape[1] * weight->dtype.bits / 8;
  const int blocks = static_cast<int>(count < 65535 ? count : 65535);
  auto *flag = static_cast<unsigned long long *>(bad_memory.data);
  if (blocks > 0 && row > 0) {
    // Rows of a whole number of 16-byte words are copied by those.
    if (row % sizeof(int4) == 0 && reinterpret_cast<uintptr_t>(table) % sizeof(int4) == 0)
      gather<<<blocks, 256, 0, stream>>>(static_cast<int64_t *>(index), static_cast<int4 *>(table), static_cast<int4 *>(out), count,
                              rows, row / static_cast<int64_t>(sizeof(int4)), flag);
    else
      gather<<<blocks, 256, 0, stream>>>(static_cast<int64_t *>(index), static_cast<char *>(table), static_cast<char *>(out), count,
                              rows, row, flag);
    CHECK(cudaGetLastError());
  }
  if (on_device) return 0;
  CHECK(cudaMemcpy(&bad, bad_memory.data, sizeof bad, cudaMemcpyDeviceToHost));
  if (bad != none) return kernel_fail("IndexError", "the index at %llu is out of range", bad);
  if (output_copy.data)
    CHECK(cudaMemcpy(kernel_data(output), output_copy.data, static_cast<size_t>(count * row), cudaMemcpyDeviceToHost));
  return 0;
}
