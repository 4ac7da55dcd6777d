//! Entries to be written to a file: [`EntryValue`], [`write_entry`].

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::archive::Archive;
use super::chunks::{Storage, write_storages};
use super::error::WriteError;
use super::pickle::{Pickled, Refusal, pickle};
use super::serialization_id::serialization_id;
use super::source::{Options, Source};
use crate::{Argument, Signature};
use plimsoll_memory::ByteSize;

/// An entry to be written: one captured call. Its tensors refer to storages by index; the bytes come from [`Source`]s.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryValue {
    /// The operator, such as `torch.nn.functional.embedding`.
    pub function_name: String,
    /// The positional arguments; a hook that knows the signature leaves them empty.
    pub args: Vec<Argument>,
    /// The arguments by name.
    pub kwargs: Vec<(String, Argument)>,
    /// The value that the call returned.
    pub output: Argument,
    /// The operator's parameters, if the hook could read them.
    pub signature: Option<Signature>,
}

impl EntryValue {
    /// The dictionary that the file holds, with its keys in the order in which profiling hooks write them.
    pub fn to_argument(&self) -> Argument {
        let text = |s: &str| Argument::Str(s.to_owned());
        let named = |items: &[(String, Argument)]| {
            Argument::Dict(items.iter().map(|(name, value)| (text(name), value.clone())).collect())
        };
        let mut items = vec![
            (text("function_name"), text(&self.function_name)),
            (text("args"), Argument::List(self.args.clone())),
            (text("kwargs"), named(&self.kwargs)),
            (text("output"), self.output.clone()),
        ];
        if let Some(signature) = &self.signature {
            let params = Argument::List(signature.params.iter().map(|name| text(name)).collect());
            let fields = vec![(text("params"), params), (text("defaults"), named(&signature.defaults))];
            items.push((text("signature"), Argument::Dict(fields)));
        }
        Argument::Dict(items)
    }
}

/// The exact size of the file that [`write_entry`] would write at `path` for storages of these lengths.
///
/// # Errors
/// [`WriteError`] if the value cannot be written; nothing on the disk is touched.
pub fn entry_size(path: &Path, value: &EntryValue, storages: &[ByteSize]) -> Result<ByteSize, WriteError> {
    let (_, archive) = lay_out(path, value, storages)?;
    Ok(ByteSize::new(archive.file_size()))
}

/// Writes `value`, whose storage `i` has the bytes of `storages[i]`, to `path`, and returns the size of the file. An
/// older file of that name is replaced in one step.
///
/// # Errors
/// [`WriteError`]; a file that was there before is then unchanged, and nothing else is left.
pub fn write_entry(
    path: &Path,
    value: &EntryValue,
    storages: &[Source<'_>],
    options: &Options<'_>,
) -> Result<ByteSize, WriteError> {
    let lengths: Vec<ByteSize> = storages.iter().map(Source::bytes).collect();
    let (pickled, archive) = lay_out(path, value, &lengths)?;
    let size = ByteSize::new(archive.file_size());
    let failed = |doing: &'static str| {
        move |source: io::Error| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                WriteError::DiskFull { path: path.to_owned(), bytes: size }
            }
            _ => WriteError::Io { path: path.to_owned(), doing, source },
        }
    };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(&format!(".{}.plimsoll-", path.file_name().unwrap_or_default().to_string_lossy()))
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(failed("creating a temporary file beside it"))?;
    reserve(file.as_file(), size).map_err(failed("reserving space"))?;
    write_archive(file.as_file(), path, &archive, &pickled, storages, options, failed("writing"))?;
    file.persist(path).map_err(|e| failed("renaming the temporary file")(e.error))?;
    Ok(size)
}

/// The records before the storages, except `data.pkl`.
const HEAD: [(&str, &[u8]); 3] = [(".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", b"little")];
/// The records after the storages, except the serialization id.
const VERSION: (&str, &[u8]) = ("version", b"3\n");
const ID: &str = ".data/serialization_id";
const ID_BYTES: u64 = 40;
/// The index of `data/0` among the records.
const FIRST_STORAGE: usize = 1 + HEAD.len();

