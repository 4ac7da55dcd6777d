/* torch.nn.functional.embedding, forward, in C. Build it, then check it:
 *
 *     cc -O2 -shared -fPIC -o embedding.so embedding.c
 *     plimsoll check captures/embedding --kernel lib:./embedding.so
 */
#include <string.h>

#include "plimsoll_kernel.h"

KERNEL(embedding) {
  (void)self, (void)result;
  if (num_args != 8)
    return kernel_fail("TypeError", "embedding takes input, weight, padding_idx, max_norm, norm_type, "
                       "scale_grad_by_freq, sparse and an output, and was given %d arguments", (int)num_args);
  const DLTensor *input = kernel_tensor(&args[0]), *weight = kernel_tensor(&args[1]), *output = kernel_tensor(&args[7]);
  if (!input || !weight || !output) return kernel_fail("TypeError", "input, weight and output are tensors");
  if (!kernel_is(input, KERNEL_INT, 64)) return kernel_fail("TypeError", "input is to be int64");
  if (weight->ndim != 2) return kernel_fail("ValueError", "weight has %d dimensions, not 2", (int)weight->ndim);
  if (!kernel_is_contiguous(input) || !kernel_is_contiguous(weight))
    return kernel_fail("ValueError", "input and weight are to be contiguous");
  if (args[3].type_index != KERNEL_IS_NONE) return kernel_fail("NotImplementedError", "max_norm is not implemented");

  const int64_t *index = (const int64_t *)kernel_data(input);
  const char *table = (const char *)kernel_data(weight);
  char *out = (char *)kernel_data(output);
  const int64_t count = kernel_numel(input), rows = weight->shape[0];
  const size_t row = (size_t)weight->shape[1] * weight->dtype.bits / 8;
  for (int64_t i = 0; i < count; i++) {
    if (index[i] < 0 || index[i] >= rows)
      return kernel_fail("IndexError", "index %lld is out of range: the table has %lld rows", (long long)index[i],
                         (long long)rows);
    memcpy(out + (size_t)i * row, table + (size_t)index[i] * row, row);
  }
  return 0;
}
