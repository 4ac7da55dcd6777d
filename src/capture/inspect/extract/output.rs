//! [`Extraction`]: a tensor of a file, found and written to a file of its own.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::error::ExtractError;
use super::format::Format;
use crate::{Access, ItemValue, Layout, TensorRef, TensorView, TorchFile};
use plimsoll_memory::bytes::ByteSize;

/// The bytes that are written at once.
const CHUNK: usize = 1 << 20;

/// The size above which an expanded tensor is written only if the user asked for it.
const LARGE: ByteSize = ByteSize::gib(1);

/// A tensor of a file, to be written to a file of its own.
#[derive(Debug)]
pub struct Extraction {
    file: TorchFile,
    tensor: String,
    elements: TensorRef,
    expands: bool,
}

impl Extraction {
    /// Finds the tensor at the path `tensor`, such as `$["kwargs"]["weight"]`, of `file`.
    ///
    /// # Errors
    /// If there is no tensor at the path, or it has no elements of its own.
    pub fn find(file: TorchFile, tensor: &str) -> Result<Self, ExtractError> {
        let found = file.try_walk(&mut |item| match &item.value {
            ItemValue::Tensor(found) if item.path == tensor => {
                ControlFlow::Break((found.kind, found.elements.cloned()))
            }
            _ => ControlFlow::Continue(()),
        });
        let (path, name) = (file.path().to_owned(), tensor.to_owned());
        match found {
            ControlFlow::Break((_, Some(elements))) => Ok(Self { file, tensor: name, elements, expands: false }),
            ControlFlow::Break((kind, None)) => Err(ExtractError::NoElements { path, tensor: name, kind }),
            ControlFlow::Continue(()) => Err(ExtractError::NoTensor { path, tensor: name }),
        }
    }

    /// The layout of the tensor in its storage.
    pub fn layout(&self) -> &Layout {
        &self.elements.layout
    }

    /// Sets whether an expanded tensor that takes more than 1 GiB and more than its storage is written: a file of a few
    /// bytes can claim any size. By default it is not.
    pub fn expand(self, expands: bool) -> Self {
        Self { expands, ..self }
    }

    /// The bytes that its elements take when written out, with the bytes of the storage, if they are more than these.
    fn expanded(&self) -> Option<(ByteSize, ByteSize)> {
        let bytes = ByteSize::new(self.layout().logical_bytes().unwrap_or(u64::MAX));
        let stored = self.file.storages()[self.elements.storage].bytes();
        (bytes > stored).then_some((bytes, stored))
    }

    /// Writes the whole tensor to `out`, or nothing, and returns the size of the file. The extension of `out` selects
    /// the format. The CRC-32 of the tensor's storage is checked first.
    ///
    /// # Errors
    /// If the format is unknown or lacks the dtype, the storage is damaged, or the file cannot be written; also
    /// [`ExtractError::Expanded`].
    pub fn write(&self, out: &Path) -> Result<ByteSize, ExtractError> {
        if let Some((bytes, stored)) = self.expanded().filter(|(bytes, _)| *bytes > LARGE && !self.expands) {
            let (path, tensor) = (self.file.path().to_owned(), self.tensor.clone());
            return Err(ExtractError::Expanded { path, tensor, bytes, stored });
        }
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
        // If the file changed in the meantime, half of the bytes read are old and half new.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expanded_tensor_of_any_size_is_written_only_if_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        crate::synthesize::embedding(10, 10, 3, crate::Dtype::F32).write(&dir.path().join("a")).unwrap();
        let file = TorchFile::open(&dir.path().join("a/entry_000000.pt")).unwrap();
        let mut extraction = Extraction::find(file, r#"$["kwargs"]["weight"]"#).unwrap();
        let out = dir.path().join("out.bin");
        assert_eq!(extraction.write(&out).unwrap(), ByteSize::new(400));
        let mut expand = |count: u64| {
            let layout = &mut extraction.elements.layout;
            (layout.shape, layout.strides) = ([count].into(), [0].into());
            fs::remove_file(&out).unwrap();
            let written = extraction.write(&out);
            let made = out.exists();
            fs::write(&out, "").unwrap();
            (written, made)
        };
        assert!(matches!(expand(1 << 10), (Ok(bytes), true) if bytes == ByteSize::new(4096)));
        let (written, made) = expand(1 << 40);
        let error = written.unwrap_err();
        assert!(matches!(error, ExtractError::Expanded { .. }) && !made, "{error}");
        assert!(error.to_string().contains("4.00 TiB") && error.to_string().contains("--yes"), "{error}");
        assert!(!extraction.expands && extraction.expand(true).expands);
    }
}
