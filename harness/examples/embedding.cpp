// torch.nn.functional.embedding, forward, in C++: the rows are copied by all threads of the machine.
//
//     c++ -std=c++17 -O2 -shared -fPIC -o embedding.so embedding.cpp -lpthread
//     plimsoll check captures/embedding --kernel lib:./embedding.so
#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "plimsoll_kernel.h"

namespace {

const DLTensor &tensor(const TVMFFIAny &arg, const char *name) {
  const DLTensor *found = kernel_tensor(&arg);
  if (!found) throw std::invalid_argument(std::string(name) + " is to be a tensor");
  if (!kernel_is_contiguous(found)) throw std::invalid_argument(std::string(name) + " is to be contiguous");
  return *found;
}

template <typename Index>
void gather(const DLTensor &input, const DLTensor &weight, const DLTensor &output) {
  const auto *index = static_cast<const Index *>(kernel_data(&input));
  const auto *table = static_cast<const char *>(kernel_data(&weight));
  auto *out = static_cast<char *>(kernel_data(&output));
  const int64_t count = kernel_numel(&input), rows = weight.shape[0];
  const size_t row = static_cast<size_t>(weight.shape[1]) * weight.dtype.bits / 8;
  for (int64_t i = 0; i < count; i++)
    if (index[i] < 0 || index[i] >= rows)
      throw std::out_of_range("index " + std::to_string(index[i]) + " is out of range: the table has " +
                              std::to_string(rows) + " rows");
  const auto copy = [=](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++)
      std::memcpy(out + static_cast<size_t>(i) * row, table + static_cast<size_t>(index[i]) * row, row);
  };
  // A thread has to be worth its start.
  const int64_t worth = std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(1, row));
  const int64_t threads = std::min<int64_t>(std::max(1u, std::thread::hardware_concurrency()), count / worth);
  if (threads < 2) return copy(0, count);
  std::vector<std::thread> team;
  for (int64_t t = 0; t < threads; t++) team.emplace_back(copy, count * t / threads, count * (t + 1) / threads);
  for (auto &thread : team) thread.join();
}

}  // namespace

extern "C" KERNEL(embedding) try {
  (void)self, (void)result;
  if (num_args != 8) return kernel_fail("TypeError", "embedding takes 7 arguments and an output, not %d", (int)num_args);
  const DLTensor &input = tensor(args[0], "input"), &weight = tensor(args[1], "weight");
  if (weight.ndim != 2) return kernel_fail("ValueError", "weight has %d dimensions, not 2", (int)weight.ndim);
  if (args[3].type_index != KERNEL_IS_NONE) return kernel_fail("NotImplementedError", "max_norm is not implemented");
  if (kernel_is(&input, KERNEL_INT, 64))
    gather<int64_t>(input, weight, tensor(args[7], "output"));
  else if (kernel_is(&input, KERNEL_INT, 32))
    gather<int32_t>(input, weight, tensor(args[7], "output"));
  else
    return kernel_fail("TypeError", "input is to be int32 or int64");
  return 0;
} catch (const std::bad_alloc &) {
  return kernel_fail("MemoryError", "the machine has no memory left");
} catch (const std::out_of_range &error) {
  return kernel_fail("IndexError", "%s", error.what());
} catch (const std::exception &error) {
  // No exception may leave the kernel: its caller is C.
  return kernel_fail("RuntimeError", "%s", error.what());
}
