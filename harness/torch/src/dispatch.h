// Calls of operators by name through libtorch's dispatcher, as a C interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// An operator with its arguments bound, and the results of its last launch.
struct plimsoll_call;

/// The kind of an error, with its message. `message` must be freed with `plimsoll_text_free`.
enum plimsoll_failure : int32_t {
  PLIMSOLL_EXCEPTION = 1,
  PLIMSOLL_OUT_OF_MEMORY = 2,
  PLIMSOLL_NOT_REACHABLE = 3,
  PLIMSOLL_DEVICE_OUT_OF_MEMORY = 4,
};
struct plimsoll_error {
  int32_t failure;
  char *message;
};

/// An argument: a `c10::IValue *` of torch-sys, which is only read, with the name of a parameter, or null to pass it by
/// position.
struct plimsoll_argument {
  const char *name;
  const void *value;
};

/// A leaf of the results of a launch. Its pointers are valid until the next launch.
enum plimsoll_kind : int32_t {
  PLIMSOLL_NONE,
  PLIMSOLL_BOOL,
  PLIMSOLL_INT,
  PLIMSOLL_FLOAT,
  PLIMSOLL_COMPLEX,
  PLIMSOLL_TEXT,
  PLIMSOLL_TENSOR,
};
struct plimsoll_leaf {
  const char *path;
  int32_t kind;
  int64_t integer;
  double real;
  double imaginary;
  const char *text;
  /// torch's name of the dtype.
  const char *dtype;
  const int64_t *shape;
  size_t dimensions;
  const void *data;
  size_t bytes;
  /// Whether `data` is an address of the device.
  bool on_device;
};

/// The memory that the allocator of a device holds, and its peak since it was trimmed.
struct plimsoll_allocated {
  uint64_t allocated;
  uint64_t allocated_peak;
  uint64_t reserved;
  uint64_t reserved_peak;
};

/// libtorch's version.
const char *plimsoll_libtorch_version(void);
/// The number of a dtype by torch's name of it; negative if libtorch has none with that name.
int32_t plimsoll_dtype(const char *name);
/// A complex number as a `c10::IValue *`.
void *plimsoll_complex(double real, double imaginary);

/// The number of operators with the name `name` (`aten::add`), under any overload.
size_t plimsoll_overloads(const char *name);

/// Binds arguments to the first overload of `name` that takes them, or to the one that `overload` names. Null on error.
plimsoll_call *plimsoll_bind(const char *name, const char *overload, const plimsoll_argument *arguments, size_t count,
                             plimsoll_error *error);
/// Launches the operator; returns 0 if it succeeded.
int32_t plimsoll_launch(plimsoll_call *call, plimsoll_error *error);
/// Flattens the results of the last launch, or only the first of them; returns 0 if it succeeded.
int32_t plimsoll_flatten(plimsoll_call *call, bool first, size_t *leaves, plimsoll_error *error);
/// A leaf of the flattened results.
void plimsoll_leaf_at(const plimsoll_call *call, size_t index, plimsoll_leaf *leaf);
void plimsoll_call_free(plimsoll_call *call);
void plimsoll_text_free(char *text);

/// A tensor over memory of the CPU (a device below 0) or of a CUDA device, as an `at::Tensor *`. Null on error.
void *plimsoll_tensor(void *data, const int64_t *shape, const int64_t *strides, size_t dimensions, int32_t dtype, int32_t device,
                      plimsoll_error *error);

/// Makes `cuda:INDEX` the device of this thread, after loading libtorch's CUDA library. The error says why it failed.
int32_t plimsoll_use_device(int32_t index, plimsoll_error *error);
/// Returns the memory that the allocator caches to the device, and resets its peaks.
int32_t plimsoll_trim(int32_t index, plimsoll_error *error);
int32_t plimsoll_allocated_on(int32_t index, plimsoll_allocated *allocated, plimsoll_error *error);
}
