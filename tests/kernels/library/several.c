/* Kernels that fail: with a message, with an unknown kind, without a message, for lack of memory and of other arguments; and
 * a plain function. */
#include "plimsoll_kernel.h"

KERNEL(raises) {
  (void)self, (void)args, (void)result;
  return kernel_fail("ValueError", "no kernel for %d arguments", (int)num_args);
}

KERNEL(of_no_kind) {
  (void)self, (void)args, (void)num_args, (void)result;
  return kernel_fail("", "no kernel of a kind");
}

KERNEL(silent) {
  (void)self, (void)args, (void)num_args, (void)result;
  return 7;
}

KERNEL(two_arguments) {
  (void)self, (void)args, (void)result;
  return num_args == 2 ? 0 : kernel_fail("TypeError", "two_arguments takes 2 arguments, not %d", (int)num_args);
}

KERNEL(out_of_memory) {
  (void)self, (void)args, (void)num_args, (void)result;
  return kernel_fail("MemoryError", "cannot get 64 GiB");
}

__attribute__((visibility("default"))) int plain(void) { return 0; }
