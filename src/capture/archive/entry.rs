//! [`Entry`]: a record as the central directory has it.

use super::Method;

/// The bytes of a local header before its name.
pub(super) const LOCAL_BYTES: usize = 30;

/// Flag bit 3: sizes and CRC follow the payload, not in the local header.
pub(super) const DESCRIPTOR: u16 = 1 << 3;

/// A record as the central directory has it; its payload is not yet located.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: String,
    pub flags: u16,
    pub method: Method,
    pub crc: u32,
    pub compressed: u64,
    pub bytes: u64,
    pub header: u64,
    /// The offset of its header in the central directory.
    pub central: u64,
}
