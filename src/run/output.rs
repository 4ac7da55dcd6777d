//! [`Output`]: a leaf of a kernel's result, from placement to judgement. The worker protocol sends it unchanged.

use std::ops::Range;

use plimsoll_capture::compare::Tolerances;
use plimsoll_capture::{Argument, TensorSpec};
use serde::{Deserialize, Serialize};

/// A leaf of a kernel's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// Its path in the output: empty for a single output, `[1]` for the second of several.
    pub path: String,
    /// The tensor or value.
    #[serde(flatten)]
    pub value: OutputValue,
}

impl Output {
    /// Removes the tolerances of a tensor: a kernel must not give its own.
    pub fn forget_tolerances(&mut self) {
        if let OutputValue::Tensor(placed) = &mut self.value {
            placed.tolerances = None;
        }
    }

    /// The tensor, if the leaf is one.
    pub fn tensor(&self) -> Option<&Placed> {
        match &self.value {
            OutputValue::Tensor(placed) => Some(placed),
            OutputValue::Value(_) => None,
        }
    }
}

/// The value of one leaf of a kernel's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputValue {
    /// A tensor in [`Launched::memory`](super::Launched::memory).
    Tensor(Placed),
    /// A value that is not a tensor.
    Value(Argument),
}

/// A contiguous little-endian tensor in one piece of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// Its dtype and shape.
    #[serde(flatten)]
    pub spec: TensorSpec,
    /// The offset of its first byte.
    pub offset: usize,
    /// Its length, in bytes.
    pub bytes: usize,
    /// The CRC-32 of its bytes when the launch returned; absent if nothing else can write to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crc32: Option<u32>,
    /// How near another implementation should come to it, if it is the output of a reference in `float64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerances: Option<Tolerances>,
}

impl Placed {
    /// The bytes of the memory that it takes.
    pub fn range(&self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.bytes)
    }

    /// The tensor's bytes in `memory`; `None` if they reach beyond it.
    pub fn bytes_in<'m>(&self, memory: &'m [u8]) -> Option<&'m [u8]> {
        memory.get(self.range())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_capture::Dtype;

    use super::*;

    fn placed(offset: usize, bytes: usize) -> Placed {
        Placed {
            spec: TensorSpec { dtype: Dtype::U8, shape: vec![bytes as u64] },
            offset,
            bytes,
            crc32: None,
            tolerances: None,
        }
    }

    #[test]
    fn an_output_is_written_as_the_worker_protocol_says() {
        let tensor = OutputValue::Tensor(Placed { crc32: Some(7), ..placed(64, 3) });
        for (path, value, text) in [
            ("", tensor, r#""tensor":{"dtype":"uint8","shape":[3],"offset":64,"bytes":3,"crc32":7}"#),
            (
                "[0]",
                OutputValue::Tensor(placed(0, 1)),
                r#""tensor":{"dtype":"uint8","shape":[1],"offset":0,"bytes":1}"#,
            ),
            ("[1]", OutputValue::Value(Argument::None), r#""value":null"#),
            ("[1]", OutputValue::Value(Argument::Float(0.5)), r#""value":{"float":0.5}"#),
        ] {
            let output = Output { path: path.to_owned(), value };
            let text = format!(r#"{{"path":"{path}",{text}}}"#);
            assert_eq!(serde_json::to_string(&output).unwrap(), text);
            assert_eq!(serde_json::from_str::<Output>(&text).unwrap(), output);
        }
        for text in [r#"{"path":""}"#, r#"{"path":"","tensor":null}"#, r#"{"path":"","value":{}}"#] {
            assert!(serde_json::from_str::<Output>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_those_of_the_range_or_none() {
        let memory = [1, 2, 3, 4];
        assert_eq!(placed(1, 3).bytes_in(&memory), Some(&memory[1..]));
        assert_eq!(placed(2, 3).bytes_in(&memory), None);
        assert_eq!(placed(usize::MAX, 2).bytes_in(&memory), None);
    }
}
