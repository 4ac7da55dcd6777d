//! Finds the control groups of a process.

use std::path::{Path, PathBuf};

/// The kernel's interface for memory groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum CgroupVersion {
    /// A separate hierarchy for memory.
    V1,
    /// The unified hierarchy.
    V2,
}

/// The directory of a group, and its mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) version: CgroupVersion,
    pub(super) path: PathBuf,
    pub(super) mount: PathBuf,
}

impl Group {
    /// The control groups of a process that may count memory, from its `cgroup` and `mountinfo`: version 1 first,
    /// because a controller in version 1 is not in version 2.
    pub(super) fn all(groups: &[u8], mounts: &[u8]) -> Vec<Self> {
        [CgroupVersion::V1, CgroupVersion::V2]
            .into_iter()
            .filter_map(|version| directory(mounts, version, group_path(groups, version)?))
            .collect()
    }

    /// Whether it belongs to the hierarchy that counts memory.
    pub(super) fn has_memory(&self, read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> bool {
        match self.version {
            CgroupVersion::V1 => true,
            CgroupVersion::V2 => words_of(read(&self.mount.join("cgroup.controllers")), b"memory"),
        }
    }

    /// Its path in the hierarchy, as far as visible: `/` for the root.
    pub(super) fn name(&self) -> String {
        format!("/{}", self.path.strip_prefix(&self.mount).unwrap_or(&self.path).display())
    }
}

/// Whether `word` is among the words of a text.
pub(super) fn words_of(text: Option<Vec<u8>>, word: &[u8]) -> bool {
    text.is_some_and(|text| text.split(u8::is_ascii_whitespace).any(|found| found == word))
}

/// The path of a group in its hierarchy: the third field of its line, after the number and the controllers.
fn group_path(groups: &[u8], version: CgroupVersion) -> Option<&str> {
    std::str::from_utf8(groups).ok()?.lines().find_map(|line| {
        let (number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let found = match version {
            CgroupVersion::V1 => controllers.split(',').any(|name| name == "memory"),
            CgroupVersion::V2 => number == "0" && controllers.is_empty(),
        };
        found.then_some(path)
    })
}

/// The directory of a group's files. A container often shows only a part of the hierarchy; the mount's root then stands
/// for the group.
fn directory(mounts: &[u8], version: CgroupVersion, group: &str) -> Option<Group> {
    std::str::from_utf8(mounts).ok()?.lines().find_map(|line| {
        // `31 23 0:28 ROOT MOUNT OPTIONS .. - TYPE SOURCE SUPER_OPTIONS`
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let (root, mount) = (front.next()?, front.next()?);
        let mut back = back.split(' ');
        let (kind, options) = (back.next()?, back.nth(1).unwrap_or(""));
        let found = match version {
            CgroupVersion::V1 => kind == "cgroup" && options.split(',').any(|name| name == "memory"),
            CgroupVersion::V2 => kind == "cgroup2",
        };
        found.then(|| {
            let below = Path::new(group).strip_prefix(root).unwrap_or(Path::new(""));
            let inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            let mount = PathBuf::from(mount);
            Group { version, path: if inside { mount.join(below) } else { mount.clone() }, mount }
        })
    })
}
