//! Memory on AMD and Intel GPUs: what the kernel's graphics drivers (amdgpu, i915, xe) report about each open device in
//! `/proc/PID/fdinfo` (drm-usage-stats).
//!
//! - A client is a device that was opened once; descriptors that were copied or inherited through fork name the same
//!   client (`drm-client-id`), which counts once.
//! - The figure is resident device memory (`vram`, `local`). A GPU without memory of its own has none; there, the
//!   system memory that it holds counts.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::bytes::{ByteSize, KIB, MIB};
use crate::meter::children::directory_numbers;
use crate::meter::text::{key_values, number, read_path};

/// The target of a device's descriptor.
const DEVICES: &str = "/dev/dri/";

/// One client of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Client {
    /// The device's place on its bus, or its driver if it has none, and the client's number there.
    id: (Vec<u8>, u64),
    memory: ByteSize,
}

/// Reads the clients of processes.
#[derive(Debug)]
pub(super) struct DrmClients {
    /// `/proc`, except in tests.
    proc: PathBuf,
    seen: HashSet<(Vec<u8>, u64)>,
    descriptors: Vec<u32>,
    path: String,
    text: Vec<u8>,
}

impl DrmClients {
    /// `None` if no device reports clients.
    pub(super) fn find() -> Option<Self> {
        has_device(Path::new("/sys/class/drm")).then(|| Self::of(Path::new("/proc")))
    }

    fn of(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            seen: HashSet::new(),
            descriptors: Vec::new(),
            path: String::new(),
            text: Vec::new(),
        }
    }

    /// The memory of all clients of these processes. A process that may not be inspected has none.
    pub(super) fn memory_of(&mut self, pids: impl Iterator<Item = u32>) -> ByteSize {
        self.seen.clear();
        pids.map(|pid| self.memory_of_one(pid)).sum()
    }

    fn memory_of_one(&mut self, pid: u32) -> ByteSize {
        let folder = self.proc.join(pid.to_string());
        let folder = folder.display();
        let mut descriptors = std::mem::take(&mut self.descriptors);
        directory_numbers(&format!("{folder}/fd"), &mut descriptors);
        let mut sum = ByteSize::ZERO;
        for descriptor in &descriptors {
            self.path.clear();
            let _ = write!(self.path, "{folder}/fd/{descriptor}");
            let of_device = std::fs::read_link(&self.path).is_ok_and(|to| to.to_string_lossy().starts_with(DEVICES));
            if !of_device {
                continue;
            }
            self.path.clear();
            let _ = write!(self.path, "{folder}/fdinfo/{descriptor}");
            if let Some(client) = read_path(&self.path, &mut self.text).ok().and_then(parse)
                && self.seen.insert(client.id)
            {
                sum += client.memory;
            }
        }
        self.descriptors = descriptors;
        sum
    }
}

/// Whether a driver that reports clients has a device.
fn has_device(class: &Path) -> bool {
    let entries = std::fs::read_dir(class).into_iter().flatten().flatten();
    let driver = |path: PathBuf| std::fs::read_link(path.join("device/driver")).ok();
    entries.filter_map(|entry| driver(entry.path())).any(|driver| {
        driver.file_name().is_some_and(|name| ["amdgpu", "i915", "xe"].iter().any(|known| name == *known))
    })
}

/// Parses the client of an fdinfo; `None` if it has none.
fn parse(text: &[u8]) -> Option<Client> {
    let value = |name: &[u8]| key_values(text).find(|(key, _)| *key == name).map(|(_, value)| value);
    let device = value(b"drm-pdev").or(value(b"drm-driver"))?.to_vec();
    let id = number(value(b"drm-client-id")?)?;
    // What older drivers call memory is resident memory.
    let of = |prefix: &[u8]| -> Vec<(&[u8], u64)> {
        let region = |key: &'_ [u8]| key.len() > prefix.len() && key.starts_with(prefix);
        let pairs = key_values(text).filter(|(key, _)| region(key));
        pairs.filter_map(|(key, value)| Some((&key[prefix.len()..], bytes(value)?))).collect()
    };
    let regions =
        [&b"drm-resident-"[..], b"drm-memory-", b"drm-total-"].into_iter().map(of).find(|all| !all.is_empty());
    let regions = regions.unwrap_or_default();
    let is_own = |name: &[u8]| name.starts_with(b"vram") || name.starts_with(b"local");
    let has_own = regions.iter().any(|(name, _)| is_own(name));
    // Stolen memory was reserved at boot and belongs to no process.
    let counts = |name: &[u8]| if has_own { is_own(name) } else { !name.starts_with(b"stolen") };
    let memory =
        regions.iter().filter(|(name, _)| counts(name)).fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    Some(Client { id: (device, id), memory: ByteSize::new(memory) })
}

