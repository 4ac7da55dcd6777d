//! [`Extraction`]: a tensor of a file, found, and written.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::ExtractError;
use super::header::Format;
use crate::{Access, ItemValue, Layout, TensorRef, TensorView, TorchFile};
use plimsoll_memory::bytes::ByteSize;

/// The bytes that are written at a time.
const CHUNK: usize = 1 << 20;

/// A tensor of a file, to be written to a file of its own.
#[derive(Debug)]
pub struct Extraction {
    file: TorchFile,
    tensor: String,
    elements: TensorRef,
}

impl Extraction {
    /// Finds the tensor at the path `tensor`, such as `$["kwargs"]["weight"]`, of `file`.
    ///
    /// # Errors
    /// Where there is no tensor at the path, or it has no elements of its own.
    pub fn find(file: TorchFile, tensor: &str) -> Result<Self, ExtractError> {
        let found = file.try_walk(&mut |item| match &item.value {
            ItemValue::Tensor(found) if item.path == tensor => {
                ControlFlow::Break((found.kind, found.elements.cloned()))
            }
            _ => ControlFlow::Continue(()),
        });
        let (path, name) = (file.path().to_owned(), tensor.to_owned());
        match found {
            ControlFlow::Break((_, Some(elements))) => Ok(Self { file, tensor: name, elements }),
            ControlFlow::Break((kind, None)) => Err(ExtractError::NoElements { path, tensor: name, kind }),
            ControlFlow::Continue(()) => Err(ExtractError::NoTensor { path, tensor: name }),
        }
    }

    /// How the tensor lies in its storage.
    pub fn layout(&self) -> &Layout {
        &self.elements.layout
    }

    /// Writes the tensor to `out`, whose extension tells the format: whole, or not at all. The CRC-32 of its storage is
    /// checked before. Gives the size of the file.
    ///
    /// # Errors
    /// Where the format is unknown or lacks the dtype, the storage is damaged, or the file cannot be written.
    pub fn write(&self, out: &Path) -> Result<ByteSize, ExtractError> {
        let header = Format::of(out)?.header(&self.tensor, self.layout())?;
        let map = self.file.map()?;
        map.advise(Access::Sequential);
        map.verify_storage(self.elements.storage)?;
        let bytes = map.read_storage(self.elements.storage)?;
        let view = TensorView::new(self.layout(), &bytes).expect("layouts are checked when a file is opened");
        let failed = |source| ExtractError::Write { path: out.to_owned(), source };
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut beside = tempfile::Builder::new()
            .prefix(".plimsoll-tensor-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(failed)?;
        let mut writer = BufWriter::with_capacity(CHUNK, beside.as_file_mut());
        let written =
            writer.write_all(&header).and_then(|()| elements(&view, &mut writer)).and_then(|()| writer.flush());
        drop(writer);
        written.and_then(|()| beside.as_file().sync_all()).map_err(failed)?;
        // A file that changed meanwhile was read half old, half new.
        map.intact()?;
        beside.persist(out).map_err(|error| failed(error.error))?;
        fs::metadata(out).map(|metadata| ByteSize::new(metadata.len())).map_err(failed)
    }
}

fn elements(view: &TensorView<'_>, writer: &mut impl Write) -> io::Result<()> {
    let size = view.dtype().size();
    let mut buffer = vec![0; (view.numel() * size).min(CHUNK as u64) as usize];
    let mut at = 0;
    while at < view.numel() {
        let read = view.read_into(at, &mut buffer);
        writer.write_all(&buffer[..read])?;
        at += read as u64 / size;
    }
    Ok(())
}
