//! [`KernelSpec`]: the name under which a user asks for a kernel.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builtin::Builtin;
use super::launch::{Kernel, KernelIdentity};

/// The function of a Python file that is launched where none is named.
pub const DEFAULT_FUNCTION: &str = "launch";

/// A kernel as named on the command line: `builtin:embedding`, `py:FILE.py`, `py:FILE.py:FUNCTION`.
///
/// ```
/// use plimsoll::kernel::KernelSpec;
/// let spec: KernelSpec = "py:kernels/embedding.py".parse()?;
/// assert_eq!(spec.to_string(), "py:kernels/embedding.py:launch");
/// # Ok::<(), plimsoll::kernel::ParseKernelSpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum KernelSpec {
    /// A kernel that is a part of Plimsoll.
    Builtin(Builtin),
    /// A function of a Python file, launched in a process of PyTorch.
    Python {
        /// The file.
        file: PathBuf,
        /// The function.
        function: String,
    },
}

impl KernelSpec {
    /// The kernel to launch in this process, where it is one.
    pub fn in_process(&self) -> Option<Box<dyn Kernel>> {
        match self {
            Self::Builtin(builtin) => Some(builtin.kernel()),
            Self::Python { .. } => None,
        }
    }

    /// The name and digest for the record. A Python file is read for its digest; what it imports is not covered.
    ///
    /// # Errors
    /// The error of reading the file, which names it.
    pub fn identity(&self) -> io::Result<KernelIdentity> {
        match self {
            Self::Builtin(builtin) => Ok(builtin.kernel().identity()),
            Self::Python { file, function } => {
                let mut hasher = blake3::Hasher::new();
                File::open(file)
                    .and_then(|source| hasher.update_reader(source).map(drop))
                    .map_err(|e| io::Error::new(e.kind(), format!("kernel file {}: {e}", file.display())))?;
                let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
                let digest = Some(hasher.finalize().to_hex().to_string());
                Ok(KernelIdentity { name: format!("py:{name}:{function}"), digest })
            }
        }
    }
}

impl fmt::Display for KernelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => write!(f, "builtin:{builtin}"),
            Self::Python { file, function } => write!(f, "py:{}:{function}", file.display()),
        }
    }
}

/// A text that names no kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseKernelSpecError {
    /// No kind before a colon, or an unknown one.
    #[error("`{0}` names no kernel: write builtin:NAME ({names}) or py:FILE.py[:FUNCTION]", names = Builtin::names())]
    UnknownKind(String),
    /// A kind that this build lacks.
    #[error("`{0}`: torch: and lib: kernels are not available in this build, builtin: and py: are")]
    NotInThisBuild(String),
    /// `builtin:` with a name that is no built-in kernel.
    #[error("`{0}` is no built-in kernel: there is {names}", names = Builtin::names())]
    UnknownBuiltin(String),
    /// `py:` without a file that ends in `.py`, or with a function that is no Python name.
    #[error("`{text}`: {reason}; write py:FILE.py or py:FILE.py:FUNCTION")]
    Python {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl FromStr for KernelSpec {
    type Err = ParseKernelSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("builtin", name)) => Builtin::named(name)
                .map(Self::Builtin)
                .ok_or_else(|| ParseKernelSpecError::UnknownBuiltin(name.to_owned())),
            Some(("py", place)) => python(text, place),
            Some(("torch" | "lib", _)) => Err(ParseKernelSpecError::NotInThisBuild(text.to_owned())),
            _ => Err(ParseKernelSpecError::UnknownKind(text.to_owned())),
        }
    }
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
        return Err(error("the function is no Python name"));
    }
    Ok(KernelSpec::Python { file: file.into(), function: function.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<KernelSpec, String> {
        text.parse::<KernelSpec>().map_err(|e| e.to_string())
    }

    #[test]
    fn names_of_kernels() {
        let python = |file: &str, function: &str| KernelSpec::Python { file: file.into(), function: function.into() };
        assert_eq!(parse("builtin:embedding"), Ok(KernelSpec::Builtin(Builtin::Embedding)));
        assert_eq!(parse("py:k.py"), Ok(python("k.py", "launch")));
        assert_eq!(parse("py:/a/k.py:fast_2"), Ok(python("/a/k.py", "fast_2")));
        assert_eq!(parse("py:a:b.py"), Ok(python("a:b.py", "launch")));
        assert_eq!(parse("py:a:b.py:c"), Ok(python("a:b.py", "c")));
    }

    #[test]
    fn refusals_say_what_there_is() {
        for (text, message) in [
            ("embedding", "`embedding` names no kernel: write builtin:NAME (embedding) or py:FILE.py[:FUNCTION]"),
            ("cuda:k", "`cuda:k` names no kernel: write builtin:NAME (embedding) or py:FILE.py[:FUNCTION]"),
            (
                "torch:aten::embedding",
                "`torch:aten::embedding`: torch: and lib: kernels are not available in this build, builtin: and py: are",
            ),
            ("lib:k.so", "`lib:k.so`: torch: and lib: kernels are not available in this build, builtin: and py: are"),
            ("builtin:gemm", "`gemm` is no built-in kernel: there is embedding"),
            ("py:k.so", "`py:k.so`: the file does not end in .py; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:", "`py:`: the file does not end in .py; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:k.py:", "`py:k.py:`: the function is no Python name; write py:FILE.py or py:FILE.py:FUNCTION"),
            ("py:k.py:2x", "`py:k.py:2x`: the function is no Python name; write py:FILE.py or py:FILE.py:FUNCTION"),
        ] {
            assert_eq!(parse(text).unwrap_err(), message);
        }
    }

    #[test]
    fn is_written_as_in_the_worker_protocol() {
        for (text, json) in [
            ("builtin:embedding", r#"{"builtin":"embedding"}"#),
            ("py:/a/k.py:f", r#"{"python":{"file":"/a/k.py","function":"f"}}"#),
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
            File::create(&file).unwrap().write_all(source.as_bytes()).unwrap();
            KernelSpec::Python { file, function: "launch".into() }.identity().unwrap()
        };
        let a = identity("def launch(): pass");
        assert_eq!(a.name, "py:k.py:launch");
        assert_eq!(a.digest, Some(blake3::hash(b"def launch(): pass").to_hex().to_string()));
        assert_eq!(identity("def launch(): pass"), a);
        assert_ne!(identity("def launch(): pass\n").digest, a.digest);
        let missing = parse("py:/nowhere/k.py").unwrap().identity().unwrap_err();
        assert!(missing.to_string().starts_with("kernel file /nowhere/k.py: "), "{missing}");
    }

    proptest! {
        #[test]
        fn what_parses_round_trips(text in "(builtin|py|lib|x)?:?[a-z/:._]{0,12}(\\.py)?(:[a-z0-9]{0,3})?") {
            if let Ok(spec) = text.parse::<KernelSpec>() {
                prop_assert_eq!(spec.to_string().parse::<KernelSpec>(), Ok(spec));
            }
        }
    }
}