/// A number with its unit: `KiB`, `MiB`, or none for bytes.
fn bytes(value: &[u8]) -> Option<u64> {
    let unit = match value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(1) {
        None => 1,
        Some(b"KiB") => KIB,
        Some(b"MiB") => MIB,
        Some(_) => return None,
    };
    number(value)?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use proptest::prelude::*;

    const AMDGPU: &str = "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t500\ndrm-driver:\tamdgpu\ndrm-client-id:\t81\n\
        drm-pdev:\t0000:03:00.0\npasid:\t32771\ndrm-total-cpu:\t0\ndrm-total-gtt:\t4096 KiB\ndrm-total-vram:\t96 MiB\n\
        drm-resident-gtt:\t4096 KiB\ndrm-resident-vram:\t65536 KiB\ndrm-memory-vram:\t65536 KiB\n\
        drm-memory-gtt:\t4096 KiB\namd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t12345 ns\n";
    const AMDGPU_OLD: &str = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\ndrm-memory-vram:\t2048 KiB\n\
        drm-memory-gtt: \t512 KiB\ndrm-memory-cpu: \t0 KiB\n";
    const I915: &str = "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-pdev:\t0000:00:02.0\ndrm-total-system0:\t16 MiB\n\
        drm-shared-system0:\t0\ndrm-active-system0:\t0\ndrm-resident-system0:\t9 MiB\ndrm-purgeable-system0:\t0\n\
        drm-total-stolen-system0:\t0\ndrm-resident-stolen-system0:\t4 MiB\n";
    const XE: &str = "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:4d:00.0\ndrm-total-system:\t0\n\
        drm-resident-system:\t1 MiB\ndrm-total-gtt:\t192 KiB\ndrm-resident-gtt:\t192 KiB\ndrm-resident-vram0:\t22992 KiB\n\
        drm-resident-vram1:\t8 KiB\n";

    fn memory(text: &str) -> Option<u64> {
        parse(text.as_bytes()).map(|client| client.memory.bytes())
    }

    #[test]
    fn resident_memory_of_the_device_counts() {
        assert_eq!(memory(AMDGPU), Some(64 * MIB));
        assert_eq!(memory(AMDGPU_OLD), Some(2 * MIB));
        assert_eq!(memory(XE), Some(23_000 * KIB));
        // A GPU without memory of its own.
        assert_eq!(memory(I915), Some(9 * MIB));
        assert_eq!(memory("drm-driver:\tpanfrost\ndrm-client-id:\t4\n"), Some(0));
        assert_eq!((memory("pos:\t0\nflags:\t02\n"), memory("drm-driver:\txe\n")), (None, None));
    }

    #[test]
    fn a_client_counts_once_however_many_hold_it() {
        let dir = tempfile::tempdir().unwrap();
        let open = |pid: u32, descriptor: u32, to: &str, text: &str| {
            for folder in ["fd", "fdinfo"] {
                std::fs::create_dir_all(dir.path().join(format!("{pid}/{folder}"))).unwrap();
            }
            symlink(to, dir.path().join(format!("{pid}/fd/{descriptor}"))).unwrap();
            std::fs::write(dir.path().join(format!("{pid}/fdinfo/{descriptor}")), text).unwrap();
        };
        open(10, 0, "/dev/null", "pos:\t0\n");
        open(10, 5, "/dev/dri/renderD128", AMDGPU);
        // A copied descriptor, and one inherited through fork.
        open(10, 6, "/dev/dri/renderD128", AMDGPU);
        open(11, 5, "/dev/dri/renderD128", AMDGPU);
        // Another client of the same device, one of another device, and a file that only resembles one.
        open(11, 7, "/dev/dri/renderD128", AMDGPU_OLD);
        open(11, 8, "/dev/dri/renderD129", XE);
        open(11, 9, "/tmp/dri", I915);
        let mut clients = DrmClients::of(dir.path());
        let whole = 66 * MIB + 23_000 * KIB;
        assert_eq!(clients.memory_of([10, 11, 12].into_iter()).bytes(), whole);
        assert_eq!(clients.memory_of([10].into_iter()).bytes(), 64 * MIB);
        assert_eq!(clients.memory_of([10, 11].into_iter()).bytes(), whole, "each pass counts anew");
    }

    #[test]
    fn drivers_that_report_clients_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let card = |name: &str, driver: &str| {
            std::fs::create_dir_all(dir.path().join(name).join("device")).unwrap();
            symlink(format!("../../bus/pci/drivers/{driver}"), dir.path().join(name).join("device/driver")).unwrap();
        };
        card("card0", "bochs-drm");
        assert!(!has_device(dir.path()));
        card("card1", "amdgpu");
        assert!(has_device(dir.path()) && !has_device(&dir.path().join("none")));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(drm-(resident|memory|total)-(vram|gtt|system)[0-9]:\\s[0-9]{1,20} ?(KiB|MiB|GiB)?\n|drm-(driver|client-id|pdev):\\s[a-z0-9]{0,24}\n){0,9}") {
            let _ = parse(text.as_bytes());
        }
    }
}
