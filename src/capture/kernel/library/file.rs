//! [`LibraryFile`]: what a shared library offers and needs, read from its symbol table before any of its code runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, EM_AARCH64, EM_X86_64, ET_DYN};
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{FileKind, LittleEndian, Object as _, ObjectSymbol as _};

use super::error::{LibraryError, WrongFile};
use crate::MappedFile;

/// The prefix of every kernel's symbol.
pub const PREFIX: &str = "__tvm_ffi_";
/// The prefix of the ABI's own symbols: metadata and embedded modules, not kernels.
const OWN: &str = "__tvm_ffi__";
/// Symbols that the implementation of the ABI fills or reads when it loads a library.
const EMBEDDED: [&str; 2] = ["__tvm_ffi__library_ctx", "__tvm_ffi__library_bin"];
/// The library that holds the implementation of the ABI.
pub(super) const RUNTIME: &str = "libtvm_ffi.so";
/// The most symbols that are read. The largest libraries of PyTorch have a tenth as many.
const SYMBOL_LIMIT: usize = 4_000_000;
/// The longest name that is kept: nobody types a longer one.
const NAME_LIMIT: usize = 4096;

/// What a shared library exports by the TVM-FFI ABI, and what it needs to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryFile {
    path: PathBuf,
    /// The names of kernels, without the prefix, in order.
    kernels: BTreeSet<String>,
    /// The names of functions that a C program can call and this ABI cannot.
    plain: BTreeSet<String>,
    /// The symbols that the library needs from the implementation of the ABI.
    runtime_symbols: BTreeSet<String>,
    links_runtime: bool,
    embeds: bool,
}

impl LibraryFile {
    /// Reads the symbol table of the shared library at `path`. Nothing of it is loaded or run.
    ///
    /// # Errors
    /// [`LibraryError`] if the file cannot be read, or is not a shared library for this machine.
    pub fn open(path: &Path) -> Result<Self, LibraryError> {
        let unreadable = |reason: String| LibraryError::Unreadable { path: path.to_owned(), reason };
        let size = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.len();
        let map = MappedFile::open(path, 0, size).map_err(|e| unreadable(e.to_string()))?;
        let read = Self::parse(path, &map);
        // Data read from a file that shrank in the meantime is worthless.
        map.intact().map_err(|e| unreadable(e.to_string()))?;
        read.map_err(|reason| LibraryError::NotALibrary { path: path.to_owned(), reason })
    }

    /// Reads the symbol table of a library in memory; `path` is for messages.
    ///
    /// # Errors
    /// [`WrongFile`]: why the bytes are not a library.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, WrongFile> {
        match FileKind::parse(bytes) {
            Ok(FileKind::Elf64) => {}
            Ok(kind) => return Err(WrongFile::Kind(format!("{kind:?}"))),
            Err(_) => return Err(WrongFile::Kind("not an object file".to_owned())),
        }
        let elf = ElfFile64::<LittleEndian>::parse(bytes).map_err(|e| WrongFile::Damaged(e.to_string()))?;
        let header = elf.elf_header();
        let machine = header.e_machine(LittleEndian);
        if Some(machine) != MACHINE {
            return Err(WrongFile::Machine { found: machine_name(machine), this: std::env::consts::ARCH });
        }
        let dynamic = elf.elf_dynamic_table().map_err(|e| WrongFile::Damaged(e.to_string()))?;
        if header.e_type(LittleEndian) != ET_DYN || dynamic.is_empty() {
            return Err(WrongFile::NotShared);
        }
        let needed = dynamic.iter().filter(|entry| entry.tag == DT_NEEDED);
        let links_runtime =
            needed.filter_map(|entry| dynamic.string(entry).ok()).any(|name| name == RUNTIME.as_bytes());
        let mut file = Self {
            path: path.to_owned(),
            kernels: BTreeSet::new(),
            plain: BTreeSet::new(),
            runtime_symbols: BTreeSet::new(),
            links_runtime,
            embeds: false,
        };
        for symbol in elf.dynamic_symbols().take(SYMBOL_LIMIT) {
            let Some(name) = symbol.name().ok().filter(|name| !name.is_empty() && name.len() <= NAME_LIMIT) else {
                continue;
            };
            file.note(name, symbol.is_undefined(), symbol.is_weak());
        }
        Ok(file)
    }

    fn note(&mut self, name: &str, undefined: bool, weak: bool) {
        if undefined {
            // A weak symbol may stay without an address: the library works without it.
            if name.starts_with("TVMFFI") && !weak {
                self.runtime_symbols.insert(name.to_owned());
            }
        } else if name.starts_with(OWN) {
            self.embeds |= EMBEDDED.contains(&name);
        } else if let Some(kernel) = name.strip_prefix(PREFIX) {
            self.kernels.insert(kernel.to_owned());
        } else if !name.starts_with('_') {
            self.plain.insert(name.to_owned());
        }
    }

    /// The path of the library.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the library's kernels, without the prefix of their symbols.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(String::as_str)
    }

    /// The symbols that the library needs from the implementation of the ABI, `libtvm_ffi.so`.
    pub fn runtime_symbols(&self) -> impl Iterator<Item = &str> {
        self.runtime_symbols.iter().map(String::as_str)
    }

    /// Whether the library was linked to `libtvm_ffi.so`.
    pub fn links_runtime(&self) -> bool {
        self.links_runtime
    }

    /// Whether the library holds modules that `libtvm_ffi.so` must unpack when it is loaded.
    pub fn embeds_modules(&self) -> bool {
        self.embeds
    }

    /// The kernel to launch: the one named, with or without its prefix, or the only one.
    ///
    /// # Errors
    /// [`LibraryError`], with the kernels that the library has.
    pub fn select(&self, symbol: Option<&str>) -> Result<String, LibraryError> {
        let path = || self.path.clone();
        if self.kernels.is_empty() {
            let plain = symbol.map(str::to_owned).filter(|name| self.plain.contains(name));
            return Err(LibraryError::NoKernels { path: path(), plain });
        }
        let Some(symbol) = symbol else {
            let mut names = self.kernels.iter();
            return match (names.next(), names.next()) {
                (Some(only), None) => Ok(only.clone()),
                _ => Err(LibraryError::SeveralKernels { path: path(), kernels: self.named() }),
            };
        };
        let name = symbol.strip_prefix(PREFIX).unwrap_or(symbol);
        if self.kernels.contains(name) {
            return Ok(name.to_owned());
        }
        Err(LibraryError::NoSuchKernel {
            path: path(),
            name: name.to_owned(),
            plain: self.plain.contains(name),
            closest: self.closest(name),
            kernels: self.named(),
        })
    }

    /// The name that was probably meant, if there is one.
    fn closest(&self, name: &str) -> Option<String> {
        let similarity = |kernel: &String| (strsim::jaro_winkler(kernel, name) * 1000.0) as u32;
        self.kernels.iter().filter(|kernel| similarity(kernel) >= 800).max_by_key(|kernel| similarity(kernel)).cloned()
    }

    /// The first names, for messages.
    fn named(&self) -> String {
        const SHOWN: usize = 12;
        let mut text = self.kernels.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        if self.kernels.len() > SHOWN {
            text.push_str(&format!(" and {} more", self.kernels.len() - SHOWN));
        }
        text
    }
}

