//! [`Value`]: an [`Argument`] as JSON.
//!
//! None, booleans, 64-bit integers and texts are JSON's own; everything else is an object of one key that names the
//! kind. Floats are always tagged, so that `1.0` never becomes an integer on the way.

use plimsoll::capture::{Argument, Dtype, Layout, TensorRef};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An argument or an output value in a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Value(pub Argument);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Null(()),
    Bool(bool),
    Int(i64),
    Str(String),
    Tagged(Tagged),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Tagged {
    Int(String),
    Float(Float),
    Complex([Float; 2]),
    Bytes(String),
    Dtype(Dtype),
    Device(String),
    Tensor { storage: usize, layout: Layout },
    List(Vec<Wire>),
    Tuple(Vec<Wire>),
    Dict(Vec<(Wire, Wire)>),
    Opaque { class: String, detail: String },
}

/// A float, with a word for what JSON has no number for.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Float {
    Number(f64),
    Word(String),
}

impl Float {
    fn of(x: f64) -> Self {
        if x.is_finite() { Self::Number(x) } else { Self::Word(x.to_string().to_lowercase()) }
    }

    fn value(&self) -> Result<f64, String> {
        match self {
            Self::Number(x) => Ok(*x),
            Self::Word(w) if w == "nan" => Ok(f64::NAN),
            Self::Word(w) if w == "inf" => Ok(f64::INFINITY),
            Self::Word(w) if w == "-inf" => Ok(f64::NEG_INFINITY),
            Self::Word(w) => Err(format!("`{w}` is not a float")),
        }
    }
}

impl Wire {
    fn of(argument: &Argument) -> Self {
        let all = |items: &[Argument]| items.iter().map(Self::of).collect();
        Self::Tagged(match argument {
            Argument::None => return Self::Null(()),
            Argument::Bool(b) => return Self::Bool(*b),
            Argument::Int(n) => return Self::Int(*n),
            Argument::Str(s) => return Self::Str(s.clone()),
            Argument::BigInt(n) => Tagged::Int(n.clone()),
            Argument::Float(x) => Tagged::Float(Float::of(*x)),
            Argument::Complex(re, im) => Tagged::Complex([Float::of(*re), Float::of(*im)]),
            Argument::Bytes(b) => Tagged::Bytes(b.iter().map(|b| format!("{b:02x}")).collect()),
            Argument::Dtype(d) => Tagged::Dtype(*d),
            Argument::Device(d) => Tagged::Device(d.clone()),
            Argument::Tensor(t) => Tagged::Tensor { storage: t.storage, layout: t.layout.clone() },
            Argument::List(items) => Tagged::List(all(items)),
            Argument::Tuple(items) => Tagged::Tuple(all(items)),
            Argument::Dict(items) => Tagged::Dict(items.iter().map(|(k, v)| (Self::of(k), Self::of(v))).collect()),
            Argument::Opaque { class, detail } => Tagged::Opaque { class: class.clone(), detail: detail.clone() },
        })
    }

    fn argument(self) -> Result<Argument, String> {
        let all = |items: Vec<Self>| items.into_iter().map(Self::argument).collect::<Result<Vec<_>, _>>();
        Ok(match self {
            Self::Null(()) => Argument::None,
            Self::Bool(b) => Argument::Bool(b),
            Self::Int(n) => Argument::Int(n),
            Self::Str(s) => Argument::Str(s),
            Self::Tagged(tagged) => match tagged {
                Tagged::Int(n) => n.parse().map_or(Argument::BigInt(n), Argument::Int),
                Tagged::Float(x) => Argument::Float(x.value()?),
                Tagged::Complex([re, im]) => Argument::Complex(re.value()?, im.value()?),
                Tagged::Bytes(hex) => Argument::Bytes(bytes_of_hex(&hex)?),
                Tagged::Dtype(d) => Argument::Dtype(d),
                Tagged::Device(d) => Argument::Device(d),
                Tagged::Tensor { storage, layout } => Argument::Tensor(TensorRef { layout, storage }),
                Tagged::List(items) => Argument::List(all(items)?),
                Tagged::Tuple(items) => Argument::Tuple(all(items)?),
                Tagged::Dict(items) => Argument::Dict(
                    items
                        .into_iter()
                        .map(|(k, v)| Ok((k.argument()?, v.argument()?)))
                        .collect::<Result<_, String>>()?,
                ),
                Tagged::Opaque { class, detail } => Argument::Opaque { class, detail },
            },
        })
    }
}

fn bytes_of_hex(hex: &str) -> Result<Vec<u8>, String> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err("bytes are not hexadecimal".to_owned());
    }
    let digit = |d: u8| (d as char).to_digit(16).expect("checked above") as u8;
    Ok(digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire::of(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Wire::deserialize(deserializer)?.argument().map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(argument: Argument) {
        let text = serde_json::to_string(&Value(argument.clone())).unwrap();
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{:?}", back.0), format!("{argument:?}"), "{text}");
    }

    #[test]
    fn every_kind_of_value_survives() {
        let tensor = Argument::Tensor(TensorRef { layout: Layout::contiguous(Dtype::BF16, &[2, 3]), storage: 1 });
        let items = vec![
            Argument::None,
            Argument::Bool(true),
            Argument::Int(i64::MIN),
            Argument::BigInt("340282366920938463463374607431768211456".into()),
            Argument::Float(1.0),
            Argument::Float(f64::NAN),
            Argument::Float(f64::NEG_INFINITY),
            Argument::Float(f64::MIN_POSITIVE),
            Argument::Complex(0.5, f64::INFINITY),
            Argument::Str("nan".into()),
            Argument::Bytes(vec![0, 255, 16]),
            Argument::Dtype(Dtype::F8E4M3FN),
            Argument::Device("cuda:0".into()),
            Argument::Opaque { class: "torch.memory_format".into(), detail: "why".into() },
            tensor,
        ];
        items.iter().cloned().for_each(round_trip);
        round_trip(Argument::Tuple(items.clone()));
        round_trip(Argument::Dict(items.into_iter().map(|v| (Argument::Int(1), Argument::List(vec![v]))).collect()));
    }

    #[test]
    fn a_value_that_is_none_of_them_is_refused() {
        for text in [r#"{"float":"many"}"#, r#"{"bytes":"0g"}"#, r#"{"tensor":{}}"#, r#"{"code":"x"}"#, "1.5"] {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        }
    }
}
