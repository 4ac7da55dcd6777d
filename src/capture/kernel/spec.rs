//! [`KernelSpec`]: the name under which a user asks for a kernel.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builtin::Builtin;
use super::launch::{Kernel, KernelIdentity, file_digest};
use super::library::{Library, LibraryError};

/// The function of a Python file that is launched if none is named.
pub const DEFAULT_FUNCTION: &str = "launch";

/// The operator's own name in the captured name of a function of torch: `embedding` for
/// `torch.nn.functional.embedding` or `torch.ops.aten.embedding.default`. `None` for a name from outside torch.
pub fn operator_of_torch(function_name: &str) -> Option<&str> {
    let prefixes = ["torch.nn.functional.", "torch.Tensor.", "torch.ops.aten.", "torch.", "aten::"];
    let name = prefixes.into_iter().find_map(|prefix| function_name.strip_prefix(prefix))?;
    Some(name.strip_suffix(".default").unwrap_or(name))
}

/// A kernel as named on the command line: `builtin:embedding`, `torch:NAME`, `lib:FILE.so`, `lib:FILE.so:NAME`,
/// `py:FILE.py`, `py:FILE.py:FUNCTION`, `kernelforge:FOLDER`, `float64:NAME`.
///
/// ```
/// use plimsoll_capture::kernel::KernelSpec;
/// let spec: KernelSpec = "py:kernels/embedding.py".parse()?;
/// assert_eq!(spec.to_string(), "py:kernels/embedding.py:launch");
/// # Ok::<(), plimsoll_capture::kernel::ParseKernelSpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum KernelSpec {
    /// A kernel that is a part of Plimsoll.
    Builtin(Builtin),
    /// An operator of PyTorch, launched in a libtorch process: a function of torch.nn.functional by its name, or an
    /// operator of the dispatcher (`aten::mm`, `aten::add.Tensor`).
    Torch(String),
    /// An operator of PyTorch as in `torch:NAME`, computed in `float64` on the CPU in a PyTorch process, and rounded once to the
    /// captured dtype. As a reference, it gives the tolerances of each output.
    Float64(String),
    /// A function of a Python file, launched in a PyTorch process.
    Python {
        /// The file.
        file: PathBuf,
        /// The function.
        function: String,
    },
    /// A kernel of a shared library, by the TVM-FFI C ABI.
    Library {
        /// The file.
        file: PathBuf,
        /// The kernel, with or without the prefix of its symbol; if absent, the only one of the library.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        symbol: Option<String>,
    },
    /// The kernel of a folder written by KernelForge: the function `launch` of `kernel.cu` or `kernel.cpp`, which torch
    /// builds, or of `kernel.py`. It is launched in a PyTorch process.
    KernelForge(PathBuf),
}

/// Why a kernel cannot be loaded or identified.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A Python file that cannot be read.
    #[error("cannot read the kernel file {file}: {source}; check the path", file = .file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder has no kernel.
    #[error("{folder} has no kernel: a folder of KernelForge has {files}", folder = .folder.display(),
        files = KERNELFORGE_FILES.join(", "))]
    NoKernelForge {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder has more than one kernel.
    #[error("there are {first} and {second}: keep the one that is to be launched, or name it, as py:FILE.py",
        first = .first.display(), second = .second.display())]
    SeveralKernelForge {
        /// One of the files.
        first: PathBuf,
        /// Another of the files.
        second: PathBuf,
    },
    /// A library that cannot be launched.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A kernel that does not run in this process.
    #[error("{0} does not run in this process: it needs a Python or libtorch process")]
    NotInProcess(KernelSpec),
}

impl KernelSpec {
    /// Loads the kernel, to be launched in this process.
    ///
    /// # Errors
    /// [`SpecError`] if it does not run in this process, or its library cannot be loaded.
    pub fn load(&self) -> Result<Box<dyn Kernel>, SpecError> {
        match self {
            Self::Builtin(builtin) => Ok(builtin.kernel()),
            Self::Library { file, symbol } => Ok(Box::new(Library::open(file, symbol.as_deref())?)),
            Self::Python { .. } | Self::Torch(_) | Self::Float64(_) | Self::KernelForge(_) => {
                Err(SpecError::NotInProcess(self.clone()))
            }
        }
    }

