//! Scalars as Python's `repr` writes them, for keys in paths.

/// A float: the shortest digits that read back as it, with an exponent from 1e16 on and below 1e-4.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse().unwrap_or(0i32) {
        -4..16 => format!("{value:?}"),
        exponent => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()),
    }
}

/// A complex number: its parts without `.0`, the real one left out if it is zero.
pub(super) fn complex(re: f64, im: f64) -> String {
    let part = |value| float(value).trim_end_matches(".0").to_owned();
    if re.to_bits() == 0 {
        return format!("{}j", part(im));
    }
    let sign = if im.is_nan() || im.is_sign_positive() { "+" } else { "" };
    format!("({}{sign}{}j)", part(re), part(im))
}

/// A device, from its short form such as `cuda:1`.
pub(super) fn device(short: &str) -> String {
    match short.split_once(':') {
        Some((kind, index)) => format!("device(type='{kind}', index={index})"),
        None => format!("device(type='{short}')"),
    }
}

/// A text, in quotes that need no escape if possible.
pub(super) fn text(value: &str) -> String {
    let quote = quote(value.contains('\''), value.contains('"'));
    let mut out = String::from(quote);
    for c in value.chars() {
        match c {
            // Rust escapes both quotes, Python the one that it quotes with.
            '\'' | '"' if c != quote => out.push(c),
            // Python prints combining marks, which change the letter before them.
            '\u{300}'..='\u{36f}' => out.push(c),
            '\0' => out.push_str("\\x00"),
            c if (c as u32) < 0x20 && !matches!(c, '\t' | '\n' | '\r')
                || (0x7f..0xa1).contains(&(c as u32))
                || c == '\u{ad}' =>
            {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => match c.escape_debug().next() {
                Some('\\') if c as u32 > 0xffff => out.push_str(&format!("\\U{:08x}", c as u32)),
                Some('\\') if c as u32 > 0xff => out.push_str(&format!("\\u{:04x}", c as u32)),
                _ => out.extend(c.escape_debug()),
            },
        }
    }
    out.push(quote);
    out
}

/// Bytes, in quotes that need no escape if possible.
pub(super) fn bytes(value: &[u8]) -> String {
    let quote = quote(value.contains(&b'\''), value.contains(&b'"'));
    let mut out = format!("b{quote}");
    for &byte in value {
        match byte {
            b'\'' | b'"' if char::from(byte) != quote => out.push(byte.into()),
            _ => out.extend(byte.escape_ascii().map(char::from)),
        }
    }
    out.push(quote);
    out
}

fn quote(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.25e22, "1.25e+22"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn complex_numbers_and_devices_are_written_as_python_writes_them() {
        assert_eq!(complex(1.0, 2.0), "(1+2j)");
        assert_eq!(complex(0.0, -2.5), "-2.5j");
        assert_eq!(complex(-0.0, f64::NAN), "(-0+nanj)");
        assert_eq!(device("cuda:1"), "device(type='cuda', index=1)");
        assert_eq!(device("cpu"), "device(type='cpu')");
    }

    #[test]
    fn texts_and_bytes_choose_their_quotes_as_python_does() {
        assert_eq!(text("plain"), "'plain'");
        assert_eq!(text("it's"), "\"it's\"");
        assert_eq!(text("both ' and \""), "'both \\' and \"'");
        assert_eq!(text("\\ \n\t\x00\x1f\x7f\u{a0}é€😀\u{200b}"), "'\\\\ \\n\\t\\x00\\x1f\\x7f\\xa0é€😀\\u200b'");
        assert_eq!(bytes(b"\x00'\xff\n"), "b\"\\x00'\\xff\\n\"");
        assert_eq!(bytes(b"'\""), "b'\\'\"'");
    }
}