/// The machine number in the headers of libraries for this machine.
const MACHINE: Option<object::elf::Machine> = if cfg!(target_arch = "x86_64") {
    Some(EM_X86_64)
} else if cfg!(target_arch = "aarch64") {
    Some(EM_AARCH64)
} else {
    None
};

/// A machine's name, for messages.
fn machine_name(machine: object::elf::Machine) -> String {
    match machine {
        EM_X86_64 => "x86_64".to_owned(),
        EM_AARCH64 => "aarch64".to_owned(),
        other => format!("machine {}", other.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(kernels: &[&str], plain: &[&str]) -> LibraryFile {
        let mut file = LibraryFile {
            path: "k.so".into(),
            kernels: BTreeSet::new(),
            plain: BTreeSet::new(),
            runtime_symbols: BTreeSet::new(),
            links_runtime: false,
            embeds: false,
        };
        kernels.iter().for_each(|kernel| file.note(&format!("{PREFIX}{kernel}"), false, false));
        plain.iter().for_each(|name| file.note(name, false, false));
        file
    }

    #[test]
    fn the_kernel_is_the_one_named_or_the_only_one() {
        let one = library(&["embedding", "_metadata_embedding"], &["main"]);
        assert_eq!(one.select(None).as_deref(), Ok("embedding"), "what begins with an underscore is the ABI's own");
        assert_eq!(one.select(Some("__tvm_ffi_embedding")).as_deref(), Ok("embedding"));
        let two = library(&["gemm", "conv"], &[]);
        let message = |symbol| two.select(symbol).unwrap_err().to_string();
        assert_eq!(message(None), "kernel library k.so has several kernels: name one of conv, gemm, as lib:PATH:NAME");
        assert_eq!(
            message(Some("gem")),
            "kernel library k.so has no kernel `gem` (is `gemm` meant?); it has conv, gemm"
        );
        let many: Vec<String> = (10..40).map(|n| format!("k{n}")).collect();
        let many = library(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[]).select(None).unwrap_err();
        assert!(many.to_string().contains("k21 and 18 more"), "{many}");
    }

    #[test]
    fn symbols_of_the_runtime_are_those_that_have_to_be_there() {
        let mut file = library(&[], &[]);
        file.note("TVMFFIErrorSetRaised", true, false);
        file.note("TVMFFIEnvGetStream", true, true);
        file.note("memcpy", true, false);
        assert_eq!(file.runtime_symbols().collect::<Vec<_>>(), ["TVMFFIErrorSetRaised"]);
        assert!(!file.embeds_modules());
        file.note("__tvm_ffi__library_ctx", false, false);
        assert!(file.embeds_modules());
    }

    #[test]
    fn files_that_are_no_libraries_say_what_they_are() {
        let wrong = |bytes: &[u8]| LibraryFile::parse(Path::new("k"), bytes).unwrap_err().to_string();
        assert!(wrong(b"").contains("not a 64-bit ELF file"));
        assert!(wrong(b"MZ, a program of another system").contains("not a 64-bit ELF file"));
        let mut header = [0u8; 64];
        header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        assert!(wrong(&header[..32]).contains("damaged"), "{}", wrong(&header[..32]));
        header[16] = 3;
        header[18] = 243;
        assert!(wrong(&header).contains("built for machine 243"), "{}", wrong(&header));
        let this = std::fs::read("/proc/self/exe").unwrap();
        assert!(LibraryFile::parse(Path::new("k"), &this[..this.len() / 2]).is_err());
    }
}
