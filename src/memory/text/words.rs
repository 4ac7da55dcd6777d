//! Words that errors and reports share.

use std::fmt::Display;

/// `1 entry`, `2 entries`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    format!("{count} {}", if count == N::from(1) { one } else { many })
}

/// The known name most similar to `name`, if any is similar.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.8;
    let alike = known.iter().map(|known| (strsim::jaro_winkler(&name.to_lowercase(), &known.to_lowercase()), *known));
    alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
