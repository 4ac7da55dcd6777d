//! Private shared memory: `/dev/shm` of limited size and System V memory, by mount and IPC namespaces.

use std::ffi::CStr;
use std::fs;
use std::io;

use plimsoll::ByteSize;

/// The capacity of `/dev/shm`.
const SIZE: ByteSize = ByteSize::gib(4);
/// The folder where programs share memory by name.
const SHARED: &CStr = c"/dev/shm";

/// Gives this process and its descendants their own shared memory.
///
/// # Errors
/// The system allows this user no name spaces, or no mounts in them.
pub fn separate() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let spaces = libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
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
    let options = std::ffi::CString::new(format!("size={},mode=1777", SIZE.bytes())).expect("a text without zeros");
    mount(c"tmpfs", SHARED, Some(&options), libc::MS_NOSUID | libc::MS_NODEV)
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
