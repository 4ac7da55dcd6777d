//! [`stated_parameters`]: the number of parameters that a line of a log states.

use crate::ascii::regex;

/// The parameters of the whole model that `line` states: `Number of trainable parameters = 8,030,261,248`, peft's `all
/// params`, Lightning's and nanoGPT's totals. `None` for the share of one rank.
pub fn stated_parameters(line: &str) -> Option<u64> {
    let lower = line.to_ascii_lowercase();
    if !lower.contains("param")
        || ["parallel rank", "per gpu", "per rank", "per device"].iter().any(|of| lower.contains(of))
    {
        return None;
    }
    // peft's line has the trained ones first.
    let of = lower.rsplit_once("all param").map_or(lower.as_str(), |(_, all)| all);
    let behind = regex!(
        r"(?:^s?|\bparam(?:eter)?s?(?: count)?(?: \((?:total|all)\))?)\s*(?:[:=]|is|are|has)\s*([\d][\d,_]*(?:\.\d+)?(?:e\+?\d+)?)\s*([kmb]|million|billion)?\b"
    );
    let before = regex!(
        r"(?:^|[\s(:=])([\d][\d,_]*(?:\.\d+)?(?:e\+?\d+)?)\s*([kmb]|million|billion)?\s+(?:total |model |trainable )?param(?:eter)?s?\b"
    );
    let found = behind.captures(of).or_else(|| before.captures(of))?;
    let number: f64 = found.get(1)?.as_str().replace([',', '_'], "").parse().ok()?;
    let unit = match found.get(2).map_or("", |unit| unit.as_str()) {
        "k" => 1e3,
        "m" | "million" => 1e6,
        "b" | "billion" => 1e9,
        _ => 1.0,
    };
    let parameters = (number * unit).round();
    // Fewer are those of a function, or of a part.
    (1e5..1e15).contains(&parameters).then_some(parameters as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_that_logs_state_are_read_and_shares_are_not() {
        for (line, parameters) in [
            ("[INFO|trainer.py:2141] >>   Number of trainable parameters = 8,030,261,248", Some(8_030_261_248)),
            ("trainable params: 4,194,304 || all params: 6,742,609,920 || trainable%: 0.0622", Some(6_742_609_920)),
            ("number of parameters: 123.59M", Some(123_590_000)),
            ("7.2 B     Total params", Some(7_200_000_000)),
            ("model has 1.5 billion parameters", Some(1_500_000_000)),
            ("total params: 80000000000", Some(80_000_000_000)),
            (" > number of parameters on (tensor, pipeline) model parallel rank (0, 0): 1732415616", None),
            ("function takes 3 parameters", None),
            ("loss: 2.31 step 500000", None),
        ] {
            assert_eq!(stated_parameters(line), parameters, "{line}");
        }
    }
}
