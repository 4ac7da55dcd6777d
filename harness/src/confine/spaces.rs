//! Name spaces of a confined program: shared memory of limited size, and processes, of its own.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;

use plimsoll::ByteSize;

/// The capacity of `/dev/shm`.
const SIZE: ByteSize = ByteSize::gib(4);
/// The folder where programs share memory by name.
const SHARED: &CStr = c"/dev/shm";

/// Gives this process and its descendants their own shared memory, if `memory`, and lets its next children begin a name
/// space for processes, if `processes`.
///
/// # Errors
/// The system allows this user no name spaces, or no mounts in them.
pub fn separate(memory: bool, processes: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let of = |wanted: bool, space: libc::c_int| if wanted { space } else { 0 };
    let spaces = libc::CLONE_NEWNS | of(memory, libc::CLONE_NEWIPC) | of(processes, libc::CLONE_NEWPID);
    if user.is_root() {
        unshare(spaces)?;
    } else {
        unshare(spaces | libc::CLONE_NEWUSER)?;
        // A process that may write the group map could drop a group that denies access.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1", user = user.as_raw()))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1", group = group.as_raw()))?;
    }
    // Mounts made here must not be visible elsewhere.
    mount(c"none", c"/", None, libc::MS_REC | libc::MS_PRIVATE)?;
    if memory {
        let options = CString::new(format!("size={},mode=1777", SIZE.bytes())).expect("a text without zeros");
        mount(c"tmpfs", SHARED, Some(&options), libc::MS_NOSUID | libc::MS_NODEV)?;
    }
    Ok(())
}

/// Makes `/proc` show the processes of this process's name space alone.
///
/// # Errors
/// The system refuses: in containers that hide parts of `/proc`.
pub fn show_own_processes() -> io::Result<()> {
    mount(c"proc", c"/proc", None, libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC)
}

fn unshare(spaces: libc::c_int) -> io::Result<()> {
    // SAFETY: the call reads no memory, and this process has one thread.
    if unsafe { libc::unshare(spaces) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn mount(kind: &CStr, target: &CStr, options: Option<&CStr>, flags: libc::c_ulong) -> io::Result<()> {
    let options = options.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: all are texts that end in zero, or null for options, and the call keeps none of them.
    let done = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.cast()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
