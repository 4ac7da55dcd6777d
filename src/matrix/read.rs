//! Reading a [`Plan`] from its file.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::MatrixError;
use super::plan::Plan;
use super::validate::validate;
use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::text::nearest;

/// The largest plan that is read.
const MAX_PLAN: ByteSize = ByteSize::mib(4);

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`MatrixError`] if the file cannot be read, is not TOML, has an unknown key, or contradicts itself.
    pub fn read(path: &Path) -> Result<Self, MatrixError> {
        let failed = |source| MatrixError::Io { path: path.to_owned(), what: "read", source };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        file.take(MAX_PLAN.bytes() + 1).read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > MAX_PLAN.bytes() {
            return Err(MatrixError::TooLarge { path: path.to_owned(), what: "plan of a matrix", limit: MAX_PLAN });
        }
        Self::parse(path, &text)
    }

    /// Parses a plan; `path` is used in messages.
    ///
    /// # Errors
    /// See [`Plan::read`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, MatrixError> {
        let plan: Self = toml::from_str(text)
            .map_err(|error| MatrixError::Syntax { path: path.to_owned(), message: syntax(text, &error) })?;
        validate(&plan).map_err(|message| MatrixError::Plan { path: path.to_owned(), message })?;
        Ok(plan)
    }
}

/// The parser's message, with the known key that is most similar to an unknown one.
fn syntax(source: &str, error: &toml::de::Error) -> String {
    // The parser draws the line over several lines; a message is one.
    let text = match error.span() {
        Some(span) => {
            let before = source.get(..span.start).unwrap_or(source);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            let shown = source.lines().nth(line - 1).unwrap_or_default().trim();
            format!("line {line}, column {column}, `{shown}`: {}", error.message().replace('\n', ", "))
        }
        None => error.message().replace('\n', ", "),
    };
    // serde writes "unknown field `x`, expected one of `a`, `b`", so every other piece is in backticks.
    let mut quoted = error.message().split('`').skip(1).step_by(2);
    let hint = match (error.message().starts_with("unknown "), quoted.next()) {
        (true, Some(name)) => nearest(name, &quoted.collect::<Vec<_>>()),
        _ => None,
    };
    match hint {
        Some(hint) => format!("{}; did you mean `{hint}`?", text.trim_end()),
        None => text.trim_end().to_owned(),
    }
}
