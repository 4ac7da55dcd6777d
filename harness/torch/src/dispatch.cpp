// Calls of operators by name: finds the overload whose schema takes the arguments, converts them as Python's argument
// parser would, and calls the operator boxed.

#include "dispatch.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

using c10::FunctionSchema;
using c10::IValue;
using c10::TypeKind;

namespace {

struct Leaf {
  std::string path;
  IValue value;
  std::string dtype;
  std::vector<int64_t> shape;
};

/// No overload takes the arguments, or there is no such operator.
struct NotReachable {
  std::string message;
};

void set(plimsoll_error *error, plimsoll_failure failure, const std::string &message) {
  error->failure = failure;
  error->message = strdup(message.c_str());
}

/// Runs `work`, and turns an exception into `error`.
template <typename Work> bool guarded(plimsoll_error *error, Work work) {
  auto raised = [&](const char *kind, const c10::Error &e) {
    std::string what = e.what_without_backtrace();
    bool memory = what.find("DefaultCPUAllocator") != std::string::npos;
    set(error, memory ? PLIMSOLL_OUT_OF_MEMORY : PLIMSOLL_EXCEPTION, std::string(kind) + ": " + what);
  };
  try {
    work();
    return true;
  } catch (const NotReachable &e) {
    set(error, PLIMSOLL_NOT_REACHABLE, e.message);
  } catch (const c10::OutOfMemoryError &e) {
    // The host's allocator throws a plain error, as above.
    set(error, PLIMSOLL_DEVICE_OUT_OF_MEMORY, std::string("OutOfMemoryError: ") + e.what_without_backtrace());
  } catch (const c10::IndexError &e) {
    raised("IndexError", e);
  } catch (const c10::ValueError &e) {
    raised("ValueError", e);
  } catch (const c10::TypeError &e) {
    raised("TypeError", e);
  } catch (const c10::NotImplementedError &e) {
    raised("NotImplementedError", e);
  } catch (const c10::Error &e) {
    raised("RuntimeError", e);
  } catch (const std::bad_alloc &) {
    set(error, PLIMSOLL_OUT_OF_MEMORY, "MemoryError: std::bad_alloc");
  } catch (const std::exception &e) {
    set(error, PLIMSOLL_EXCEPTION, std::string("RuntimeError: ") + e.what());
  } catch (...) {
    set(error, PLIMSOLL_EXCEPTION, "RuntimeError: libtorch threw something that is not an exception");
  }
  return false;
}

/// The kind of a value, in words.
std::string kind(const IValue &value) {
  if (value.isNone()) return "None";
  if (value.isTensor()) return "tensor";
  if (value.isBool()) return "bool";
  if (value.isInt()) return "int";
  if (value.isDouble()) return "float";
  if (value.isComplexDouble()) return "complex";
  if (value.isString()) return "str";
  if (value.isTuple()) return "tuple";
  if (value.isList()) return "list";
  return value.tagKind();
}

bool isNumber(const IValue &value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isComplexDouble();
}

std::optional<IValue> convert(const IValue &value, const c10::Type &type, std::optional<int32_t> length);

/// A list of `type`'s elements: from a list or tuple, or from one number if the schema says how many it stands for.
std::optional<IValue> convertList(const IValue &value, const c10::ListType &type, std::optional<int32_t> length) {
  const auto &element = type.getElementType();
  c10::impl::GenericList list(element);
  auto push = [&](const IValue &item) {
    auto converted = convert(item, *element, std::nullopt);
    if (converted) list.push_back(std::move(*converted));
    return converted.has_value();
  };
  if (value.isTuple() || value.isList()) {
    auto items = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (const auto &item : items) {
      if (!push(item)) return std::nullopt;
    }
    // A list of one number stands for as many as are needed, as in Python.
    return IValue(std::move(list));
  }
  if (length && isNumber(value)) {
    for (int32_t i = 0; i < *length; i++) {
      if (!push(value)) return std::nullopt;
    }
    return IValue(std::move(list));
  }
  return std::nullopt;
}

/// `value` converted to a schema's `type`, if it can be.
std::optional<IValue> convert(const IValue &value, const c10::Type &type, std::optional<int32_t> length) {
  switch (type.kind()) {
    case TypeKind::OptionalType:
      if (value.isNone()) return value;
      return convert(value, *type.castRaw<c10::OptionalType>()->getElementType(), length);
    case TypeKind::TensorType:
      if (value.isTensor()) return value;
      return std::nullopt;
    case TypeKind::FloatType:
      if (value.isDouble()) return value;
      if (value.isInt()) return IValue(static_cast<double>(value.toInt()));
      // A bool is a number in Python.
      if (value.isBool()) return IValue(value.toBool() ? 1.0 : 0.0);
      return std::nullopt;
    case TypeKind::IntType:
      if (value.isInt()) return value;
      return std::nullopt;
    case TypeKind::BoolType:
      if (value.isBool()) return value;
      return std::nullopt;
    case TypeKind::NumberType:
      if (isNumber(value)) return value;
      return std::nullopt;
    case TypeKind::StringType:
      if (value.isString()) return value;
      return std::nullopt;
    case TypeKind::DeviceObjType:
      if (value.isString()) return IValue(c10::Device(value.toStringRef()));
      return std::nullopt;
    case TypeKind::ListType:
      return convertList(value, *type.castRaw<c10::ListType>(), length);
    default:
      return std::nullopt;
  }
}

bool writesToOutputs(const FunctionSchema &schema) {
  for (const auto &argument : schema.arguments()) {
    if (argument.is_out()) return true;
  }
  return false;
}

/// The arguments converted for `schema`, or the reason why it does not take them.
std::optional<std::vector<IValue>> match(const FunctionSchema &schema, const plimsoll_argument *given, size_t count,
                                         std::string &why) {
  const auto &parameters = schema.arguments();
  std::vector<const IValue *> slots(parameters.size(), nullptr);
  for (size_t i = 0; i < count; i++) {
    std::optional<int> place;
    std::string name = given[i].name ? given[i].name : "";
    if (given[i].name) {
      place = schema.argumentIndexWithName(name);
      // Python functions name the first parameter `input`; in the schema, which methods share, it is `self`.
      if (!place && name == "input") place = schema.argumentIndexWithName("self");
    } else if (i < parameters.size() && !parameters[i].kwarg_only()) {
      place = static_cast<int>(i);
    }
    if (!place) {
      why = given[i].name ? "it has no parameter `" + name + "`" : "it takes fewer arguments";
      return std::nullopt;
    }
    if (slots[*place]) {
      why = "`" + parameters[*place].name() + "` is given twice";
      return std::nullopt;
    }
    slots[*place] = static_cast<const IValue *>(given[i].value);
  }
  std::vector<IValue> arguments;
  arguments.reserve(parameters.size());
  for (size_t p = 0; p < parameters.size(); p++) {
    const auto &parameter = parameters[p];
    if (!slots[p]) {
      if (!parameter.default_value()) {
        why = "`" + parameter.name() + "` is missing";
        return std::nullopt;
      }
      arguments.push_back(*parameter.default_value());
      continue;
    }
    auto converted = convert(*slots[p], *parameter.type(), parameter.N());
    // None stands for a default, as it does in Python.
    if (!converted && slots[p]->isNone()) converted = parameter.default_value();
    if (!converted) {
      why = "`" + parameter.name() + "` must be " + parameter.real_type()->repr_str() + ", but is given as " + kind(*slots[p]);
      return std::nullopt;
    }
    arguments.push_back(std::move(*converted));
  }
  return arguments;
}

/// Every overload by the operator's name, the one without a name of its own first.
const std::vector<std::string> &overloads(const std::string &name) {
  static const auto all = [] {
    std::unordered_map<std::string, std::vector<std::string>> found;
    for (const auto &operator_name : c10::Dispatcher::singleton().getAllOpNames()) {
      found[operator_name.name].push_back(operator_name.overload_name);
    }
    for (auto &[_, names] : found) std::sort(names.begin(), names.end());
    return found;
  }();
  static const std::vector<std::string> none;
  auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

void flatten(const IValue &value, const std::string &path, std::vector<Leaf> &leaves) {
  auto items = [&](const auto &elements) {
    size_t index = 0;
    for (const auto &item : elements) flatten(item, path + "[" + std::to_string(index++) + "]", leaves);
  };
  if (value.isTuple()) return items(value.toTupleRef().elements().vec());
  if (value.isList()) return items(value.toListRef().vec());
  Leaf leaf{path, value, {}, {}};
  if (value.isTensor()) {
    auto tensor = value.toTensor();
    if (!tensor.defined()) {
      leaf.value = IValue();
      leaves.push_back(std::move(leaf));
      return;
    }
    TORCH_CHECK(tensor.layout() == c10::kStrided, "a tensor of layout ", tensor.layout(), " was returned, which has no strides");
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous();
    leaf.dtype = c10::getDtypeNames(tensor.scalar_type()).first;
    leaf.shape = tensor.sizes().vec();
    leaf.value = std::move(tensor);
  } else if (!value.isNone() && !isNumber(value) && !value.isString()) {
    TORCH_CHECK(false, "a value of kind ", value.tagKind(), " was returned, which a capture cannot hold");
  }
  leaves.push_back(std::move(leaf));
}

} // namespace

struct plimsoll_call {
  c10::OperatorHandle op;
  std::vector<IValue> arguments;
  std::vector<IValue> results;
  std::vector<Leaf> leaves;
};

const char *plimsoll_libtorch_version(void) { return TORCH_VERSION; }

int32_t plimsoll_dtype(const char *name) {
  const auto &names = c10::getStringToDtypeMap();
  auto found = names.find(name);
  return found == names.end() ? -1 : static_cast<int32_t>(found->second);
}

void *plimsoll_complex(double real, double imaginary) { return new IValue(c10::complex<double>(real, imaginary)); }

size_t plimsoll_overloads(const char *name) { return overloads(name).size(); }

plimsoll_call *plimsoll_bind(const char *name, const char *overload, const plimsoll_argument *arguments, size_t count,
                             plimsoll_error *error) {
  plimsoll_call *call = nullptr;
  guarded(error, [&] {
    std::string refusals;
    size_t tried = 0;
    for (const auto &candidate : overloads(name)) {
      if (overload && candidate != overload) continue;
      auto op = c10::Dispatcher::singleton().findSchema({name, candidate});
      if (!op || (!overload && writesToOutputs(op->schema()))) continue;
      tried++;
      std::string why;
      auto bound = match(op->schema(), arguments, count, why);
      if (bound) {
        call = new plimsoll_call{*op, std::move(*bound), {}, {}};
        return;
      }
      refusals += (refusals.empty() ? " " : "; ") + c10::toString(op->schema()) + ": " + why;
    }
    std::string full = std::string(name) + (overload ? std::string(".") + overload : "");
    if (tried == 0) throw NotReachable{"libtorch has no operator " + full};
    throw NotReachable{full + " does not take this call:" + refusals};
  });
  return call;
}

int32_t plimsoll_launch(plimsoll_call *call, plimsoll_error *error) {
  bool done = guarded(error, [&] {
    call->leaves.clear();
    call->results.clear();
    auto stack = call->arguments;
    call->op.callBoxed(stack);
    call->results = std::move(stack);
  });
  return done ? 0 : 1;
}

int32_t plimsoll_flatten(plimsoll_call *call, bool first, size_t *leaves, plimsoll_error *error) {
  bool done = guarded(error, [&] {
    call->leaves.clear();
    const auto &results = call->results;
    if (results.size() == 1 || (first && !results.empty())) {
      flatten(results[0], "", call->leaves);
    } else {
      for (size_t i = 0; i < results.size(); i++) flatten(results[i], "[" + std::to_string(i) + "]", call->leaves);
    }
    *leaves = call->leaves.size();
  });
  return done ? 0 : 1;
}

void plimsoll_leaf_at(const plimsoll_call *call, size_t index, plimsoll_leaf *leaf) {
  const Leaf &from = call->leaves[index];
  *leaf = plimsoll_leaf{};
  leaf->path = from.path.c_str();
  const IValue &value = from.value;
  if (value.isTensor()) {
    const auto &tensor = value.toTensor();
    leaf->kind = PLIMSOLL_TENSOR;
    leaf->dtype = from.dtype.c_str();
    leaf->shape = from.shape.data();
    leaf->dimensions = from.shape.size();
    leaf->data = tensor.const_data_ptr();
    leaf->bytes = tensor.nbytes();
    leaf->on_device = tensor.is_cuda();
  } else if (value.isBool()) {
    leaf->kind = PLIMSOLL_BOOL;
    leaf->integer = value.toBool();
  } else if (value.isInt()) {
    leaf->kind = PLIMSOLL_INT;
    leaf->integer = value.toInt();
  } else if (value.isDouble()) {
    leaf->kind = PLIMSOLL_FLOAT;
    leaf->real = value.toDouble();
  } else if (value.isComplexDouble()) {
    leaf->kind = PLIMSOLL_COMPLEX;
    leaf->real = value.toComplexDouble().real();
    leaf->imaginary = value.toComplexDouble().imag();
  } else if (value.isString()) {
    leaf->kind = PLIMSOLL_TEXT;
    leaf->text = value.toStringRef().c_str();
  } else {
    leaf->kind = PLIMSOLL_NONE;
  }
}

void plimsoll_call_free(plimsoll_call *call) { delete call; }

void plimsoll_text_free(char *text) { free(text); }

namespace {

void require(bool holds, const std::string &otherwise) {
  if (!holds) throw NotReachable{otherwise};
}

/// Loads libtorch's CUDA library, which this program is not linked to. The file is beside the rest of libtorch, unless
/// libtorch is built without CUDA.
void loadCuda() {
  Dl_info own{};
  require(dladdr(reinterpret_cast<const void *>(&at::globalContext), &own) && own.dli_fname, "libtorch is not found");
  const std::string cpu = own.dli_fname;
  const std::string path = cpu.substr(0, cpu.rfind('/') + 1) + "libtorch_cuda.so";
  require(access(path.c_str(), F_OK) == 0,
          "the libtorch " TORCH_VERSION " of this worker is built without CUDA (there is no " + path +
              "): build the worker again with a Python first in the path whose torch has it");
  // The library is never unloaded, because it has registered its operators.
  const bool loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
  if (!loaded) throw NotReachable{std::string("libtorch's CUDA library cannot be loaded: ") + dlerror()};
}

} // namespace

void *plimsoll_tensor(void *data, const int64_t *shape, const int64_t *strides, size_t dimensions, int32_t dtype, int32_t device,
                      plimsoll_error *error) {
  at::Tensor *made = nullptr;
  guarded(error, [&] {
    const auto place = device < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device));
    const auto options = at::TensorOptions().dtype(static_cast<c10::ScalarType>(dtype)).device(place);
    // If its device is given, an address is not looked up, as an empty tensor may begin where an allocation ends.
    auto maker = at::for_blob(data, {shape, dimensions});
    maker.strides(at::IntArrayRef(strides, dimensions)).target_device(place).options(options);
    made = new at::Tensor(maker.make_tensor());
  });
  return made;
}

