//! Names in sources.

use std::fmt;
use std::str::FromStr;

/// Words reserved in C, C++, CUDA or Python, and names that the skeletons use.
const TAKEN: &[&str] = &[
    "False",
    "None",
    "True",
    "alignas",
    "alignof",
    "and",
    "args",
    "as",
    "asm",
    "assert",
    "async",
    "auto",
    "await",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "def",
    "default",
    "del",
    "delete",
    "do",
    "double",
    "elif",
    "else",
    "enum",
    "except",
    "explicit",
    "export",
    "extern",
    "false",
    "final",
    "finally",
    "float",
    "for",
    "friend",
    "from",
    "global",
    "goto",
    "if",
    "import",
    "in",
    "inline",
    "int",
    "is",
    "lambda",
    "launch",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "nonlocal",
    "not",
    "nullptr",
    "num_args",
    "operator",
    "or",
    "pass",
    "private",
    "protected",
    "public",
    "raise",
    "register",
    "restrict",
    "result",
    "return",
    "self",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "torch",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "while",
    "with",
    "xor",
    "yield",
];

/// The name of a kernel, its folder, its file and its function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName(String);

/// A text that cannot name a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot name a kernel: write letters, digits and `_`, not a digit first, and not a keyword of C or Python"
)]
pub struct InvalidName(String);

impl FromStr for KernelName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const LONGEST_NAME: usize = 64;
        match is_identifier(text) && text.len() <= LONGEST_NAME && !TAKEN.contains(&text) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidName(text.to_owned())),
        }
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The parameters as distinct variable names: an invalid character becomes `_`, and a name that is taken gets one more.
pub fn variables<'a>(parameters: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut given: Vec<String> = Vec::new();
    for parameter in parameters {
        let mut name: String =
            parameter.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect();
        if !is_identifier(&name) {
            name.insert(0, '_');
        }
        while TAKEN.contains(&name.as_str()) || given.contains(&name) {
            name.push('_');
        }
        given.push(name);
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kernels_are_names_in_every_language() {
        for good in ["embedding", "_k", "gelu_2"] {
            assert_eq!(good.parse::<KernelName>().unwrap().to_string(), good);
        }
        for bad in ["", "2d", "a-b", "../x", "a b", "é", "float", "lambda", "launch", &"x".repeat(65)] {
            assert!(bad.parse::<KernelName>().is_err(), "{bad}");
        }
        assert!(TAKEN.is_sorted());
    }

    #[test]
    fn variables_are_names_and_all_different() {
        let names = variables(["input", "float", "a.b", "a_b", "", "2", "args", "input"]);
        assert_eq!(names, ["input", "float_", "a_b", "a_b_", "_", "_2", "args_", "input_"]);
    }
}
