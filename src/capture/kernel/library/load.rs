//! Loading of a library, with what it needs.

use std::ffi::OsStr;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::RUNTIME_VARIABLE;
use super::abi::SafeCall;
use super::error::LibraryError;
use super::file::{LibraryFile, PREFIX, RUNTIME};
use super::runtime::Runtime;

/// Loads the library `file` for the life of the process, and returns its kernel `name`.
pub(super) fn load(file: &LibraryFile, name: &str) -> Result<SafeCall, LibraryError> {
    let path = file.path();
    let missing = missing_symbols(file);
    let needs_runtime = file.links_runtime() || file.embeds_modules() || !missing.is_empty();
    // If the library was linked to find it by itself, the loading below does.
    let unfound = if needs_runtime { load_runtime(path).err() } else { None };
    let failed = |reason: String| match &unfound {
        Some(_) => LibraryError::RuntimeMissing { path: path.to_owned(), needs: needs(file, &missing), reason },
        None => LibraryError::Load { path: path.to_owned(), reason },
    };
    // A path without a slash would be searched for among the system's libraries.
    let absolute = std::path::absolute(path).map_err(|e| failed(e.to_string()))?;
    // SAFETY: the setup of the library may do anything: a user who names a library agrees to run it, and it runs in a
    // worker to protect everything else. The library is never unloaded.
    let library =
        unsafe { Library::open(Some(&absolute), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| failed(e.to_string()))?;
    if needs_runtime {
        let runtime = Runtime::load(OsStr::new(RUNTIME)).or_else(|e| Runtime::loaded().ok_or(e)).map_err(&failed)?;
        if file.embeds_modules() {
            runtime.load_module(&absolute).map_err(&failed)?;
        }
    }
    let symbol = format!("{PREFIX}{name}");
    // SAFETY: a symbol of that name has this type by the ABI.
    let call = unsafe { library.get::<SafeCall>(symbol.as_bytes()) }.map_err(|e| failed(e.to_string()))?;
    let call = *call;
    std::mem::forget(library);
    Ok(call)
}

/// The symbols that the library needs from the implementation of the ABI and this process does not have.
fn missing_symbols(file: &LibraryFile) -> Vec<String> {
    let process = Library::this();
    // SAFETY: the symbol is only looked for.
    let has = |name: &str| unsafe { process.get::<*const ()>(name.as_bytes()) }.is_ok();
    file.runtime_symbols().filter(|name| !has(name)).map(str::to_owned).collect()
}

/// Loads `libtvm_ffi.so`: the one named in the environment, the loader's own, or one beside the library.
fn load_runtime(library: &Path) -> Result<(), String> {
    if let Some(named) = std::env::var_os(RUNTIME_VARIABLE).filter(|named| !named.is_empty()) {
        return Runtime::load(&named).map(drop);
    }
    let beside = library.with_file_name(RUNTIME);
    Runtime::load(OsStr::new(RUNTIME)).or_else(|_| Runtime::load(beside.as_os_str())).map(drop)
}

fn needs(file: &LibraryFile, missing: &[String]) -> String {
    match missing.split_first() {
        Some((first, [])) => format!("for {first}"),
        Some((first, rest)) => format!("for {first} and {} more", rest.len()),
        None if file.links_runtime() => "it is linked to it".to_owned(),
        None => "for the modules embedded in it".to_owned(),
    }
}
