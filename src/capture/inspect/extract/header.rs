//! The headers of the formats of single tensors.

use std::path::Path;

use serde_json::json;

use super::error::ExtractError;
use super::format::Format;
use crate::{Dtype, Layout};

impl Format {
    /// The format of the file `path`, by its extension.
    ///
    /// # Errors
    /// [`ExtractError::Format`].
    pub fn of(path: &Path) -> Result<Self, ExtractError> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => Ok(Self::Npy),
            Some("safetensors") => Ok(Self::Safetensors),
            Some("bin") => Ok(Self::Bin),
            _ => Err(ExtractError::Format { path: path.to_owned() }),
        }
    }

    /// The bytes before the elements of a contiguous tensor of the dtype and shape of `layout`.
    pub(super) fn header(self, name: &str, layout: &Layout) -> Result<Vec<u8>, ExtractError> {
        let dtype = layout.dtype;
        let lacks = || ExtractError::Dtype { format: self, dtype };
        match self {
            Self::Bin => Ok(Vec::new()),
            Self::Npy => Ok(npy(npy_dtype(dtype).ok_or_else(lacks)?, &layout.shape)),
            Self::Safetensors => Ok(safetensors(name, safetensors_dtype(dtype).ok_or_else(lacks)?, layout)),
        }
    }
}

/// Magic, version, the length of the header, and a Python dict padded so that the elements start on a multiple of 64.
fn npy(descr: &str, shape: &[u64]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let sizes = if shape.len() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Version 2 has room for the length of a header that no real shape needs.
    let (version, length) = if dict.len() + 64 < usize::from(u16::MAX) { (1, 2) } else { (2, 4) };
    let start = 8 + length;
    let padding = (start + dict.len() + 1).next_multiple_of(64) - (start + dict.len() + 1);
    dict.extend(std::iter::repeat_n(' ', padding));
    dict.push('\n');
    let mut header = b"\x93NUMPY".to_vec();
    header.extend([version, 0]);
    header.extend(&(dict.len() as u32).to_le_bytes()[..length]);
    header.extend(dict.as_bytes());
    header
}

fn npy_dtype(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "<f8",
        Dtype::F32 => "<f4",
        Dtype::F16 => "<f2",
        Dtype::C128 => "<c16",
        Dtype::C64 => "<c8",
        Dtype::I64 => "<i8",
        Dtype::I32 => "<i4",
        Dtype::I16 => "<i2",
        Dtype::I8 => "|i1",
        Dtype::U64 => "<u8",
        Dtype::U32 => "<u4",
        Dtype::U16 => "<u2",
        Dtype::U8 => "|u1",
        Dtype::Bool => "|b1",
        _ => return None,
    })
}

/// The length of the header as eight bytes, and JSON padded to a multiple of 8.
fn safetensors(name: &str, dtype: &str, layout: &Layout) -> Vec<u8> {
    let bytes = layout.logical_bytes().unwrap_or(u64::MAX);
    let tensor = json!({ "dtype": dtype, "shape": layout.shape, "data_offsets": [0, bytes] });
    let mut json = json!({ name: tensor }).to_string().into_bytes();
    json.resize(json.len().next_multiple_of(8), b' ');
    let mut header = (json.len() as u64).to_le_bytes().to_vec();
    header.extend(json);
    header
}

fn safetensors_dtype(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "F64",
        Dtype::F32 => "F32",
        Dtype::F16 => "F16",
        Dtype::BF16 => "BF16",
        Dtype::F8E4M3FN => "F8_E4M3",
        Dtype::F8E5M2 => "F8_E5M2",
        Dtype::F8E8M0FNU => "F8_E8M0",
        Dtype::C64 => "C64",
        Dtype::I64 => "I64",
        Dtype::I32 => "I32",
        Dtype::I16 => "I16",
        Dtype::I8 => "I8",
        Dtype::U64 => "U64",
        Dtype::U32 => "U32",
        Dtype::U16 => "U16",
        Dtype::U8 => "U8",
        Dtype::Bool => "BOOL",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_header_of_npy_is_that_of_numpy() {
        // numpy.lib.format.write_array of numpy 2.3, of a float32 array of shape (2, 3).
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
        let header = Format::Npy.header("x", &Layout::contiguous(Dtype::F32, &[2, 3])).unwrap();
        assert_eq!(header[..10], *b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(header[10..], *format!("{text:<117}\n").as_bytes());
        for (shape, text) in [(&[][..], "()"), (&[7], "(7,)"), (&[0, 1], "(0, 1)")] {
            let header = Format::Npy.header("x", &Layout::contiguous(Dtype::U8, shape)).unwrap();
            let header = String::from_utf8_lossy(&header).into_owned();
            assert!(header.contains(&format!("'shape': {text}, }}")), "{header}");
        }
    }

    #[test]
    fn a_dtype_that_a_format_lacks_is_refused() {
        let refused = |format: Format, dtype| format.header("x", &Layout::contiguous(dtype, &[1])).is_err();
        for &dtype in Dtype::ALL {
            assert!(!refused(Format::Bin, dtype));
        }
        assert!(refused(Format::Npy, Dtype::BF16) && !refused(Format::Safetensors, Dtype::BF16));
        assert!(refused(Format::Safetensors, Dtype::QI8) && !refused(Format::Npy, Dtype::C128));
        let error = Format::Npy.header("x", &Layout::contiguous(Dtype::BF16, &[1])).unwrap_err();
        assert_eq!(error.to_string(), "npy has no bfloat16; write to a .bin file, which holds the bytes of any dtype");
    }

    proptest! {
        #[test]
        fn elements_start_aligned_whatever_the_shape(shape in prop::collection::vec(0u64..1_000_000, 0..9)) {
            let layout = Layout::contiguous(Dtype::BF16, &shape);
            let header = Format::Safetensors.header("$[\"ü\"]", &layout).unwrap();
            let (length, text) = header.split_first_chunk::<8>().unwrap();
            prop_assert_eq!(u64::from_le_bytes(*length), text.len() as u64);
            prop_assert_eq!(header.len() % 8, 0);
            let text: serde_json::Value = serde_json::from_slice(text).unwrap();
            prop_assert_eq!(&text["$[\"ü\"]"]["shape"], &json!(shape));

            let header = npy("<f8", &shape);
            prop_assert_eq!(header.len() % 64, 0);
            let length = u16::from_le_bytes([header[8], header[9]]);
            prop_assert_eq!(usize::from(length) + 10, header.len());
        }
    }
}
