//! Texts of pickles: UTF-8 with surrogates, and the escapes of protocol 0.

use std::borrow::Cow;

/// Whether `bytes` are UTF-8 in which surrogates are allowed (Python's `surrogatepass`).
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Err(error) = std::str::from_utf8(rest) {
        let at = error.valid_up_to();
        if !is_surrogate(&rest[at..]) {
            return false;
        }
        rest = &rest[at + 3..];
    }
    true
}

/// Whether `bytes` begin with the three bytes of a code point from U+D800 to U+DFFF.
fn is_surrogate(bytes: &[u8]) -> bool {
    matches!(bytes, [0xed, 0xa0..=0xbf, 0x80..=0xbf, ..])
}

/// `bytes`, which [`is_text`] has accepted, with one U+FFFD for each surrogate.
pub(super) fn without_surrogates(bytes: &[u8]) -> Cow<'_, str> {
    let mut text = match std::str::from_utf8(bytes) {
        Ok(text) => return Cow::Borrowed(text),
        Err(_) => String::with_capacity(bytes.len()),
    };
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(last) => {
                text.push_str(last);
                return Cow::Owned(text);
            }
            Err(error) => {
                let (valid, invalid) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push(char::REPLACEMENT_CHARACTER);
                rest = &invalid[if is_surrogate(invalid) { 3 } else { 1 }..];
            }
        }
    }
}

/// Appends the code point to `out` as UTF-8, with a surrogate as its three bytes.
fn push_code_point(out: &mut Vec<u8>, code: u32) -> Option<()> {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None if (0xd800..0xe000).contains(&code) => {
            out.extend_from_slice(&[0xed, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]);
        }
        None => return None,
    }
    Some(())
}

/// The number that the `digits` hexadecimal digits at `at` stand for.
fn hex(bytes: &[u8], at: usize, digits: usize) -> Option<u32> {
    let text = bytes.get(at..at + digits)?;
    text.iter().try_fold(0u32, |n, &b| Some(n << 4 | char::from(b).to_digit(16)?))
}

/// Decodes Python's `raw-unicode-escape`: Latin-1 with `\uXXXX` and `\UXXXXXXXX`. The result is at most twice as long.
pub(super) fn raw_unicode_escape(line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut at = 0;
    while at < line.len() {
        let digits = match line[at..] {
            [b'\\', b'u', ..] => 4,
            [b'\\', b'U', ..] => 8,
            // A backslash before a backslash does not make the second one an escape.
            [b'\\', b'\\', ..] => {
                out.extend_from_slice(b"\\\\");
                at += 2;
                continue;
            }
            [byte, ..] => {
                push_code_point(out, u32::from(byte))?;
                at += 1;
                continue;
            }
            [] => break,
        };
        push_code_point(out, hex(line, at + 2, digits)?)?;
        at += 2 + digits;
    }
    Some(())
}

/// Decodes a quoted Python string literal of bytes: `'it\'s \x00'`.
pub(super) fn quoted(line: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let line = line.trim_ascii_end();
    let inner = match line {
        [b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"'] => inner,
        _ => return None,
    };
    let mut at = 0;
    while at < inner.len() {
        let byte = inner[at];
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let escape = *inner.get(at)?;
        at += 1;
        match escape {
            b'\\' | b'\'' | b'"' => out.push(escape),
            b'a' => out.push(7),
            b'b' => out.push(8),
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'v' => out.push(11),
            b'f' => out.push(12),
            b'r' => out.push(b'\r'),
            b'x' => {
                out.push(hex(inner, at, 2)? as u8);
                at += 2;
            }
            b'0'..=b'7' => {
                let digits = inner[at - 1..].iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
                let octal = inner[at - 1..].iter().take(digits).fold(0u32, |n, &b| n << 3 | u32::from(b - b'0'));
                out.push(octal as u8);
                at += digits - 1;
            }
            other => out.extend_from_slice(&[b'\\', other]),
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(f: impl Fn(&[u8], &mut Vec<u8>) -> Option<()>, line: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        f(line, &mut out).map(|()| out)
    }

    #[test]
    fn surrogates_are_text_and_other_invalid_bytes_are_not() {
        assert!(is_text("grüß 🦀".as_bytes()));
        assert!(is_text(b"a\xed\xa0\x80b\xed\xbf\xbf"));
        assert_eq!(without_surrogates(b"a\xed\xa0\x80b\xed\xbf\xbf"), "a\u{fffd}b\u{fffd}");
        for bad in [&b"\xff"[..], b"\xc0\x80", b"\xed\xa0", b"ab\x80"] {
            assert!(!is_text(bad), "{bad:x?}");
        }
    }

    #[test]
    fn escapes_of_protocol_0_are_python_s() {
        assert_eq!(decode(raw_unicode_escape, b"a\\u20ac\\U0001f980\xe9\\n").unwrap(), "a€🦀é\\n".as_bytes());
        assert_eq!(decode(raw_unicode_escape, b"\\ud800").unwrap(), b"\xed\xa0\x80");
        assert_eq!(decode(raw_unicode_escape, b"\\u20a"), None);
        assert_eq!(decode(raw_unicode_escape, b"\\UFFFFFFFF"), None);
        assert_eq!(decode(quoted, b"'it\\'s \\x00\\n\\101\\q'").unwrap(), b"it's \0\nA\\q");
        for bad in [&b"'open"[..], b"bare", b"'\\'", b"'\\x0'"] {
            assert_eq!(decode(quoted, bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(line: Vec<u8>) {
            if let Some(text) = decode(raw_unicode_escape, &line) {
                prop_assert!(is_text(&text));
            }
            let _ = decode(quoted, &line);
            let _ = without_surrogates(&line);
        }
    }
}