    /// The kernel's own file; `None` if the kernel is not a file.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Builtin(_) | Self::Torch(_) | Self::Float64(_) => None,
            Self::Python { file, .. } | Self::Library { file, .. } => Some(file.clone()),
            Self::KernelForge(folder) => kernelforge_file(folder).ok(),
        }
    }

    /// Whether the kernel runs in a Python process.
    pub fn needs_python(&self) -> bool {
        matches!(self, Self::Python { .. } | Self::KernelForge(_) | Self::Float64(_))
    }

    /// Whether the kernel runs on the CPU, wherever other kernels run.
    pub fn is_of_cpu(&self) -> bool {
        matches!(self, Self::Builtin(_) | Self::Float64(_))
    }

    /// Whether the kernel is an operator of PyTorch, which takes its arguments by their names.
    pub fn is_operator(&self) -> bool {
        matches!(self, Self::Torch(_) | Self::Float64(_))
    }

    /// The name and digest for the record, from the kernel's own file. Files that it imports, is built from or links
    /// are known once it is loaded.
    ///
    /// # Errors
    /// [`SpecError`] if the file cannot be read, or a library does not have the kernel.
    pub fn identity(&self) -> Result<KernelIdentity, SpecError> {
        match self {
            Self::Builtin(builtin) => Ok(builtin.kernel().identity()),
            // The version of PyTorch is a part of the environment, as for a Python function that calls it.
            Self::Torch(_) | Self::Float64(_) => Ok(KernelIdentity::new(self.to_string(), None)),
            Self::Python { file, function } => {
                let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
                Ok(KernelIdentity::new(format!("py:{name}:{function}"), Some(digest(file)?)))
            }
            Self::KernelForge(folder) => {
                let file = kernelforge_file(folder)?;
                let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                let name = whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy();
                Ok(KernelIdentity::new(format!("kernelforge:{name}"), Some(digest(&file)?)))
            }
            Self::Library { file, symbol } => Ok(Library::identity_of(file, symbol.as_deref())?),
        }
    }
}

/// The kernel files that KernelForge writes; a folder has one of them, with a function `launch`.
const KERNELFORGE_FILES: [&str; 3] = ["kernel.cu", "kernel.cpp", "kernel.py"];

/// The kernel in a folder that KernelForge wrote.
fn kernelforge_file(folder: &Path) -> Result<PathBuf, SpecError> {
    let mut found = KERNELFORGE_FILES.iter().map(|name| folder.join(name)).filter(|file| file.is_file());
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file),
        (None, _) => Err(SpecError::NoKernelForge { folder: folder.to_owned() }),
        (Some(first), Some(second)) => Err(SpecError::SeveralKernelForge { first, second }),
    }
}

fn digest(file: &Path) -> Result<String, SpecError> {
    file_digest(file).map_err(|source| SpecError::File { file: file.to_owned(), source })
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => write!(f, "builtin:{builtin}"),
            Self::Torch(operator) => write!(f, "torch:{operator}"),
            Self::Float64(operator) => write!(f, "float64:{operator}"),
            Self::Python { file, function } => write!(f, "py:{}:{function}", file.display()),
            Self::Library { file, symbol: Some(symbol) } => write!(f, "lib:{}:{symbol}", file.display()),
            Self::Library { file, symbol: None } => write!(f, "lib:{}", file.display()),
            Self::KernelForge(folder) => write!(f, "kernelforge:{}", folder.display()),
        }
    }
}

