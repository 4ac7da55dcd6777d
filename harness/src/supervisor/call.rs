//! Turns a job into the message of a call: tensors by storage, storages by path and offset.

use std::path::{Path, PathBuf};

use plimsoll::capture::{Argument, Fetched, StoragePlace};
use plimsoll::kernel::CapturedOutput;
use plimsoll::record::{Failure, FailureKind};
use plimsoll::run::Job;
use signal_hook::consts::SIGBUS;
use tempfile::TempPath;

use super::process::ARGUMENTS_FD;
use super::temporary::Held;
use super::untrusted::Copies;
use crate::protocol::{CallMessage, StorageRange};

/// The message of a job, and the files that must stay until the call is done.
pub struct CallBuilder {
    message: CallMessage,
    /// The arguments sent so far for a remote capture.
    _fetched: Fetched,
    /// Storages that are compressed in their file are unpacked for workers.
    _unpacked: Vec<Held<TempPath>>,
}

impl CallBuilder {
    /// The call of `job`, whose relative paths start from `folder`. A kernel that only `looks_up` rows of a table reads no other rows.
    ///
    /// # Errors
    /// A failure of kind `input` if a storage cannot be read, or not be unpacked.
    pub fn new(job: Job<'_>, copies: Option<&mut Copies>, folder: &Path, looks_up: bool) -> Result<Self, Failure> {
        let fetched = job.entry.fetch(job.bound, looks_up)?;
        if let Some(copies) = copies {
            return Self::copied(job, copies);
        }
        let mut unpacked = Vec::new();
        let mut storages = Vec::with_capacity(job.entry.storages().len());
        for (index, storage) in job.entry.storages().iter().enumerate() {
            let bytes = storage.bytes().bytes();
            storages.push(match storage.place() {
                StoragePlace::File { path, offset } => StorageRange { path: folder.join(path), offset: *offset, bytes },
                _ => {
                    let mapped = job.entry.map()?;
                    let file = Held::storage(mapped.storage(index)?).map_err(|e| {
                        input(format!(
                            "{}: storage {} cannot be unpacked: {e}",
                            job.entry.path().display(),
                            storage.key()
                        ))
                    })?;
                    let path = file.path().to_owned();
                    unpacked.push(file);
                    StorageRange { path, offset: 0, bytes }
                }
            });
        }
        let args = job.bound.args.clone();
        let outputs = CapturedOutput::all(job.entry.output());
        let message = CallMessage { params: job.bound.params.clone(), args, storages, outputs };
        Ok(Self { message, _fetched: fetched, _unpacked: unpacked })
    }

    /// A call whose arguments are copied for a worker that has no access to their files.
    fn copied(job: Job<'_>, copies: &mut Copies) -> Result<Self, Failure> {
        let mapped = job.entry.map()?;
        let path = PathBuf::from(format!("/proc/self/fd/{ARGUMENTS_FD}"));
        let mut used = vec![false; job.entry.storages().len()];
        for value in &job.bound.args {
            value.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf
                    && let Some(used) = used.get_mut(tensor.storage)
                {
                    *used = true;
                }
            });
        }
        let mut storages = Vec::with_capacity(used.len());
        for (index, used) in used.into_iter().enumerate() {
            // The kernel must not see data that only the output needs.
            let bytes = if used { mapped.storage(index)? } else { &[] };
            let offset = copies.add(bytes).map_err(|error| input(format!("arguments cannot be copied: {error}")))?;
            storages.push(StorageRange { path: path.clone(), offset, bytes: bytes.len() as u64 });
        }
        let outputs = CapturedOutput::all(job.entry.output());
        let message = CallMessage { params: job.bound.params.clone(), args: job.bound.args.clone(), storages, outputs };
        Ok(Self { message, _fetched: Fetched::default(), _unpacked: Vec::new() })
    }

    /// The message.
    pub fn message(&self) -> CallMessage {
        self.message.clone()
    }

    /// The names of the arguments.
    pub fn params(&self) -> &[String] {
        &self.message.params
    }

    /// Adds the cause to `failure` if an input shrank under the worker.
    pub fn explain(&self, failure: Failure) -> Failure {
        if failure.signal != Some(SIGBUS) {
            return failure;
        }
        let shrunk = self.message.storages.iter().find_map(|storage| {
            let size = std::fs::metadata(&storage.path).ok()?.len();
            (size < storage.offset + storage.bytes).then(|| {
                format!(
                    "{} shrank to {size} bytes while the worker read it (SIGBUS); capture it again",
                    storage.path.display()
                )
            })
        });
        match shrunk {
            Some(message) => Failure { kind: FailureKind::Input, message, ..failure },
            None => failure,
        }
    }
}

fn input(message: String) -> Failure {
    Failure::new(FailureKind::Input, message)
}
