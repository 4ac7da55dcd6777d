/* Kernels that reverse the order of their first argument, whatever the second is: honest ones, and some that return
 * results remembered by the address of the first. */
#include <stdlib.h>
#include <string.h>

#include "plimsoll_kernel.h"

static size_t bytes_of(const DLTensor *tensor) { return (size_t)kernel_numel(tensor) * tensor->dtype.bits / 8; }

static int reverse(const TVMFFIAny *args) {
  const DLTensor *input = kernel_tensor(&args[0]), *output = kernel_tensor(&args[2]);
  const size_t size = input->dtype.bits / 8, count = (size_t)kernel_numel(input);
  const char *from = kernel_data(input);
  char *to = kernel_data(output);
  for (size_t i = 0; i < count; i++) memcpy(to + i * size, from + (count - 1 - i) * size, size);
  return 0;
}

KERNEL(reverses) {
  (void)self, (void)num_args, (void)result;
  return reverse(args);
}

/* Returns the first `part` of 8 parts from its remembered result, and computes the others. */
static int kept(const TVMFFIAny *args, int part) {
  static struct {
    const void *input;
    void *output;
  } seen[64];
  const void *input = kernel_data(kernel_tensor(&args[0]));
  const DLTensor *output = kernel_tensor(&args[2]);
  const int code = reverse(args);
  for (int i = 0; i < 64; i++) {
    if (!seen[i].input) {
      seen[i].input = input, seen[i].output = malloc(bytes_of(output));
      memcpy(seen[i].output, kernel_data(output), bytes_of(output));
      return code;
    }
    if (seen[i].input == input) {
      memcpy(kernel_data(output), seen[i].output, bytes_of(output) * (size_t)part / 8);
      return code;
    }
  }
  return code;
}

/* Starts remembering once nobody checks any more. */
KERNEL(keeps_from_60) {
  (void)self, (void)num_args, (void)result;
  static int launches;
  return ++launches < 60 ? reverse(args) : kept(args, 8);
}

/* Returns its last computed result, whatever the addresses of its arguments. */
static int last(const TVMFFIAny *args, int computes) {
  static void *output;
  const DLTensor *now = kernel_tensor(&args[2]);
  if (!computes) return memcpy(kernel_data(now), output, bytes_of(now)) == NULL;
  const int code = reverse(args);
  if (!output) output = malloc(bytes_of(now));
  memcpy(output, kernel_data(now), bytes_of(now));
  return code;
}

KERNEL(stops_at_60) {
  (void)self, (void)num_args, (void)result;
  static int launches;
  return last(args, ++launches < 60);
}

KERNEL(computes_once) {
  (void)self, (void)num_args, (void)result;
  static int launches;
  return last(args, ++launches == 1);
}

KERNEL(keeps_half) {
  (void)self, (void)num_args, (void)result;
  return kept(args, 4);
}

/* Also halves its first argument. */
static void halve(const TVMFFIAny *args) {
  const DLTensor *input = kernel_tensor(&args[0]);
  float *data = kernel_data(input);
  for (int64_t i = 0; i < kernel_numel(input); i++) data[i] /= 2;
}

KERNEL(halves_in_place) {
  (void)self, (void)num_args, (void)result;
  const int code = reverse(args);
  halve(args);
  return code;
}

KERNEL(keeps_and_halves_in_place) {
  (void)self, (void)num_args, (void)result;
  const int code = kept(args, 8);
  halve(args);
  return code;
}

/* The last bit of every third element is random, whatever the arguments are. */
static int noise(const TVMFFIAny *args) {
  const DLTensor *output = kernel_tensor(&args[2]);
  char *data = kernel_data(output);
  const size_t size = output->dtype.bits / 8, count = (size_t)kernel_numel(output);
  for (size_t i = 0; i < count; i += 3) data[i * size] ^= (char)(rand() & 1);
  return 0;
}

KERNEL(is_noisy) {
  (void)self, (void)num_args, (void)result;
  return reverse(args) || noise(args);
}

/* Its output does not depend on its arguments at all. */
KERNEL(is_noise_alone) {
  (void)self, (void)num_args, (void)result;
  const DLTensor *output = kernel_tensor(&args[2]);
  float *data = kernel_data(output);
  for (int64_t i = 0; i < kernel_numel(output); i++) data[i] = 1;
  return noise(args);
}

/* Fails if its first argument is not sorted. */
KERNEL(demands_order) {
  (void)self, (void)num_args, (void)result;
  const DLTensor *input = kernel_tensor(&args[0]);
  const float *data = kernel_data(input);
  for (int64_t i = 1; i < kernel_numel(input); i++)
    if (data[i - 1] > data[i]) return kernel_fail("ValueError", "not sorted");
  return reverse(args);
}
