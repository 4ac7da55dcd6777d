//! Helpers of the fuzz targets: bytes as files, and reading a file completely.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use plimsoll::capture::{CaptureError, ItemValue, TensorItem, TorchFile};
use rustix::fs::{MemfdFlags, memfd_create};

/// Calls `read` with the path of an in-memory file with these bytes.
pub fn with_file<T>(bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let mut file = File::from(memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("memory for a file"));
    file.write_all(bytes).expect("memory for a file");
    read(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
}

/// An honest record, from its snapshot.
pub fn record() -> &'static str {
    include_str!("../../snapshots/record_document.snap").splitn(3, "---\n").nth(2).expect("a snapshot has a head")
}

/// Opens the file and reads every value, elements of every tensor and every byte of every storage.
pub fn read_whole(path: &Path) -> Result<(), CaptureError> {
    let file = TorchFile::open(path)?;
    let mapped = file.map()?;
    let mut out = vec![0; 4096];
    let mut failed = None;
    file.walk(&mut |item| {
        if let ItemValue::Tensor(TensorItem { elements: Some(elements), .. }) = &item.value {
            match mapped.view(elements) {
                Ok(view) => drop(view.read_into(0, &mut out)),
                Err(error) => failed = Some(error),
            }
        }
    });
    failed.map_or(Ok(()), Err)?;
    for index in 0..file.storages().len() {
        mapped.verify_storage(index)?;
        mapped.read_storage(index)?;
    }
    mapped.intact()
}

/// An archive of one pickle and two storages of 64 bytes, `0` and `1`, without CRCs.
pub fn archive(pickle: &[u8]) -> Vec<u8> {
    let storage = [7; 64];
    let records: [(&str, &[u8]); 4] =
        [("a/data.pkl", pickle), ("a/data/0", &storage), ("a/data/1", &storage), ("a/version", b"3\n")];
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in records {
        let header = out.len() as u32;
        let size = (content.len() as u32).to_le_bytes();
        let mut common = vec![0; 4];
        // There is no CRC, and the size is written twice: compressed and uncompressed.
        common.extend([[0; 4], [0; 4], size, size].concat());
        common.extend((name.len() as u16).to_le_bytes());
        out.extend(b"PK\x03\x04\0\0");
        out.extend(&common);
        out.extend([0; 2]);
        out.extend(name.as_bytes());
        out.extend(content);
        directory.extend(b"PK\x01\x02\0\0\0\0");
        directory.extend(common);
        directory.extend([0; 12]);
        directory.extend(header.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    out.extend([records.len() as u16, records.len() as u16].map(u16::to_le_bytes).concat());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_one_that_is_read() {
        with_file(&archive(b"\x80\x02]."), read_whole).unwrap();
        assert!(with_file(&archive(b"\x80\x02"), read_whole).is_err());
    }
}
