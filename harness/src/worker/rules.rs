//! The rules for stale outputs. The Python worker's module declares each rule with its meaning, and this module reads
//! them from there when Plimsoll is built: the two cannot differ.

const DECLARED: &str = include_str!("../../python/plimsoll_rules.py");

pub const ROUNDS: u64 = declared("ROUNDS");
pub const ENOUGH: u64 = declared("ENOUGH");
pub const PARTS: u64 = declared("PARTS");
pub const UNSTEADY: u64 = declared("UNSTEADY");
pub const RUN: u64 = declared("RUN");
pub const WHOLE: u64 = declared("WHOLE");
pub const PLACES: usize = declared("PLACES") as usize;
pub const NAMED: usize = declared("NAMED") as usize;
pub const PLACES_OF_CALL: usize = declared("PLACES_OF_CALL") as usize;

/// The value in the line `name = number`. The build fails without such a line.
const fn declared(name: &str) -> u64 {
    let text = DECLARED.as_bytes();
    let mut line = 0;
    while line < text.len() {
        if let Some(number) = number_of(text, line, name.as_bytes()) {
            return number;
        }
        while line < text.len() && text[line] != b'\n' {
            line += 1;
        }
        line += 1;
    }
    panic!("harness/python/plimsoll_rules.py does not declare the rule as `NAME = NUMBER`")
}

/// The value in the line at `at`, if that is `name = number`.
const fn number_of(text: &[u8], mut at: usize, name: &[u8]) -> Option<u64> {
    let mut i = 0;
    while i < name.len() {
        if at >= text.len() || text[at] != name[i] {
            return None;
        }
        (at, i) = (at + 1, i + 1);
    }
    if at + 3 >= text.len() || text[at] != b' ' || text[at + 1] != b'=' || text[at + 2] != b' ' {
        return None;
    }
    at += 3;
    let (first, mut number) = (at, 0);
    while at < text.len() && text[at].is_ascii_digit() {
        number = number * 10 + (text[at] - b'0') as u64;
        at += 1;
    }
    // An expression, which would be cut at its first operator, is not such a line.
    if at == first || at < text.len() && text[at] != b'\n' { None } else { Some(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_that_python_declares_is_the_one_used_here() {
        let declared = DECLARED.lines().filter_map(|line| line.split_once(" = "));
        let declared: Vec<(&str, u64)> = declared.map(|(name, number)| (name, number.parse().unwrap())).collect();
        let used = [
            ("ROUNDS", ROUNDS),
            ("ENOUGH", ENOUGH),
            ("PARTS", PARTS),
            ("UNSTEADY", UNSTEADY),
            ("RUN", RUN),
            ("WHOLE", WHOLE),
            ("PLACES", PLACES as u64),
            ("NAMED", NAMED as u64),
            ("PLACES_OF_CALL", PLACES_OF_CALL as u64),
        ];
        assert_eq!(declared, used);
    }

    #[test]
    fn a_rule_is_a_name_and_a_number_on_a_line_of_its_own() {
        let of = |text: &str| number_of(text.as_bytes(), 0, b"RUN");
        assert_eq!((of("RUN = 64\n"), of("RUN = 7")), (Some(64), Some(7)));
        for other in ["RUNS = 64\n", "RUN = 1 << 6\n", "RUN = \n", "RUN", "RUN =", "# RUN = 64\n"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
