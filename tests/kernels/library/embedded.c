/* A library as an exporter of modules writes it: a tree of modules embedded, and a place for its own context, which the
 * ABI's loader fills in when it has unpacked the tree. With MODULE, the library is that of a module of this kind. */
#include "embedding.c"

__attribute__((visibility("default"))) void *__tvm_ffi__library_ctx;

/* Numbers are of 64 bits, little-endian; a list begins with its length. */
#define U64(n) n, 0, 0, 0, 0, 0, 0, 0

#ifndef MODULE
/* One module without children, which is this library: the offsets into the list of children, that list, the kind. */
__attribute__((visibility("default"))) const unsigned char __tvm_ffi__library_bin[] = {
    U64(44), U64(2), U64(0), U64(0), U64(0), U64(4), '_', 'l', 'i', 'b'};
#else
/* The same with a kind that has no loader, with two bytes of its own. */
__attribute__((visibility("default"))) const unsigned char __tvm_ffi__library_bin[] = {
    U64(54), U64(2), U64(0), U64(0), U64(0), U64(4), 'n', 'o', 'n', 'e', U64(2), 1, 2};
#endif

KERNEL(with_context) {
  if (!__tvm_ffi__library_ctx) return kernel_fail("RuntimeError", "nobody has filled in the context of the library");
  return __tvm_ffi_embedding(self, args, num_args, result);
}