fn lay_out(path: &Path, value: &EntryValue, storages: &[ByteSize]) -> Result<(Pickled, Archive), WriteError> {
    let folder = folder_name(path).ok_or_else(|| WriteError::FileName { path: path.to_owned() })?;
    let lengths: Vec<u64> = storages.iter().map(|s| s.bytes()).collect();
    let pickled = pickle(&value.to_argument(), &lengths).map_err(|refusal| match refusal {
        Refusal::Value { at, why } => WriteError::Value { path: path.to_owned(), at, why },
        Refusal::Outside { at, source } => WriteError::Outside { path: path.to_owned(), at, source },
        Refusal::Unreferenced { storage } => WriteError::Unreferenced { path: path.to_owned(), storage },
    })?;
    let data = pickled.storages.iter().enumerate().map(|(key, &index)| (format!("data/{key}"), lengths[index]));
    let fixed = |(name, bytes): (&str, &[u8])| (name.to_owned(), bytes.len() as u64);
    let records = [("data.pkl".to_owned(), pickled.bytes.len() as u64)]
        .into_iter()
        .chain(HEAD.map(fixed))
        .chain(data)
        .chain([fixed(VERSION), (ID.to_owned(), ID_BYTES)]);
    let archive = Archive::of(folder, records);
    // Linux counts file offsets in 63 bits.
    if i64::try_from(archive.file_size()).is_err() {
        let why = "its storages exceed the size of any file".to_owned();
        return Err(WriteError::Value { path: path.to_owned(), at: "the entry".to_owned(), why });
    }
    Ok((pickled, archive))
}

/// The archive's folder: the file's name without its last extension, or `archive` if that is not ASCII.
fn folder_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match stem {
        "" => None,
        stem if name.is_ascii() => Some(stem),
        _ => Some("archive"),
    }
}

