//! A kernel to begin with: its source, how to build it, and the name to check it by.
//!
//! For embedding, the kernel is correct. For any other operator it compiles, unpacks the arguments of a captured call,
//! and reports that it is not written yet.

mod c;
mod names;
mod python;

use std::path::Path;

use plimsoll::capture::{Argument, Capture, CaptureError, Dtype, TensorSpec};
use plimsoll::kernel::CapturedOutput;

pub use names::KernelName;

/// The operator with a ready kernel.
const EMBEDDING: &str = "torch.nn.functional.embedding";
/// The operator's parameters.
const EMBEDDING_PARAMETERS: [&str; 7] =
    ["input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse"];

/// The language of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// A shared library in C
    C,
    /// A shared library in CUDA, for GPUs
    Cuda,
    /// A function of a Python file, with PyTorch
    Python,
}

/// The call that a kernel should compute.
pub struct Signature {
    /// The operator, such as `torch.nn.functional.linear`.
    pub operator: String,
    /// The parameters, each with its value in the call of the first entry.
    pub arguments: Vec<(String, Argument)>,
    /// The tensors that it returned.
    pub outputs: Vec<TensorSpec>,
    /// The file that the values were read from; absent for embedding without a capture.
    pub entry: Option<String>,
}

impl Signature {
    /// The signature of the first entry of `capture`.
    ///
    /// # Errors
    /// [`CaptureError`] if it cannot be read.
    pub fn of(capture: &Capture) -> Result<Self, CaptureError> {
        let entry = capture.entry(0)?;
        let bound = entry.bind(capture.order())?;
        Ok(Self {
            operator: capture.function_name().to_owned(),
            arguments: bound.params.into_iter().zip(bound.args).collect(),
            outputs: CapturedOutput::all(entry.output()).into_iter().map(|output| output.spec).collect(),
            entry: Some(entry.name().to_owned()),
        })
    }

    /// The signature of embedding, whose arguments are known without a capture.
    pub fn embedding() -> Self {
        let arguments = EMBEDDING_PARAMETERS.map(|name| (name.to_owned(), Argument::None)).to_vec();
        Self { operator: EMBEDDING.to_owned(), arguments, outputs: Vec::new(), entry: None }
    }

    /// Whether the ready kernels compute this call.
    fn is_embedding(&self) -> bool {
        let names = self.arguments.iter().map(|(name, _)| name.as_str());
        self.operator == EMBEDDING && names.eq(EMBEDDING_PARAMETERS)
    }
}

/// The files of a kernel.
pub struct Scaffold {
    /// Their names and texts; the first is the source.
    pub files: Vec<(String, String)>,
    /// The build command, run in the folder; absent if the language needs none.
    pub build: Option<String>,
    /// The prefix and suffix of the folder in the kernel's name: `lib:`, `embedding.so`.
    pub kernel: (&'static str, String),
    /// Whether the kernel is correct as it is.
    pub finished: bool,
}

impl Scaffold {
    /// The kernel `name` of `signature`.
    pub fn new(name: &KernelName, language: Language, signature: &Signature) -> Self {
        match language {
            Language::C => c::scaffold(name, signature, &c::C),
            Language::Cuda => c::scaffold(name, signature, &c::CUDA),
            Language::Python => python::scaffold(name, signature),
        }
    }

    /// The name by which the kernel in `folder` is checked.
    pub fn kernel_in(&self, folder: &Path) -> String {
        let path = folder.join(&self.kernel.1);
        // A library is found by its path, never by its name alone.
        let here = if path.is_absolute() || path.starts_with(".") { "" } else { "./" };
        format!("{}{here}{}", self.kernel.0, path.display())
    }
}

/// A short description of an argument of the captured call: `bfloat16 [4, 128]`, `2.0`.
fn words(argument: &Argument) -> String {
    match argument {
        Argument::Tensor(tensor) => {
            let layout = &tensor.layout;
            let spec = tensor_words(layout.dtype, &layout.shape);
            if layout.is_contiguous() { spec } else { format!("{spec} with strides {:?}", layout.strides) }
        }
        Argument::List(_) | Argument::Tuple(_) | Argument::Dict(_) => format!("{}: {argument}", argument.kind()),
        other => other.to_string(),
    }
}

fn tensor_words(dtype: Dtype, shape: &[u64]) -> String {
    format!("{dtype} {shape:?}")
}

/// A text from a file, shortened to fit on one line of a comment.
fn line(text: &str) -> String {
    const LONGEST_LINE: usize = 160;
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}');
    text.chars().map(|c| if breaks(c) { ' ' } else { c }).take(LONGEST_LINE).collect()
}

/// The name of an operator, safe for any comment or text of a source.
fn plain(operator: &str) -> String {
    operator.chars().map(|c| if c.is_ascii_alphanumeric() || "._:".contains(c) { c } else { '_' }).take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_file_gets_out_of_its_comment() {
        let hostile = "*/ system(\"x\"); /*\"\"\"\nimport os\u{202e}";
        let signature = Signature {
            operator: hostile.to_owned(),
            arguments: vec![(
                hostile.to_owned(),
                Argument::Opaque { class: hostile.to_owned(), detail: String::new() },
            )],
            outputs: Vec::new(),
            entry: Some(hostile.to_owned()),
        };
        let name: KernelName = "k".parse().unwrap();
        for language in [Language::C, Language::Cuda, Language::Python] {
            let scaffold = Scaffold::new(&name, language, &signature);
            let source = &scaffold.files[0].1;
            assert!(!scaffold.finished && !source.contains('\u{202e}') && !source.contains("\nimport os"), "{source}");
            let lines = source.lines().filter(|line| line.contains("system("));
            if language == Language::Python {
                assert!(lines.clone().all(|line| line.starts_with("    #")) && lines.count() > 0, "{source}");
                continue;
            }
            assert!(lines.clone().all(|line| line.trim_start().starts_with("/*")) && lines.count() > 0, "{source}");
            assert_eq!(source.matches("*/").count(), source.matches("/*").count(), "{source}");
            assert!(source.split("*/").all(|part| part.matches("/*").count() <= 1), "{source}");
        }
    }
}
