//! Kernels in C and CUDA, using the TVM-FFI C ABI.

use std::fmt::Write;

use plimsoll::capture::Argument;

use super::names::variables;
use super::{KernelName, Scaffold, Signature, line, plain, tensor_words, words};

/// A language that is compiled to a shared library.
pub struct Compiled {
    extension: &'static str,
    /// The compiler with its flags.
    compiler: &'static str,
    /// The text before the macro that begins a kernel.
    linkage: &'static str,
    /// A correct embedding.
    embedding: &'static str,
    /// The place of the tensors.
    place: &'static str,
}

pub const C: Compiled = Compiled {
    extension: "c",
    compiler: "cc -O2 -shared -fPIC",
    linkage: "",
    embedding: include_str!("../../examples/embedding.c"),
    place: "Tensors are on the CPU.",
};

pub const CUDA: Compiled = Compiled {
    extension: "cu",
    compiler: "nvcc -O2 -shared -Xcompiler -fPIC",
    linkage: "extern \"C\" ",
    embedding: include_str!("../../examples/embedding.cu"),
    place: "Tensors are on the device that they name: kernel_data is an address of the GPU where device_type is 2.",
};

const HEADER: (&str, &str) = ("plimsoll_kernel.h", include_str!("../../examples/plimsoll_kernel.h"));

pub fn scaffold(name: &KernelName, signature: &Signature, language: &Compiled) -> Scaffold {
    let finished = signature.is_embedding();
    let file = format!("{name}.{}", language.extension);
    let text = if finished { embedding(name, language) } else { skeleton(name, signature, language) };
    Scaffold {
        build: Some(format!("{} -o {name}.so {file}", language.compiler)),
        files: vec![(file, text), (HEADER.0.to_owned(), HEADER.1.to_owned())],
        kernel: ("lib:", format!("{name}.so")),
        finished,
    }
}

/// The example under another name. The operator keeps its own.
fn embedding(name: &KernelName, language: &Compiled) -> String {
    let (extension, new) = (language.extension, name.to_string());
    language
        .embedding
        .replace("KERNEL(embedding)", &format!("KERNEL({new})"))
        .replace(&format!("embedding.so embedding.{extension}"), &format!("{new}.so {new}.{extension}"))
        .replace("lib:./embedding.so", &format!("lib:./{new}.so"))
        .replace("check captures/embedding", "check CAPTURE")
        .replace("\"embedding takes", &format!("\"{new} takes"))
}

fn skeleton(name: &KernelName, signature: &Signature, language: &Compiled) -> String {
    let operator = plain(&signature.operator);
    let outputs = signature.outputs.len();
    let output_names = (0..outputs).map(|at| if outputs == 1 { "output".to_owned() } else { format!("output_{at}") });
    let parameters = signature.arguments.iter().map(|(name, _)| name.clone()).chain(output_names);
    let names = variables(parameters.collect::<Vec<_>>().iter().map(String::as_str));
    let (inputs, all) = (signature.arguments.len(), names.len());
    let mut text = format!(
        "/* {operator}, forward. Not written yet. Build it, then check it:\n *\n *     {} -o {name}.so {name}.{}\n *     plimsoll check \
         CAPTURE --kernel lib:./{name}.so\n *\n * {}\n */\n#include \"plimsoll_kernel.h\"\n\n{}KERNEL({name}) {{\n  (void)self, \
         (void)result;\n  if (num_args != {all})\n    return kernel_fail(\"TypeError\", \"{name} takes {inputs} arguments and \
         {outputs} outputs, and was given %d\", (int)num_args);\n",
        language.compiler, language.extension, language.place, language.linkage,
    );
    if let Some(entry) = &signature.entry {
        let _ = writeln!(text, "  /* The values of {}; other entries may differ. */", comment(entry));
    }
    let mut tensors = Vec::new();
    let mut declared = Vec::new();
    for (at, (name, (_, argument))) in names.iter().zip(&signature.arguments).enumerate() {
        match declaration(name, at, argument) {
            Some(line) => {
                let _ = writeln!(text, "  {line} /* {} */", comment(&words(argument)));
                declared.push(name.as_str());
                if matches!(argument, Argument::Tensor(_)) {
                    tensors.push(name.as_str());
                }
            }
            None => {
                let _ = writeln!(text, "  /* args[{at}], {}, is {} */", comment(name), comment(&words(argument)));
            }
        }
    }
    for (at, (name, output)) in names[inputs..].iter().zip(&signature.outputs).enumerate() {
        let at = inputs + at;
        let spec = tensor_words(output.dtype, &output.shape);
        let _ = writeln!(text, "  const DLTensor *{name} = kernel_tensor(&args[{at}]); /* {spec}, to be filled */");
        declared.push(name);
        tensors.push(name);
    }
    if !tensors.is_empty() {
        let missing: Vec<String> = tensors.iter().map(|name| format!("!{name}")).collect();
        let (missing, all) = (missing.join(" || "), tensors.join(", "));
        let _ = writeln!(text, "  if ({missing})");
        let _ = writeln!(text, "    return kernel_fail(\"TypeError\", \"one of these is not a tensor: {all}\");");
    }
    if !declared.is_empty() {
        let unused: Vec<String> = declared.iter().map(|name| format!("(void){name}")).collect();
        let _ = writeln!(text, "  {};", unused.join(", "));
    }
    text + &format!("  return kernel_fail(\"NotImplementedError\", \"{name} is not written yet\");\n}}\n")
}

/// The variable that holds argument `at`; `None` if the value has no form in C.
fn declaration(name: &str, at: usize, argument: &Argument) -> Option<String> {
    Some(match argument {
        Argument::Tensor(_) => format!("const DLTensor *{name} = kernel_tensor(&args[{at}]);"),
        Argument::Bool(_) => format!("const int {name} = args[{at}].v_int64 != 0;"),
        Argument::Int(_) => format!("const int64_t {name} = args[{at}].v_int64;"),
        Argument::Float(_) => format!("const double {name} = args[{at}].v_float64;"),
        Argument::Str(_) => format!("const char *{name} = args[{at}].v_c_str;"),
        Argument::Dtype(_) => format!("const DLDataType {name} = args[{at}].v_dtype;"),
        Argument::Device(_) => format!("const DLDevice {name} = args[{at}].v_device;"),
        Argument::Bytes(_) => {
            format!("const TVMFFIByteArray *{name} = (const TVMFFIByteArray *)args[{at}].v_ptr;")
        }
        _ => return None,
    })
}

/// A line without the end of a comment.
fn comment(text: &str) -> String {
    line(text).replace("*/", "* /").replace("/*", "/ *")
}