/// A text that does not name a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseKernelSpecError {
    /// The text has no kind before a colon, or an unknown one.
    #[error("`{0}` does not name a kernel: write builtin:NAME ({names}), torch:NAME, lib:FILE.so[:NAME], \
        py:FILE.py[:FUNCTION] or kernelforge:FOLDER{meant}", names = Builtin::names(), meant = meant(.0))]
    UnknownKind(String),
    /// `torch:` or `float64:` without a name, or with a text that is not a name.
    #[error("`{0}`: the operator is missing; write torch:NAME for torch.nn.functional.NAME, or torch:aten::NAME")]
    Operator(String),
    /// `builtin:` with a name that is not a built-in kernel.
    #[error("`{0}` is not a built-in kernel: write {names}", names = Builtin::names())]
    UnknownBuiltin(String),
    /// `py:` without a file that ends in `.py`, or with a function that is not a Python name.
    #[error("`{text}`: {reason}; write py:FILE.py or py:FILE.py:FUNCTION")]
    Python {
        /// The text.
        text: String,
        /// What is wrong with the text.
        reason: &'static str,
    },
    /// `kernelforge:` without a folder.
    #[error("`{0}`: the folder is missing; write kernelforge:FOLDER, with kernel.cu, kernel.cpp or kernel.py in it")]
    KernelForge(String),
    /// `lib:` without a file.
    #[error("`{0}`: the library is missing; write lib:FILE.so or lib:FILE.so:NAME")]
    Library(String),
}

impl FromStr for KernelSpec {
    type Err = ParseKernelSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("builtin", name)) => Builtin::named(name)
                .map(Self::Builtin)
                .ok_or_else(|| ParseKernelSpecError::UnknownBuiltin(name.to_owned())),
            Some(("py", place)) => python(text, place),
            Some(("lib", place)) => library(place).ok_or_else(|| ParseKernelSpecError::Library(text.to_owned())),
            Some(("kernelforge", "")) => Err(ParseKernelSpecError::KernelForge(text.to_owned())),
            Some(("kernelforge", folder)) => Ok(Self::KernelForge(folder.into())),
            Some((kind @ ("torch" | "float64"), name)) => {
                let name = operator(name).ok_or_else(|| ParseKernelSpecError::Operator(text.to_owned()))?;
                Ok(if kind == "torch" { Self::Torch(name) } else { Self::Float64(name) })
            }
            _ => Err(ParseKernelSpecError::UnknownKind(text.to_owned())),
        }
    }
}

/// `NAME`, `aten::NAME` or `aten::NAME.OVERLOAD`, with or without the modules of Python before it.
fn operator(name: &str) -> Option<String> {
    let letters = name.chars().all(|c| matches!(c, '_' | '.' | ':') || c.is_ascii_alphanumeric());
    let ends = name.ends_with(|c: char| c == '_' || c.is_ascii_alphanumeric());
    (letters && ends).then(|| name.to_owned())
}

/// A hint at the kernel that `text` names if its kind was left out.
fn meant(text: &str) -> String {
    let file = text.rsplit_once(':').map_or(text, |(file, _)| file);
    let is =
        |extension: &str| [text, file].iter().any(|file| Path::new(file).extension().is_some_and(|e| e == extension));
    let kind = match text {
        _ if is("so") => "lib",
        _ if is("py") => "py",
        _ if Builtin::named(text).is_some() => "builtin",
        _ => return String::new(),
    };
    format!("; did you mean `{kind}:{text}`?")
}

/// `FILE.py` or `FILE.py:FUNCTION`. A colon inside of the file's name belongs to it.
fn python(text: &str, place: &str) -> Result<KernelSpec, ParseKernelSpecError> {
    let error = |reason| ParseKernelSpecError::Python { text: text.to_owned(), reason };
    let (file, function) = match place.rsplit_once(':') {
        Some((file, function)) if !place.ends_with(".py") => (file, function),
        _ => (place, DEFAULT_FUNCTION),
    };
    if !file.ends_with(".py") {
        return Err(error("the file does not end in .py"));
    }
    let mut letters = function.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    if !starts || !letters.all(|c| c == '_' || c.is_alphanumeric()) {
        return Err(error("the function is not a Python name"));
    }
    Ok(KernelSpec::Python { file: file.into(), function: function.to_owned() })
}

