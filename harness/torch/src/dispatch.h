// Calls of operators by name through libtorch's dispatcher, as a C interface.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

/// An operator with its arguments bound, and what its last launch gave.
struct plimsoll_call;

/// What an error is about. `message` is to be given back with `plimsoll_text_free`.
enum plimsoll_failure : int32_t {
  PLIMSOLL_EXCEPTION = 1,
  PLIMSOLL_OUT_OF_MEMORY = 2,
  PLIMSOLL_NOT_REACHABLE = 3,
};
struct plimsoll_error {
  int32_t failure;
  char *message;
};

/// An argument: a `c10::IValue *` of torch-sys, which is read and not kept, under the name of a parameter or, where that is
/// null, by its position.
struct plimsoll_argument {
  const char *name;
  const void *value;
};

/// A leaf of what a launch gave. What it points to lives until the next launch.
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
};

/// libtorch's version.
const char *plimsoll_libtorch_version(void);
/// The number of a dtype by torch's name of it; negative where libtorch has none of that name.
int32_t plimsoll_dtype(const char *name);
/// A complex number as a `c10::IValue *`.
void *plimsoll_complex(double real, double imaginary);

/// How many operators are called `name` (`aten::add`), whatever their overload.
size_t plimsoll_overloads(const char *name);

/// Binds arguments to the first overload of `name` that takes them, or to the one that `overload` names. Null on error.
plimsoll_call *plimsoll_bind(const char *name, const char *overload, const plimsoll_argument *arguments, size_t count,
                             plimsoll_error *error);
/// Launches the operator; 0 where it gave a result.
int32_t plimsoll_launch(plimsoll_call *call, plimsoll_error *error);
/// Flattens what the last launch gave, or the first value of it; 0 where that can be done.
int32_t plimsoll_flatten(plimsoll_call *call, bool first, size_t *leaves, plimsoll_error *error);
/// A leaf of what was flattened.
void plimsoll_leaf_at(const plimsoll_call *call, size_t index, plimsoll_leaf *leaf);
void plimsoll_call_free(plimsoll_call *call);
void plimsoll_text_free(char *text);
}
