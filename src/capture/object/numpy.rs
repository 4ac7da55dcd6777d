//! NumPy's scalars, as their pickles construct them: `scalar(dtype, bytes)`.

use half::f16;

use super::super::pickle::{Document, Node, NodeId};

/// Whether `module` is the module with NumPy's constructors: `numpy.core` until 1.26, `numpy._core` since 2.0.
pub(super) fn is_multiarray(module: &str) -> bool {
    matches!(module, "numpy.core.multiarray" | "numpy._core.multiarray")
}

/// The number that a scalar holds.
pub(super) enum Scalar {
    Bool(bool),
    Int(i64),
    /// An integer beyond 64 bits with a sign.
    Unsigned(u64),
    Float(f64),
    Complex(f64, f64),
}

/// The number of a scalar with these bytes: a bool, an integer, a float or a complex number, of any width. Other
/// scalars (texts, dates, records, `longdouble`, whose width differs between machines) stay objects.
pub(super) fn scalar(document: &Document, dtype: NodeId, mut bytes: Vec<u8>) -> Option<Scalar> {
    let (code, big_endian) = plain_dtype(document, dtype)?;
    let width = bytes.len();
    let parts = if code.starts_with('c') { 2 } else { 1 };
    if code.get(1..)?.parse() != Ok(width) || width == 0 {
        return None;
    }
    if big_endian {
        bytes.chunks_exact_mut((width / parts).max(1)).for_each(<[u8]>::reverse);
    }
    Some(match (code.as_bytes()[0], bytes.as_slice()) {
        (b'b', &[byte @ (0 | 1)]) => Scalar::Bool(byte == 1),
        (b'i', little) => Scalar::Int(signed(little)?),
        (b'u', little) => {
            let value = unsigned(little)?;
            i64::try_from(value).map_or(Scalar::Unsigned(value), Scalar::Int)
        }
        (b'f', little) => Scalar::Float(float(little)?),
        (b'c', little) => {
            let (re, im) = little.split_at(little.len() / 2);
            Scalar::Complex(float(re)?, float(im)?)
        }
        _ => return None,
    })
}

/// The code of a dtype without fields (`f8`), and whether its numbers are big-endian.
fn plain_dtype(document: &Document, id: NodeId) -> Option<(String, bool)> {
    let Node::Object(object) = document.node(id) else { return None };
    match document.as_global(object.callable()) {
        Some((module, name)) if module == "numpy" && name == "dtype" => {}
        _ => return None,
    }
    let code = document.as_name(*document.as_tuple(object.args())?.first()?)?;
    // The state is (version, byte order, subdtype, names, fields, ..).
    let order = object.state().and_then(|state| document.as_name(*document.as_tuple(state)?.get(1)?));
    (code.is_ascii() && code.len() > 1).then(|| (code.into_owned(), order.as_deref() == Some(">")))
}

fn signed(little: &[u8]) -> Option<i64> {
    let value = unsigned(little)?;
    let unused = 64 - 8 * little.len() as u32;
    Some(((value << unused) as i64) >> unused)
}

fn unsigned(little: &[u8]) -> Option<u64> {
    matches!(little.len(), 1 | 2 | 4 | 8)
        .then(|| little.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

fn float(little: &[u8]) -> Option<f64> {
    match little.len() {
        2 => Some(f64::from(f16::from_le_bytes(little.try_into().ok()?))),
        4 => Some(f64::from(f32::from_le_bytes(little.try_into().ok()?))),
        8 => Some(f64::from_le_bytes(little.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width() {
        assert_eq!(signed(&[0xf9, 0xff]), Some(-7));
        assert_eq!(signed(&i64::MIN.to_le_bytes()), Some(i64::MIN));
        assert_eq!(unsigned(&[0xff; 8]), Some(u64::MAX));
        assert_eq!((unsigned(&[]), unsigned(&[1, 2, 3])), (None, None));
        assert_eq!(float(&f16::from_f32(0.5).to_le_bytes()), Some(0.5));
        assert_eq!(float(&(-2.5f32).to_le_bytes()), Some(-2.5));
        assert_eq!(float(&[0; 16]), None);
    }
}