int32_t plimsoll_use_device(int32_t index, plimsoll_error *error) {
  bool done = guarded(error, [&] {
    loadCuda();
    require(at::Context::hasCUDART(), "libtorch's CUDA library is loaded, but the rest of libtorch does not see it");
    const int count = at::globalContext().hasCUDA() ? at::accelerator::deviceCount() : 0;
    const auto asked = "cuda:" + std::to_string(index);
    require(count > 0, "libtorch " TORCH_VERSION " sees no GPU, and " + asked + " was asked for: is the driver older than its CUDA?");
    require(index < count,
            "there is no device " + asked + ": libtorch knows " + std::to_string(count) + ", counted from 0");
    at::globalContext().lazyInitDevice(c10::kCUDA);
    at::accelerator::setDeviceIndex(static_cast<c10::DeviceIndex>(index));
  });
  return done ? 0 : 1;
}

int32_t plimsoll_trim(int32_t index, plimsoll_error *error) {
  bool done = guarded(error, [&] {
    at::accelerator::emptyCache();
    at::accelerator::resetPeakStats(static_cast<c10::DeviceIndex>(index));
  });
  return done ? 0 : 1;
}

int32_t plimsoll_allocated_on(int32_t index, plimsoll_allocated *allocated, plimsoll_error *error) {
  bool done = guarded(error, [&] {
    const auto stats = at::accelerator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto &tensors = stats.allocated_bytes[all];
    const auto &segments = stats.reserved_bytes[all];
    *allocated = plimsoll_allocated{static_cast<uint64_t>(tensors.current), static_cast<uint64_t>(tensors.peak),
                                    static_cast<uint64_t>(segments.current), static_cast<uint64_t>(segments.peak)};
  });
  return done ? 0 : 1;
}
