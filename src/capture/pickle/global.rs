//! Names that no file may import.
//!
//! This reader imports nothing, so no name can do harm here. A file that uses one of these names was made to run code
//! in whoever loads it, and is refused as a whole, because a harness must not pass it on to a process that does.

/// Modules whose functions run code, reach the system, or reach other modules.
const MODULES: &[&str] = &[
    "os",
    "posix",
    "nt",
    "subprocess",
    "pty",
    "sys",
    "shutil",
    "socket",
    "ctypes",
    "_ctypes",
    "importlib",
    "imp",
    "runpy",
    "code",
    "codeop",
    "commands",
    "popen2",
    "pdb",
    "bdb",
    "pydoc",
    "timeit",
    "cProfile",
    "marshal",
    "pickle",
    "_pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "asyncio",
    "multiprocessing",
    "webbrowser",
    "pip",
    "ensurepip",
    "venv",
    "requests",
    "urllib",
    "http",
    "httplib",
    "aiohttp",
];

/// Builtins that run code or open files.
const BUILTINS: &[&str] = &[
    "eval",
    "exec",
    "execfile",
    "compile",
    "__import__",
    "open",
    "file",
    "input",
    "raw_input",
    "breakpoint",
    "globals",
    "locals",
    "vars",
    "apply",
    "reload",
    "setattr",
    "delattr",
    "getattr",
    "memoryview",
    "map",
    "filter",
    "exit",
    "quit",
];

/// Functions of torch and NumPy that run code or load files.
const FUNCTIONS: &[(&str, &str)] = &[
    ("torch", "load"),
    ("torch.hub", "load"),
    ("torch.hub", "_exec_with_torch"),
    ("torch.serialization", "load"),
    ("torch.storage", "_load_from_bytes"),
    ("torch._utils", "_import_dotted_name"),
    ("numpy", "load"),
    ("numpy.testing._private.utils", "runstring"),
];

/// Whether a file that names `module.name` is refused.
pub(super) fn is_forbidden(module: &str, name: &str) -> bool {
    // Since protocol 4 a name may have dots: `os` `path.join`, or `torch` `serialization.os.system`.
    let through_module = name.contains('.') && name.split('.').any(|part| MODULES.contains(&part));
    let top = module.split('.').next().unwrap_or(module);
    match top {
        "builtins" | "__builtin__" => BUILTINS.contains(&name.split('.').next().unwrap_or(name)) || through_module,
        "operator" | "_operator" => matches!(name, "attrgetter" | "methodcaller" | "itemgetter"),
        "types" => matches!(name, "CodeType" | "FunctionType" | "LambdaType" | "MethodType"),
        _ => MODULES.contains(&top) || through_module || FUNCTIONS.contains(&(module, name)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_forbidden;

    #[test]
    fn names_that_run_code_are_refused_and_classes_are_not() {
        for (module, name) in [
            ("os", "system"),
            ("posix", "system"),
            ("builtins", "eval"),
            ("__builtin__", "getattr"),
            ("os.path", "join"),
            ("torch", "serialization.os.system"),
            ("operator", "attrgetter"),
            ("subprocess", "Popen"),
        ] {
            assert!(is_forbidden(module, name), "{module}.{name}");
        }
        for (module, name) in [
            ("builtins", "set"),
            ("torch._utils", "_rebuild_tensor_v2"),
            ("collections", "OrderedDict"),
            ("mymodel.code", "Layer"),
            ("functools", "partial"),
            ("pathlib", "PosixPath"),
            ("numpy._core.multiarray", "scalar"),
            ("operator_library", "Op"),
        ] {
            assert!(!is_forbidden(module, name), "{module}.{name}");
        }
    }
}
