/* A kernel of a shared library, in C, C++ or CUDA: the part of the TVM-FFI C ABI that a kernel needs.
 *
 * A kernel is a function `__tvm_ffi_NAME`. It is given the arguments of the captured call in their order, then its
 * outputs, which it fills. It returns 0, or says why not (kernel_fail) and returns -1. The types are those of
 * tvm/ffi/c_api.h and dlpack.h, so that a library built with this header runs wherever the ABI is spoken, and one built
 * with those headers runs here. Include tvm/ffi/c_api.h before this header to have its types instead.
 *
 *     cc -O2 -shared -fPIC -o kernel.so kernel.c
 */
#ifndef PLIMSOLL_KERNEL_H_
#define PLIMSOLL_KERNEL_H_

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef TVM_FFI_C_API_H_

typedef struct {
  int32_t device_type; /* 1 is the CPU, 2 a GPU of CUDA */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* one of KERNEL_INT .. */
  uint8_t bits; /* of one element */
  uint16_t lanes;
} DLDataType;

/* A tensor. Element [i, j] is strides[0] * i + strides[1] * j elements after the first. */
typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* NULL where the tensor is contiguous */
  uint64_t byte_offset;
} DLTensor;

typedef struct {
  const char *data;
  size_t size;
} TVMFFIByteArray;

typedef struct {
  int32_t type_index; /* one of KERNEL_IS_NONE .. */
  uint32_t zero_padding;
  union {
    int64_t v_int64; /* of an int or a bool */
    double v_float64;
    void *v_ptr;
    const char *v_c_str;
    DLDataType v_dtype;
    DLDevice v_device;
  };
} TVMFFIAny;

/* Both are there where a kernel is launched: Plimsoll has them, and so has libtvm_ffi.so. */
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message);

#endif

/* The stream that a kernel is to launch on, for a device of type 2 (CUDA); NULL is the default stream. A kernel that asks need
 * not wait for its work. */
void *TVMFFIEnvGetStream(int32_t device_type, int32_t device_id);

enum { KERNEL_INT = 0, KERNEL_UINT = 1, KERNEL_FLOAT = 2, KERNEL_BFLOAT = 4, KERNEL_COMPLEX = 5, KERNEL_BOOL = 6 };

enum {
  KERNEL_IS_NONE = 0,
  KERNEL_IS_INT = 1,
  KERNEL_IS_BOOL = 2,
  KERNEL_IS_FLOAT = 3,
  KERNEL_IS_DTYPE = 5,
  KERNEL_IS_DEVICE = 6,
  KERNEL_IS_TENSOR_POINTER = 7,
  KERNEL_IS_TEXT = 8,
  KERNEL_IS_BYTES = 9,
  KERNEL_IS_TENSOR_OBJECT = 70,
  KERNEL_IS_ARRAY = 71
};

/* Begins a kernel: KERNEL(name) { ... return 0; } with the arguments `args`, of which there are `num_args`. */
#define KERNEL(name)                                                                                                   \
  __attribute__((visibility("default"))) int __tvm_ffi_##name(void *self, const TVMFFIAny *args, int32_t num_args,    \
                                                              TVMFFIAny *result);                                     \
  int __tvm_ffi_##name(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result)

/* Says why the kernel fails; to be returned. Kinds are Python's: TypeError for wrong arguments, ValueError, MemoryError. */
static inline int kernel_fail(const char *kind, const char *format, ...) {
  char message[512];
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* The tensor that an argument is, or NULL where it is none. */
static inline const DLTensor *kernel_tensor(const TVMFFIAny *arg) {
  if (arg->type_index == KERNEL_IS_TENSOR_POINTER) return (const DLTensor *)arg->v_ptr;
  /* An object's header has 24 bytes. */
  if (arg->type_index == KERNEL_IS_TENSOR_OBJECT) return (const DLTensor *)((const char *)arg->v_ptr + 24);
  return NULL;
}

/* The first element. */
static inline void *kernel_data(const DLTensor *tensor) { return (char *)tensor->data + tensor->byte_offset; }

static inline int kernel_is(const DLTensor *tensor, int code, int bits) {
  return tensor->dtype.code == code && tensor->dtype.bits == bits && tensor->dtype.lanes == 1;
}

static inline int64_t kernel_numel(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; d++) count *= tensor->shape[d];
  return count;
}

static inline int kernel_is_contiguous(const DLTensor *tensor) {
  int64_t step = 1;
  for (int32_t d = tensor->ndim - 1; d >= 0 && tensor->strides != NULL; d--) {
    if (tensor->shape[d] != 1 && tensor->strides[d] != step) return 0;
    step *= tensor->shape[d];
  }
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
