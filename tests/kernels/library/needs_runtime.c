/* Calls a function that only libtvm_ffi.so has. */
#include "plimsoll_kernel.h"

int TVMFFIObjectDecRef(void *object);

KERNEL(embedding) {
  (void)self, (void)args, (void)num_args;
  return TVMFFIObjectDecRef(result);
}
