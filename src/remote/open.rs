//! [`open`]: opens an address as a local folder or file.

use std::path::{Path, PathBuf};

use crate::address::Address;
use crate::client::{Client, Remote};
use crate::error::RemoteError;
use crate::mirror::{Mirror, Plan};
use crate::options::Options;
use plimsoll_capture::store::ObjectId;

/// The marker file of a store.
const MARKER: &str = "plimsoll-store.json";
const CAPTURES: &str = "captures";
const OBJECTS: &str = "objects";

/// Name endings of files rather than folders.
const FILES: [&str; 5] = [".pt", ".pth", ".ckpt", ".bin", ".json"];

/// The largest document that is read, such as a record.
const DOCUMENT: u64 = 512 << 20;

/// Opens the capture, the store, the capture of a store or the file at `address`: the mirror's path is opened in its
/// place. Names, sizes and the headers of entries are read, several at once.
///
/// # Errors
/// If the address is none, nothing is there, or the store refuses.
pub fn open(address: &Path, options: &Options) -> Result<Mirror, RemoteError> {
    let address = Address::open(&address.to_string_lossy(), options)?;
    let client = Client::new(options)?;
    let plan = plan(&client, &address)?;
    let mirror = Mirror::new(&client, plan)?;
    mirror.read_headers();
    Ok(mirror)
}

/// Opens the document at `address`, or the folder of documents, with all bytes fetched.
///
/// # Errors
/// As [`open`]; also if one is larger than any document.
pub fn open_documents(address: &Path, options: &Options) -> Result<Mirror, RemoteError> {
    let address = Address::open(&address.to_string_lossy(), options)?;
    let client = Client::new(options)?;
    let mut plan = plan(&client, &address)?;
    // In a folder, records and the partial records of killed runs.
    let is_document = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") || name.ends_with(".json.partial")
    };
    plan.files.retain(|(path, _)| plan.opened == *path || is_document(path));
    if let Some((_, large)) = plan.files.iter().find(|(_, remote)| remote.size > DOCUMENT) {
        let what = format!("the document has {} bytes, and at most {DOCUMENT} are read", large.size);
        return Err(RemoteError::TooMuch { url: large.address.url.clone(), what });
    }
    let mirror = Mirror::new(&client, plan)?;
    mirror.fetch_whole()?;
    Ok(mirror)
}

/// Writes a document at once, replacing an existing one.
///
/// # Errors
/// If the store refuses.
pub fn write_document(address: &Path, content: Vec<u8>, options: &Options) -> Result<(), RemoteError> {
    let address = Address::open(&address.to_string_lossy(), options)?;
    Client::new(options)?.put(&address, content, false)
}

/// Asks whether anything is at `address`: fails if the store cannot be reached or refuses.
///
/// # Errors
/// [`RemoteError`], except if nothing is there.
pub fn probe(address: &Path, options: &Options) -> Result<(), RemoteError> {
    let address = Address::open(&address.to_string_lossy(), options)?;
    Client::new(options)?.head(&address).map(drop)
}

/// Opens the store at `address` for writing, or an empty place for one.
pub(crate) fn open_store(client: &std::sync::Arc<Client>, address: &Address) -> Result<Mirror, RemoteError> {
    let marker = client.head(&address.child(MARKER))?;
    if marker.is_none() {
        let (objects, folders) = client.list(address)?;
        if !objects.is_empty() || folders.iter().any(|name| name != CAPTURES && name != OBJECTS) {
            let what = "other objects are there, and a store needs an address of its own; give a new one".to_owned();
            return Err(RemoteError::Unsupported { url: address.url.clone(), what });
        }
    }
    let plan = store(client, address, marker, None)?;
    Mirror::new(client, plan)
}

