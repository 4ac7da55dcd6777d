//! [`Kernel`]: code that can be launched on a call, in this process.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::error::KernelError;
use super::output::OutputBuffer;
use crate::{TensorSpec, open_regular};

/// The identity of the kernel that ran: a part of what a benchmark measures.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct KernelIdentity {
    /// The kernel as the user names it, without folders: `builtin:embedding`, `py:kernel.py:launch`.
    pub name: String,
    /// The BLAKE3 of the kernel's source or binary, in hexadecimal; absent for a kernel that is a part of Plimsoll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The BLAKE3 of each other file that the kernel is made of (modules, headers and sources that it is built from,
    /// libraries that it links), by its path from the kernel's folder or, if it is elsewhere, its file name. Absent for
    /// a kernel of one file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl KernelIdentity {
    /// Makes the identity of a kernel of one file with this digest, or, without one, of a kernel whose version is a
    /// part of the environment.
    pub fn new(name: impl Into<String>, digest: Option<String>) -> Self {
        Self { name: name.into(), digest, sources: BTreeMap::new() }
    }

    /// Adds `files` that the kernel is made of: paths and digests, distinguished by a number if names are equal.
    pub fn with_sources<'a>(mut self, folder: &Path, files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Self {
        let named = |(path, digest): (&'a Path, &'a str)| {
            let name = path.strip_prefix(folder).ok().or(path.file_name().map(Path::new)).unwrap_or(path);
            (name.to_string_lossy().into_owned(), digest.to_owned())
        };
        // Files in other places, or found by two paths, are the same kernel.
        let files: BTreeSet<(String, String)> = files.into_iter().map(named).collect();
        self.sources.clear();
        for (name, digest) in files {
            let more = (2..).map(|number| format!("{name} ({number})"));
            let mut names = std::iter::once(name.clone()).chain(more);
            let free = names.find(|name| !self.sources.contains_key(name)).expect("numbers do not end");
            self.sources.insert(free, digest);
        }
        self
    }
}

/// The BLAKE3 of a kernel's file, in hexadecimal.
///
/// # Errors
/// The system's error if the file cannot be read; also if it is a pipe or a device, which might never end.
pub fn file_digest(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(open_regular(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// A launch that is ready: its arguments are bound, and it may be repeated.
pub type Launch<'a> = Box<dyn FnMut() -> Result<(), KernelError> + 'a>;

/// A kernel that runs in this process. Implementations must check their arguments, because these come from files.
pub trait Kernel {
    /// The name and digest for the record.
    fn identity(&self) -> KernelIdentity;

    /// Whether the kernel reads no more of a table than the rows that a call looks up, so that no others are fetched
    /// for it.
    fn looks_up(&self) -> bool {
        false
    }

    /// The dtype and shape of each output for `call`, without computing them.
    ///
    /// # Errors
    /// [`KernelError`] if the kernel does not take these arguments.
    fn outputs(&self, call: &Call<'_>) -> Result<Vec<TensorSpec>, KernelError>;

    /// Computes the outputs of `call` into `outputs`, one buffer for each spec of [`Kernel::outputs`], in its order.
    /// Every element is written.
    ///
    /// # Errors
    /// [`KernelError`] if the kernel does not take these arguments or buffers; the content of the buffers is then
    /// unspecified.
    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError>;

    /// Prepares a launch of `call` into `outputs` that can be repeated and timed: a kernel that needs its arguments in
    /// another form converts them here, once.
    ///
    /// # Errors
    /// [`KernelError`] if the kernel does not take these arguments or buffers.
    fn bind<'a>(&'a self, call: &'a Call<'_>, outputs: &'a mut [OutputBuffer<'_>]) -> Result<Launch<'a>, KernelError> {
        Ok(Box::new(move || self.launch(call, outputs)))
    }
}

/// A kernel that is only known at run time, such as one that [`KernelSpec::load`](super::KernelSpec::load) returns.
impl<K: Kernel + ?Sized> Kernel for Box<K> {
    fn identity(&self) -> KernelIdentity {
        (**self).identity()
    }

    fn looks_up(&self) -> bool {
        (**self).looks_up()
    }

    fn outputs(&self, call: &Call<'_>) -> Result<Vec<TensorSpec>, KernelError> {
        (**self).outputs(call)
    }

    fn launch(&self, call: &Call<'_>, outputs: &mut [OutputBuffer<'_>]) -> Result<(), KernelError> {
        (**self).launch(call, outputs)
    }

    fn bind<'a>(&'a self, call: &'a Call<'_>, outputs: &'a mut [OutputBuffer<'_>]) -> Result<Launch<'a>, KernelError> {
        (**self).bind(call, outputs)
    }
}
