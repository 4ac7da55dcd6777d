//! The JSON form of values that JSON lacks: bytes, integers beyond 64 bits, floats that are not finite.

use serde::{Deserialize, Deserializer};

/// The digits of an integer beyond 64 bits. A smaller one has only one form in JSON, a number.
pub(super) fn big_int<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let digits = String::deserialize(deserializer)?;
    let unsigned = digits.strip_prefix('-').unwrap_or(&digits);
    let is_decimal = !unsigned.is_empty() && unsigned.bytes().all(|digit| digit.is_ascii_digit());
    if is_decimal && digits.parse::<i64>().is_err() {
        Ok(digits)
    } else {
        Err(serde::de::Error::custom("`int` holds the decimal digits of an integer beyond 64 bits"))
    }
}

/// A float as a number, or as a word if it is not finite.
pub(super) mod float {
    use std::fmt;

    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() {
            serializer.serialize_f64(*x)
        } else {
            serializer.serialize_str(&x.to_string().to_lowercase())
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        struct Float;

        impl Visitor<'_> for Float {
            type Value = f64;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number, \"nan\", \"inf\" or \"-inf\"")
            }

            fn visit_f64<E: Error>(self, x: f64) -> Result<f64, E> {
                Ok(x)
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<f64, E> {
                Ok(n as f64)
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<f64, E> {
                Ok(n as f64)
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<f64, E> {
                match word {
                    "nan" => Ok(f64::NAN),
                    "inf" => Ok(f64::INFINITY),
                    "-inf" => Ok(f64::NEG_INFINITY),
                    _ => Err(E::custom(format!("`{word}` is not a float: write a number, `nan`, `inf` or `-inf`"))),
                }
            }
        }

        deserializer.deserialize_any(Float)
    }
}

/// Bytes as hexadecimal digits.
pub(super) mod hex {
    use std::fmt::Write as _;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let mut hex = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        serializer.serialize_str(&hex)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let hex = String::deserialize(deserializer)?;
        let digit = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        let bytes = pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<_>>();
        bytes.filter(|_| rest.is_empty()).ok_or_else(|| serde::de::Error::custom("bytes are not hexadecimal"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Argument, TensorRef};
    use crate::{Dtype, Layout};

    /// One value of every kind, with its text.
    fn items() -> Vec<(Argument, &'static str)> {
        let layout = Layout::contiguous(Dtype::BF16, &[2, 3]);
        vec![
            (Argument::None, "null"),
            (Argument::Bool(true), "true"),
            (Argument::Int(i64::MIN), "-9223372036854775808"),
            (
                Argument::BigInt("340282366920938463463374607431768211456".into()),
                r#"{"int":"340282366920938463463374607431768211456"}"#,
            ),
            (Argument::BigInt("-9223372036854775809".into()), r#"{"int":"-9223372036854775809"}"#),
            (Argument::Float(1.0), r#"{"float":1.0}"#),
            (Argument::Float(f64::NAN), r#"{"float":"nan"}"#),
            (Argument::Float(f64::NEG_INFINITY), r#"{"float":"-inf"}"#),
            (Argument::Float(f64::MIN_POSITIVE), r#"{"float":2.2250738585072014e-308}"#),
            (Argument::Complex(0.5, f64::INFINITY), r#"{"complex":[0.5,"inf"]}"#),
            (Argument::Str("nan".into()), r#""nan""#),
            (Argument::Bytes(vec![0, 255, 16]), r#"{"bytes":"00ff10"}"#),
            (Argument::Dtype(Dtype::F8E4M3FN), r#"{"dtype":"float8_e4m3fn"}"#),
            (Argument::Device("cuda:0".into()), r#"{"device":"cuda:0"}"#),
            (
                Argument::Opaque { class: "torch.memory_format".into(), detail: "why".into() },
                r#"{"opaque":{"class":"torch.memory_format","detail":"why"}}"#,
            ),
            (
                Argument::Tensor(TensorRef { layout, storage: 1 }),
                r#"{"tensor":{"storage":1,"layout":{"dtype":"bfloat16","shape":[2,3],"strides":[3,1],"offset":0}}}"#,
            ),
        ]
    }

    fn round_trip(argument: &Argument, text: &str) {
        assert_eq!(serde_json::to_string(argument).unwrap(), text);
        let back: Argument = serde_json::from_str(text).unwrap();
        assert_eq!(format!("{back:?}"), format!("{argument:?}"), "{text}");
    }

    #[test]
    fn every_kind_of_value_survives_as_the_protocol_says() {
        for (argument, text) in items() {
            round_trip(&argument, text);
            round_trip(&Argument::Tuple(vec![argument.clone()]), &format!(r#"{{"tuple":[{text}]}}"#));
            let pair = vec![(Argument::Int(1), Argument::List(vec![argument]))];
            round_trip(&Argument::Dict(pair), &format!(r#"{{"dict":[[1,{{"list":[{text}]}}]]}}"#));
        }
        assert_eq!(serde_json::from_str::<Argument>(r#"{"float":2}"#).unwrap(), Argument::Float(2.0));
    }

    #[test]
    fn a_value_that_is_none_of_them_is_refused() {
        for text in [
            r#"{"float":"many"}"#,
            r#"{"bytes":"0g"}"#,
            r#"{"bytes":"012"}"#,
            r#"{"tensor":{}}"#,
            r#"{"tensor":{"storage":0,"layout":{"dtype":"int8","shape":[],"strides":[],"offset":0},"x":0}}"#,
            r#"{"code":"x"}"#,
            r#"{"int":"7"}"#,
            r#"{"int":"1e99"}"#,
            r#"{"float":1.0,"int":"99999999999999999999"}"#,
            "1.5",
            "[]",
            "{}",
        ] {
            assert!(serde_json::from_str::<Argument>(text).is_err(), "{text}");
        }
    }
}
