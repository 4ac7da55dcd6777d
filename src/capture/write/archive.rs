//! The place of every record of an entry, and the headers of the zip archive around them.
//!
//! The layout depends on sizes alone: [`Archive::of`] places the records, and CRC-32s are written only in the data
//! descriptors and the central directory, which follow the payloads.

/// The alignment of records' bytes, torch's default.
const ALIGNMENT: u64 = 64;
/// The limit from which sizes and offsets are written as zip64 fields.
const ZIP64: u64 = u32::MAX as u64;
/// UTF-8 names, and CRC-32 and sizes in a data descriptor after the payload.
const FLAGS: u16 = 0x0808;
/// The flags of an empty record, which has no data descriptor.
const FLAGS_EMPTY: u16 = 0x0800;

/// One record of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The name below the archive's folder, such as `data/0`.
    pub name: String,
    /// The length of the payload.
    pub bytes: u64,
    /// The offset at which the local header starts.
    pub header: u64,
    /// The offset at which the payload starts.
    pub data: u64,
}

impl Record {
    /// The zip64 extra field, empty if nothing needs it. miniz writes the two sizes only together, the compressed one
    /// as 0 in the local header, and the header's offset only if it exceeds 32 bits.
    fn zip64(&self, compressed: u64) -> Vec<u8> {
        let mut body = Vec::new();
        if self.bytes >= ZIP64 {
            body.extend(self.bytes.to_le_bytes());
            body.extend(compressed.to_le_bytes());
        }
        if self.header >= ZIP64 {
            body.extend(self.header.to_le_bytes());
        }
        if body.is_empty() {
            return body;
        }
        let mut field = vec![1, 0];
        field.extend((body.len() as u16).to_le_bytes());
        field.extend(body);
        field
    }

    fn flags(&self) -> u16 {
        if self.bytes == 0 { FLAGS_EMPTY } else { FLAGS }
    }

    /// The data descriptor that follows the payload: 16 bytes, 24 for a zip64 record, none for an empty one.
    pub fn descriptor(&self, crc: u32) -> Vec<u8> {
        let mut out = Vec::new();
        if self.bytes > 0 {
            out.extend(b"PK\x07\x08");
            out.extend(crc.to_le_bytes());
            for _ in ["compressed", "uncompressed"] {
                if self.is_zip64() {
                    out.extend(self.bytes.to_le_bytes());
                } else {
                    out.extend((self.bytes as u32).to_le_bytes());
                }
            }
        }
        out
    }

    fn is_zip64(&self) -> bool {
        self.bytes >= ZIP64 || self.header >= ZIP64
    }

    /// The offset at which the next record's header, or the central directory, starts. The sum saturates, and is then
    /// refused.
    pub fn end(&self) -> u64 {
        let descriptor = if self.bytes == 0 {
            0
        } else if self.is_zip64() {
            24
        } else {
            16
        };
        self.data.saturating_add(self.bytes).saturating_add(descriptor)
    }
}

/// The records of one file under their common folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Archive {
    folder: String,
    records: Vec<Record>,
}

impl Archive {
    /// Lays out records of these names and sizes one after another.
    pub fn of(folder: &str, records: impl IntoIterator<Item = (String, u64)>) -> Self {
        let mut at = 0;
        let records = records.into_iter().map(|(name, bytes)| {
            let mut record = Record { name, bytes, header: at, data: 0 };
            let unpadded = at
                .saturating_add(30 + folder.len() as u64 + 1 + record.name.len() as u64)
                .saturating_add(record.zip64(0).len() as u64 + 4);
            record.data = unpadded.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
            at = record.end();
            record
        });
        let records = records.collect();
        Self { folder: folder.to_owned(), records }
    }

    /// The records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The offset at which the central directory starts.
    fn directory(&self) -> u64 {
        self.records.last().map_or(0, Record::end)
    }

    /// The size of the whole file.
    pub fn file_size(&self) -> u64 {
        let entry = |r: &Record| 46 + self.full_name_len(r) + r.zip64(r.bytes).len() as u64;
        self.directory().saturating_add(self.records.iter().map(entry).sum::<u64>() + 56 + 20 + 22)
    }

    fn full_name_len(&self, record: &Record) -> u64 {
        (self.folder.len() + 1 + record.name.len()) as u64
    }

    /// The local header of a record, its extra fields and padding included: the bytes from `header` to `data`.
    pub fn local_header(&self, record: &Record) -> Vec<u8> {
        let zip64 = record.zip64(0);
        let fixed = 30 + self.full_name_len(record) + zip64.len() as u64 + 4;
        let padding = (record.data - record.header - fixed) as u16;
        let mut out = Vec::new();
        out.extend(b"PK\x03\x04");
        out.extend([0; 2]);
        out.extend(record.flags().to_le_bytes());
        // Method 0 (stored), no time, and CRC-32 and sizes left to the descriptor.
        out.extend([0; 18]);
        out.extend((self.full_name_len(record) as u16).to_le_bytes());
        out.extend((zip64.len() as u16 + 4 + padding).to_le_bytes());
        self.push_name(&mut out, record);
        out.extend(zip64);
        out.extend(b"FB");
        out.extend(padding.to_le_bytes());
        out.resize(out.len() + usize::from(padding), b'Z');
        out
    }

    fn push_name(&self, out: &mut Vec<u8>, record: &Record) {
        out.extend(self.folder.as_bytes());
        out.push(b'/');
        out.extend(record.name.as_bytes());
    }

    /// The central directory and the end records, given the CRC-32 of every record.
    pub fn directory_bytes(&self, crcs: &[u32]) -> Vec<u8> {
        let low = |n: u64| (n.min(ZIP64) as u32).to_le_bytes();
        let mut out = Vec::new();
        for (record, crc) in self.records.iter().zip(crcs) {
            let zip64 = record.zip64(record.bytes);
            out.extend(b"PK\x01\x02");
            out.extend([0; 4]);
            out.extend(record.flags().to_le_bytes());
            out.extend([0; 6]);
            out.extend(crc.to_le_bytes());
            out.extend(low(record.bytes));
            out.extend(low(record.bytes));
            out.extend((self.full_name_len(record) as u16).to_le_bytes());
            out.extend((zip64.len() as u16).to_le_bytes());
            // No comment, disk 0, no attributes.
            out.extend([0; 10]);
            out.extend(low(record.header));
            self.push_name(&mut out, record);
            out.extend(zip64);
        }
        let (start, length, count) = (self.directory(), out.len() as u64, self.records.len() as u64);
        out.extend(b"PK\x06\x06");
        out.extend(44u64.to_le_bytes());
        out.extend([0x1e, 3, 45, 0]);
        out.extend([0; 8]);
        for value in [count, count, length, start] {
            out.extend(value.to_le_bytes());
        }
        out.extend(b"PK\x06\x07");
        out.extend([0; 4]);
        out.extend((start + length).to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(b"PK\x05\x06");
        out.extend([0; 4]);
        let count = (count.min(u64::from(u16::MAX)) as u16).to_le_bytes();
        out.extend(count);
        out.extend(count);
        out.extend(low(length));
        out.extend(low(start));
        out.extend([0; 2]);
        out
    }
}
