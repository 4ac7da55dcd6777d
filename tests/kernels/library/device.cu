// Kernels that are not what they look like, for a GPU: harness/gpu-check.sh has each end with its typed verdict.
#include "embedding.cu"

#define LAUNCH __tvm_ffi_embedding(self, args, num_args, result)

namespace {

__global__ void write_nowhere(int *at) { *at = 1; }

__global__ void wait_then_zero(char *out, int64_t bytes, long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) continue;
  for (int64_t i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = 0;
}

int64_t bytes_of(const DLTensor *tensor) { return kernel_numel(tensor) * tensor->dtype.bits / 8; }

}  // namespace

// Writes to its output on a stream of its own, some 50 ms later, and nothing waits for it.
extern "C" KERNEL(side_stream) {
  static cudaStream_t stream;
  if (const int code = LAUNCH) return code;
  if (!stream) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const DLTensor *output = kernel_tensor(&args[7]);
  wait_then_zero<<<1, 256, 0, stream>>>(static_cast<char *>(kernel_data(output)), bytes_of(output), 100000000ll);
  return 0;
}

// Does its work right and in some microseconds, on a stream of its own, and nothing waits for it.
extern "C" KERNEL(beside) {
  static cudaStream_t stream;
  (void)self, (void)num_args, (void)result;
  if (!stream) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const DLTensor *input = kernel_tensor(&args[0]), *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  const int64_t count = kernel_numel(input), words = weight->shape[1] * weight->dtype.bits / 8 / int64_t{sizeof(int4)};
  gather<<<static_cast<unsigned>(count), 256, 0, stream>>>(
      static_cast<const int64_t *>(kernel_data(input)), static_cast<const int4 *>(kernel_data(weight)),
      static_cast<int4 *>(kernel_data(output)), count, weight->shape[0], words, nullptr);
  CHECK(cudaGetLastError());
  return 0;
}

// Allocates a workspace of 32 MiB at its first launch, and keeps it.
extern "C" KERNEL(workspace) {
  static void *room;
  if (!room) CHECK(cudaMalloc(&room, 32 << 20));
  return LAUNCH;
}

// Writes where there is no memory, at its second launch.
extern "C" KERNEL(faults) {
  static int launches;
  if (++launches == 2) write_nowhere<<<1, 1>>>(reinterpret_cast<int *>(16));
  return LAUNCH;
}

// Writes to its table.
extern "C" KERNEL(mutates) {
  if (const int code = LAUNCH) return code;
  CHECK(cudaMemset(kernel_data(kernel_tensor(&args[1])), 1, 64));
  return 0;
}

// Computes once for the table that it is given first, and keeps what came of it.
extern "C" KERNEL(keeps) {
  static const void *table;
  static void *kept;
  const DLTensor *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(2, weight->device.device_id));
  const auto bytes = static_cast<size_t>(bytes_of(output));
  if (kept && table == kernel_data(weight)) {
    CHECK(cudaMemcpyAsync(kernel_data(output), kept, bytes, cudaMemcpyDeviceToDevice, stream));
    return 0;
  }
  if (const int code = LAUNCH) return code;
  if (kept) return 0;
  table = kernel_data(weight);
  CHECK(cudaMalloc(&kept, bytes));
  CHECK(cudaMemcpyAsync(kept, kernel_data(output), bytes, cudaMemcpyDeviceToDevice, stream));
  return 0;
}

// Leaves the output as it is.
extern "C" KERNEL(nothing) {
  (void)self, (void)args, (void)num_args, (void)result;
  return 0;
}

// Keeps 10 MiB at every launch.
extern "C" KERNEL(leaks) {
  void *kept;
  CHECK(cudaMalloc(&kept, 10 << 20));
  return LAUNCH;
}
