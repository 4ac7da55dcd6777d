//! Words that errors and reports share.

use std::fmt::Display;

/// `1 entry`, `2 entries`.
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    format!("{count} {}", if count == N::from(1) { one } else { many })
}

/// The known name most similar to `name`, if any is similar.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    const ALIKE: f64 = 0.8;
    let alike = known.iter().map(|known| {
        let (one, other) = (name.to_lowercase(), known.to_lowercase());
        // A single wrong letter, or two in the wrong order, make short words unlike.
        let slip = one.len() > 2 && one.len() == other.len() && strsim::osa_distance(&one, &other) == 1;
        (if slip { 0.9 } else { 0.0_f64 }.max(strsim::jaro_winkler(&one, &other)), *known)
    });
    alike.filter(|(alike, _)| *alike >= ALIKE).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_hand_is_understood() {
        let commands = ["run", "check", "schema", "gate", "generate", "ab"];
        for (typed, meant) in [("rnu", "run"), ("chekc", "check"), ("gaet", "gate"), ("Run", "run")] {
            assert_eq!(nearest(typed, &commands), Some(meant), "{typed}");
        }
        assert_eq!((nearest("xb", &commands), nearest("tests", &commands)), (None, None));
    }
}