/// Reads `FILE` or `FILE:NAME`. Text after the last colon is a name if it can be one in C and the file does not end so.
fn library(place: &str) -> Option<KernelSpec> {
    let is_name = |text: &str| {
        text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && text.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
    };
    let (file, symbol) = match place.rsplit_once(':') {
        Some((file, name)) if is_name(name) => (file, Some(name.to_owned())),
        _ => (place, None),
    };
    let file = Path::new(file);
    file.file_name().is_some().then(|| KernelSpec::Library { file: file.to_owned(), symbol })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<KernelSpec, String> {
        text.parse::<KernelSpec>().map_err(|e| e.to_string())
    }

    #[test]
    fn names_of_kernels() {
        let python = |file: &str, function: &str| KernelSpec::Python { file: file.into(), function: function.into() };
        assert_eq!(parse("builtin:embedding"), Ok(KernelSpec::Builtin(Builtin::Embedding)));
        assert_eq!(parse("torch:embedding"), Ok(KernelSpec::Torch("embedding".into())));
        assert_eq!(parse("torch:aten::add.Tensor"), Ok(KernelSpec::Torch("aten::add.Tensor".into())));
        assert_eq!(parse("float64:aten::mm"), Ok(KernelSpec::Float64("aten::mm".into())));
        assert_eq!(parse("py:k.py"), Ok(python("k.py", "launch")));
        assert_eq!(parse("py:/a/k.py:fast_2"), Ok(python("/a/k.py", "fast_2")));
        assert_eq!(parse("py:a:b.py"), Ok(python("a:b.py", "launch")));
        assert_eq!(parse("py:a:b.py:c"), Ok(python("a:b.py", "c")));
        let library = |file: &str, symbol: Option<&str>| KernelSpec::Library {
            file: file.into(),
            symbol: symbol.map(Into::into),
        };
        assert_eq!(parse("lib:./k.so"), Ok(library("./k.so", None)));
        assert_eq!(parse("lib:/a/k.so:fast_2"), Ok(library("/a/k.so", Some("fast_2"))));
        assert_eq!(parse("lib:a:k.so.1"), Ok(library("a:k.so.1", None)));
        assert_eq!(parse("lib:a:k.so:f"), Ok(library("a:k.so", Some("f"))));
    }

    #[test]
    fn refusals_say_what_there_is() {
        for (text, message) in [
            (
                "embedding",
                "`embedding` does not name a kernel: write builtin:NAME (embedding), torch:NAME, lib:FILE.so[:NAME], py:FILE.py[:FUNCTION] or kernelforge:FOLDER; did you mean `builtin:embedding`?",
            ),
            (
                "k/rows.so",
                "`k/rows.so` does not name a kernel: write builtin:NAME (embedding), torch:NAME, lib:FILE.so[:NAME], py:FILE.py[:FUNCTION] or kernelforge:FOLDER; did you mean `lib:k/rows.so`?",
            ),
            (
                "k.py:fast",
                "`k.py:fast` does not name a kernel: write builtin:NAME (embedding), torch:NAME, lib:FILE.so[:NAME], py:FILE.py[:FUNCTION] or kernelforge:FOLDER; did you mean `py:k.py:fast`?",
            ),
            (
                "cuda:k",
                "`cuda:k` does not name a kernel: write builtin:NAME (embedding), torch:NAME, lib:FILE.so[:NAME], py:FILE.py[:FUNCTION] or kernelforge:FOLDER",
            ),
            (
                "torch:aten::",
                "`torch:aten::`: the operator is missing; write torch:NAME for torch.nn.functional.NAME, or torch:aten::NAME",
            ),
            (
                "kernelforge:",
                "`kernelforge:`: the folder is missing; write kernelforge:FOLDER, with kernel.cu, kernel.cpp or kernel.py in it",
            ),
            ("lib:", "`lib:`: the library is missing; write lib:FILE.so or lib:FILE.so:NAME"),
            ("lib::launch", "`lib::launch`: the library is missing; write lib:FILE.so or lib:FILE.so:NAME"),
            ("builtin:gemm", "`gemm` is not a built-in kernel: write embedding"),
            ("py:k.so", "`py:k.so`: the file does not end in .py; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:", "`py:`: the file does not end in .py; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:k.py:", "`py:k.py:`: the function is not a Python name; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:k.py:2x", "`py:k.py:2x`: the function is not a Python name; write py:FILE.py or py:FILE.py:FUNCTION"),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn is_written_as_in_the_worker_protocol() {
        for (text, json) in [
            ("builtin:embedding", r#"{"builtin":"embedding"}"#),
            ("torch:aten::mm", r#"{"torch":"aten::mm"}"#),
            ("py:/a/k.py:f", r#"{"python":{"file":"/a/k.py","function":"f"}}"#),
            ("lib:/a/k.so", r#"{"library":{"file":"/a/k.so"}}"#),
            ("lib:/a/k.so:f", r#"{"library":{"file":"/a/k.so","symbol":"f"}}"#),
            ("kernelforge:/a/gelu", r#"{"kernelforge":"/a/gelu"}"#),
        ] {
            let spec = parse(text).unwrap();
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
            assert_eq!(serde_json::from_str::<KernelSpec>(json).unwrap(), spec);
        }
    }

    #[test]
    fn a_python_kernel_is_identified_by_its_source_wherever_it_lies() {
        let identity = |source: &str| {
            let dir = tempfile::tempdir().unwrap();
            let file = dir.path().join("k.py");
            std::fs::write(&file, source).unwrap();
            KernelSpec::Python { file, function: "launch".into() }.identity().unwrap()
        };
        let a = identity("def launch(): pass");
        assert_eq!(a.name, "py:k.py:launch");
        assert_eq!(a.digest, Some(blake3::hash(b"def launch(): pass").to_hex().to_string()));
        assert_eq!(identity("def launch(): pass"), a);
        assert_ne!(identity("def launch(): pass\n").digest, a.digest);
        let missing = parse("py:/nowhere/k.py").unwrap().identity().unwrap_err();
        assert!(missing.to_string().starts_with("cannot read the kernel file /nowhere/k.py: "), "{missing}");
    }

    #[test]
    fn a_folder_of_kernelforge_has_one_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("torch_nn_functional_gelu");
        std::fs::create_dir(&folder).unwrap();
        let spec = KernelSpec::KernelForge(folder.clone());
        let error = spec.identity().unwrap_err().to_string();
        assert!(
            error.ends_with("has no kernel: a folder of KernelForge has kernel.cu, kernel.cpp, kernel.py"),
            "{error}"
        );
        std::fs::write(folder.join("kernel.cu"), "torch::Tensor launch();").unwrap();
        let identity = spec.identity().unwrap();
        assert_eq!(identity.name, "kernelforge:torch_nn_functional_gelu");
        assert_eq!(identity.digest, Some(blake3::hash(b"torch::Tensor launch();").to_hex().to_string()));
        std::fs::write(folder.join("kernel.py"), "").unwrap();
        assert!(spec.identity().unwrap_err().to_string().contains("kernel.cu and "));
    }

    #[test]
    fn sources_are_named_from_the_kernels_folder_and_stand_in_the_identity() {
        let files = [("/a/k/rows.h", "1"), ("/b/rows.h", "2"), ("/b/in/rows.h", "2"), ("/a/k/in/rows.h", "3")];
        let files = files.map(|(path, digest)| (Path::new(path), digest));
        let made = KernelIdentity::new("py:k.py:launch", None).with_sources("/a/k".as_ref(), files);
        let sources = made.sources.iter().map(|(name, digest)| format!("{name}={digest}")).collect::<Vec<_>>();
        assert_eq!(sources, ["in/rows.h=3", "rows.h=1", "rows.h (2)=2"]);
        // A kernel of one file has the form that it had before there were sources.
        let json = serde_json::to_string(&KernelIdentity::new("py:k.py:launch", Some("00ff".to_owned()))).unwrap();
        assert_eq!(json, r#"{"name":"py:k.py:launch","digest":"00ff"}"#);
    }

    proptest! {
        #[test]
        fn what_parses_round_trips(text in "(builtin|py|lib|torch|kernelforge|x)?:?[a-z/:._]{0,12}(\\.py)?(:[a-z0-9]{0,3})?") {
            if let Ok(spec) = text.parse::<KernelSpec>() {
                prop_assert_eq!(spec.to_string().parse::<KernelSpec>(), Ok(spec));
            }
        }
    }
}
