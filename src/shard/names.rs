//! [`expand`]: file names that differ by rank.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The value of a placeholder in a name is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: nothing says what `{sign}` stands for: {hint}")]
pub struct NameError {
    /// The name.
    pub name: String,
    /// The placeholder.
    pub sign: &'static str,
    /// What to do.
    pub hint: String,
}

/// `path` with `%r` replaced by the rank, `%n` by the number of the node and `%h` by the host's name; `%%` is a percent
/// sign, and other signs stay as they are. `value` returns the value of a letter, or a hint of what to do.
///
/// # Errors
/// [`NameError`] if nothing is known for a sign.
pub fn expand(path: &Path, mut value: impl FnMut(char) -> Result<String, String>) -> Result<PathBuf, NameError> {
    let bytes = path.as_os_str().as_bytes();
    let mut expanded = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'%' {
            expanded.push(byte);
            continue;
        }
        let sign = match rest.next() {
            Some(b'r') => "%r",
            Some(b'n') => "%n",
            Some(b'h') => "%h",
            Some(b'%') => {
                expanded.push(b'%');
                continue;
            }
            other => {
                expanded.push(b'%');
                expanded.extend(other);
                continue;
            }
        };
        let letter = char::from(sign.as_bytes()[1]);
        let text = value(letter).map_err(|hint| NameError { name: path.display().to_string(), sign, hint })?;
        // A host name must not act as a path.
        expanded.extend(text.bytes().map(|byte| if byte == b'/' || byte == 0 { b'_' } else { byte }));
    }
    Ok(PathBuf::from(OsString::from_vec(expanded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_stand_for_the_rank_the_node_and_the_host() {
        let value = |letter| match letter {
            'r' => Ok("3".to_owned()),
            'h' => Ok("a/b".to_owned()),
            _ => Err("srun numbers nodes".to_owned()),
        };
        let of = |name: &str| expand(Path::new(name), value).map(|path| path.display().to_string());
        assert_eq!(of("mem-%r-of-%h.json").unwrap(), "mem-3-of-a_b.json");
        assert_eq!(of("100%%/plain").unwrap(), "100%/plain");
        assert_eq!(of("%n.json").unwrap_err().sign, "%n");
        for plain in ["50%", "a%20b.json", "%"] {
            assert_eq!(of(plain).unwrap(), plain);
        }
    }
}
