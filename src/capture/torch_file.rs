//! What is inside a file of torch.save, whatever its format.

use super::content::Content;
use super::error::CaptureError;
use super::pickle::PickleBytes;
use super::source::SourceFile;
use super::{legacy, tar, zipped};

impl Content {
    /// Reads the headers and the pickle of `source`.
    pub(super) fn read(source: &SourceFile) -> Result<Self, CaptureError> {
        let mut magic = [0; 4];
        if source.size() >= 4 {
            source.read_exact_at(0, &mut magic)?;
        }
        let content = match &magic {
            b"PK\x03\x04" => zipped::read(source)?,
            _ if tar::is_tar(source)? => tar::read(source)?,
            _ => legacy::read(source)?,
        };
        if let PickleBytes::Mapped(map) = content.document.source() {
            map.intact()?;
        }
        Ok(content)
    }
}