/// Reserves the space of the whole file, so that a full disk is found before anything is written; writing is also
/// faster. Not every file system can do this, and none has to.
fn reserve(file: &File, size: ByteSize) -> io::Result<()> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size.bytes()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn write_archive(
    file: &File,
    path: &Path,
    archive: &Archive,
    pickled: &Pickled,
    storages: &[Source<'_>],
    options: &Options<'_>,
    failed: impl Fn(io::Error) -> WriteError + Copy + Send + Sync,
) -> Result<(), WriteError> {
    let records = archive.records();
    // Everything between payloads is written with the record that it belongs to.
    let write_small = |index: usize, payload: &[u8]| -> Result<u32, WriteError> {
        let (record, crc) = (&records[index], crc32fast::hash(payload));
        let mut bytes = archive.local_header(record);
        bytes.extend(payload);
        bytes.extend(record.descriptor(crc));
        file.write_all_at(&bytes, record.header).map_err(failed)?;
        (options.progress)(ByteSize::new(bytes.len() as u64));
        Ok(crc)
    };
    let mut crcs = vec![write_small(0, &pickled.bytes)?];
    for (i, (_, payload)) in HEAD.iter().enumerate() {
        crcs.push(write_small(1 + i, payload)?);
    }
    let jobs: Vec<Storage<'_>> = pickled
        .storages
        .iter()
        .zip(&records[FIRST_STORAGE..])
        .map(|(&index, record)| Storage { index, source: storages[index], data: record.data })
        .collect();
    let storage_crcs = write_storages(file, path, &jobs, options, failed)?;
    for (record, crc) in records[FIRST_STORAGE..].iter().zip(&storage_crcs) {
        let (header, descriptor) = (archive.local_header(record), record.descriptor(*crc));
        file.write_all_at(&header, record.header).map_err(failed)?;
        file.write_all_at(&descriptor, record.data + record.bytes).map_err(failed)?;
        (options.progress)(ByteSize::new((header.len() + descriptor.len()) as u64));
    }
    crcs.extend(storage_crcs);
    crcs.push(write_small(crcs.len(), VERSION.1)?);
    let written = records.iter().zip(&crcs).map(|(r, &crc)| (r.name.as_str(), (r.bytes > 0).then_some(crc)));
    let id = serialization_id(written);
    crcs.push(write_small(crcs.len(), id.as_bytes())?);
    let directory = archive.directory_bytes(&crcs);
    file.write_all_at(&directory, archive.file_size() - directory.len() as u64).map_err(failed)?;
    (options.progress)(ByteSize::new(directory.len() as u64));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, Dtype, Entry, Layout, TensorRef};

    /// A file with a hole in place of its first storage, whose last bytes are `end`.
    fn write_with_a_hole(path: &Path, value: &EntryValue, hole: u64, end: &[u8], small: &[u8]) {
        let lengths = [ByteSize::new(hole), ByteSize::new(small.len() as u64)];
        let (pickled, archive) = lay_out(path, value, &lengths).unwrap();
        let id = [b'0'; ID_BYTES as usize];
        let mut payloads: Vec<&[u8]> = vec![&pickled.bytes];
        payloads.extend(HEAD.iter().map(|(_, bytes)| *bytes));
        payloads.extend([end, small, VERSION.1, &id]);
        let mut zeros = crc32fast::Hasher::new();
        let zero = vec![0; 1 << 20];
        let mut whole = crc32fast::Hasher::new();
        whole.update(&zero);
        let rest = hole - end.len() as u64;
        (0..rest >> 20).for_each(|_| zeros.combine(&whole));
        zeros.update(&zero[..(rest & ((1 << 20) - 1)) as usize]);
        zeros.update(end);

        let file = File::create(path).unwrap();
        file.set_len(archive.file_size()).unwrap();
        let mut crcs = Vec::new();
        for (record, payload) in archive.records().iter().zip(payloads) {
            let crc = if record.bytes == hole { zeros.clone().finalize() } else { crc32fast::hash(payload) };
            let after = record.data + record.bytes;
            file.write_all_at(&archive.local_header(record), record.header).unwrap();
            file.write_all_at(payload, after - payload.len() as u64).unwrap();
            file.write_all_at(&record.descriptor(crc), after).unwrap();
            crcs.push(crc);
        }
        let directory = archive.directory_bytes(&crcs);
        file.write_all_at(&directory, archive.file_size() - directory.len() as u64).unwrap();
    }

    #[test]
    fn a_tensor_beyond_4_gib_and_the_small_one_behind_it_read_right() {
        const BIG: u64 = 4_300_000_000;
        let tensor = |dtype, length, storage| {
            Argument::Tensor(TensorRef { layout: Layout::contiguous(dtype, &[length]), storage })
        };
        let output = Argument::List(vec![tensor(Dtype::U8, BIG, 0), tensor(Dtype::I32, 3, 1)]);
        let (args, kwargs) = (Vec::new(), Vec::new());
        let value = EntryValue { function_name: "f".to_owned(), args, kwargs, output, signature: None };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("entry_000000.pt");
        let small = [1u32, 2, 3].map(u32::to_le_bytes).concat();
        write_with_a_hole(&path, &value, BIG, b"the end", &small);

        let entry = Entry::open(&path).unwrap();
        assert_eq!(entry.output(), &value.output);
        let mapped = entry.map().unwrap();
        let big = mapped.storage(0).unwrap();
        assert_eq!((big.len() as u64, big[0], &big[big.len() - 8..]), (BIG, 0, &b"\0the end"[..]));
        assert_eq!(mapped.storage(1).unwrap(), small);
        assert_eq!(entry.identity(Digest::Skeleton).unwrap().covers, Digest::Skeleton);
        assert_eq!(entry.residency().outputs, ByteSize::new(BIG + 12));
    }
}
