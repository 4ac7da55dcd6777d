//! Amounts identified by the words around them, for wordings whose pattern does not capture numbers.

use super::super::findings::Numbers;
use super::super::sighting::Cause;
use super::{Pattern, regex, size};
use plimsoll_memory::bytes::ByteSize;

/// Adds the requested and the allowed amount in `text`, the rest of a message, to `numbers` if neither is known.
pub(super) fn fill(numbers: &mut Numbers, cause: &Cause, text: &str) {
    let amount = |regex: &Pattern| {
        let found = regex.captures(text)?;
        size::bytes(found.name("amount").or_else(|| found.name("of"))?.as_str())
    };
    if matches!(cause, Cause::Device | Cause::Library | Cause::HostAlloc) && numbers.tried.is_none() {
        numbers.tried = amount(regex!(
            r"(?i)\b(?:requested|request(?: for| of| size)?|requesting|required?|requires|needs?|needed|wanted|(?:tried|trying|attempt(?:ed|ing)?|unable|failed|failing|failure|cannot|can't|could not) (?:to )?(?:re)?(?:alloc(?:ate)?|reserve|map|commit|obtain|get)(?: (?:an?|another|additional))?(?: \w+){0,3}?|(?:blocks?|buffers?|chunk|region|allocation|segment|array|tensor|arena) (?:of|with|for)(?: (?:size|length))?|allocat(?:e|ing|ion of)|[mc]alloc(?: of)?|realloc(?: of)?|VirtualAlloc of|mmap of|size)[ :=(]{1,3}\[?(?P<amount>[\d.]+ ?[KMGT]i?B\b|[\d,]{4,} ?(?:bytes?|B)\b)|(?P<of>[\d.]+ ?[KMGT]i?B\b|[\d,]{4,} ?(?:bytes?|B)\b)\)? (?:were |was |is |are )?(?:requested|needed|required|could not be allocated)\b"
        ));
    }
    if matches!(cause, Cause::Limit | Cause::HostAlloc | Cause::Library) && numbers.allowed.is_none() {
        numbers.allowed = amount(regex!(
            r"(?i)\b(?:(?:memory |heap |pool )?(?:limit|quota|maximum|budget)(?: exceeded)?(?: size)?(?: of| is| set to)?|at most|max(?:imum)? (?:memory|heap|size|pool size))[ :=(\[]{1,3}(?P<amount>[\d.]+ ?[KMGT]i?B?\b|[\d,]{6,}(?: ?bytes| ?B\b)?)|/(?P<of>[\d.]+ ?[KMGT]i?B) used\b"
        ));
    }
}

/// What is free in an allocator that owns the whole memory of a device: if it is more than was asked for, it is in pieces.
pub(super) fn free_in_a_pool(numbers: &mut Numbers, free: Option<ByteSize>) {
    numbers.free = free;
    numbers.unallocated = free.filter(|free| numbers.tried.is_some_and(|tried| *free >= tried));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_stand_behind_their_words() {
        let gib = |bytes: Option<plimsoll_memory::bytes::ByteSize>| {
            bytes.map(|bytes| bytes.bytes() as f64 / (1u64 << 30) as f64)
        };
        for (text, cause, tried, allowed) in [
            (
                "could not allocate block of size 512.0 MiB (12.5 GiB/12.5 GiB used)",
                Cause::HostAlloc,
                Some(0.5),
                Some(12.5),
            ),
            ("VirtualAlloc of 1073741824 bytes failed", Cause::HostAlloc, Some(1.0), None),
            ("Failed to allocate request for 2.00GiB (2147483648B)", Cause::Device, Some(2.0), None),
            ("Memory limit exceeded (16Gi)", Cause::Limit, None, Some(16.0)),
            ("the job was killed after 12 GB of downloads", Cause::Limit, None, None),
        ] {
            let mut numbers = Numbers::default();
            fill(&mut numbers, &cause, text);
            assert_eq!((gib(numbers.tried), gib(numbers.allowed)), (tried, allowed), "{text}");
        }
    }
}
