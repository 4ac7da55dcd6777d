//! [`Fields`]: the fields of a configuration, read with typed errors.

use std::path::Path;

use serde_json::Value;

use crate::estimate::error::EstimateError;

/// The fields of one object in the file.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) path: &'a Path,
    pub(super) value: &'a Value,
}

impl<'a> Fields<'a> {
    /// The object under `name`; an empty one if there is none.
    pub(super) fn object(self, name: &str) -> Self {
        Self { value: self.value.get(name).unwrap_or(&Value::Null), ..self }
    }

    /// A positive whole number under the first of `names` that exists; absent if it is null or `auto`.
    pub(super) fn count(self, names: &[&'static str]) -> Result<Option<u64>, EstimateError> {
        for &name in names {
            let value = match self.value.get(name) {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) if text == "auto" => return Ok(None),
                Some(value) => value,
            };
            // DeepSpeed's own examples write 5e8.
            let whole = value.as_f64().filter(|v| v.fract() == 0.0 && (1.0..9e15).contains(v)).map(|v| v as u64);
            let count = value.as_u64().filter(|&count| count > 0).or(whole);
            return match count {
                Some(count) => Ok(Some(count)),
                None => Err(self.wrong(name, value, "must be a whole number of at least 1")),
            };
        }
        Ok(None)
    }

    /// A text; absent if the value is something else or `auto`.
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str().filter(|&text| text != "auto")
    }

    /// A truth value; absent if the value is something else.
    pub(super) fn flag(self, name: &str) -> Option<bool> {
        self.value.get(name)?.as_bool()
    }

    /// The error for a field.
    pub(super) fn wrong(self, field: &'static str, value: &Value, expected: &'static str) -> EstimateError {
        let value = value.to_string().chars().take(60).collect();
        EstimateError::Field { path: self.path.to_owned(), field, value, expected }
    }
}