fn plan(client: &Client, address: &Address) -> Result<Plan, RemoteError> {
    if let Some((root, within)) = in_store(address)
        && let Some(marker) = client.head(&root.child(MARKER))?
    {
        return store(client, &root, Some(marker), Some(within));
    }
    if FILES.iter().any(|ending| address.name().ends_with(ending))
        && let Some(remote) = client.head(address)?
    {
        return Ok(file(remote));
    }
    let (objects, _) = match client.list(address) {
        Err(error @ RemoteError::NoListing { .. }) => match client.head(address)? {
            Some(remote) => return Ok(file(remote)),
            None => return Err(error),
        },
        listed => listed?,
    };
    if let Some(marker) = objects.iter().find(|remote| remote.address.name() == MARKER) {
        return store(client, address, Some(marker.clone()), None);
    }
    let mut files = Vec::new();
    for remote in objects {
        let name = remote.address.name().to_owned();
        // Some tools write an object with the name of the folder.
        if is_plain(&name) && remote.address.path != address.path {
            files.push((PathBuf::from(name), remote));
        }
    }
    if files.is_empty() {
        return match client.head(address)? {
            Some(remote) => Ok(file(remote)),
            None => Err(RemoteError::NotFound { url: address.url.clone() }),
        };
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Plan { url: address.url.clone(), files, opened: PathBuf::new(), folders: Vec::new(), in_order: true })
}

/// The mirror of a single file.
fn file(remote: Remote) -> Plan {
    let (url, name) = match remote.address.url.rsplit_once('/') {
        Some((url, name)) if is_plain(name) => (url.to_owned(), PathBuf::from(name)),
        _ => (remote.address.url.clone(), PathBuf::from("file")),
    };
    Plan { url, opened: name.clone(), files: vec![(name, remote)], folders: Vec::new(), in_order: false }
}

/// The store that has a capture, or an entry of one, at `address`, if it looks like one, and the path in it.
fn in_store(address: &Address) -> Option<(Address, PathBuf)> {
    let mut within = PathBuf::from(address.name());
    let mut above = address.parent()?;
    for _ in 0..2 {
        if above.name() == CAPTURES {
            return Some((above.parent()?, Path::new(CAPTURES).join(within)));
        }
        within = Path::new(above.name()).join(within);
        above = above.parent()?;
    }
    None
}

/// The mirror of a store, or of the parts that a capture or an entry `needs`.
fn store(
    client: &Client,
    root: &Address,
    marker: Option<Remote>,
    needed: Option<PathBuf>,
) -> Result<Plan, RemoteError> {
    let mut files: Vec<(PathBuf, Remote)> = marker.into_iter().map(|marker| (PathBuf::from(MARKER), marker)).collect();
    for mut remote in client.list_all(&root.child(OBJECTS))? {
        let parts = names(&remote, root);
        // Anything else does not belong to the store.
        if let [objects, folder, name] = &parts[..]
            && let id = name.strip_suffix(".zst").unwrap_or(name)
            && id.parse::<ObjectId>().is_ok()
            && id.starts_with(folder.as_str())
        {
            let path = Path::new(objects).join(folder).join(name);
            remote.content = Some(name.clone());
            files.push((path, remote));
        }
    }
    for remote in client.list_all(&root.child(CAPTURES))? {
        let parts = names(&remote, root);
        if let [captures, capture, entry] = &parts[..] {
            let path = Path::new(captures).join(capture).join(entry);
            if needed.as_ref().is_none_or(|needed| path.starts_with(needed)) {
                files.push((path, remote));
            }
        }
    }
    let folders = [OBJECTS, CAPTURES, "tmp"].map(PathBuf::from).to_vec();
    let opened = needed.unwrap_or_default();
    let is_there = opened.as_os_str().is_empty() || files.iter().any(|(path, _)| path.starts_with(&opened));
    if !is_there {
        return Err(RemoteError::NotFound { url: format!("{}/{}", root.url, opened.display()) });
    }
    Ok(Plan { url: root.url.clone(), files, opened, folders, in_order: false })
}

/// The names on the way from `root` to `remote`; none if one could lead elsewhere.
fn names(remote: &Remote, root: &Address) -> Vec<String> {
    let path = remote.address.path.as_ref();
    let within = path.strip_prefix(root.path.as_ref()).unwrap_or_default().trim_start_matches('/');
    let names: Vec<String> = within.split('/').map(str::to_owned).collect();
    if names.iter().all(|name| is_plain(name)) { names } else { Vec::new() }
}

/// Whether a file of this name can be made in a folder, and nowhere else.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= 200 && !name.contains(['/', '\0'])
}
