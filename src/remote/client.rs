//! [`Client`]: blocking requests to object stores.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, TryStreamExt};
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt, PutMode, PutPayload};
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};

use crate::address::Address;
use crate::cache::{Cache, Vacant};
use crate::error::RemoteError;
use crate::options::Options;
use crate::sink::Sink;

/// The most objects that a folder or a store may have.
const OBJECTS: usize = 1_000_000;

/// The most bytes that one request fetches or sends.
pub(crate) const PIECE: u64 = 8 << 20;

/// The fewest and the most threads that requests run on: one may wait for the disk, and each moves a GB a second or more.
const LEAST_THREADS: usize = 4;
const MOST_THREADS: usize = 8;

/// The runtime that all requests of the process run on.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let threads =
            std::thread::available_parallelism().map_or(2, NonZeroUsize::get).clamp(LEAST_THREADS, MOST_THREADS);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("plimsoll-remote").enable_all();
        builder.build().expect("the system has some more threads")
    })
}

/// The shared state of requests.
#[derive(Debug)]
pub(crate) struct Client {
    pub options: Options,
    pub cache: Option<Cache>,
    permits: Arc<Semaphore>,
}

/// An object of a store, in the version that was listed.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    pub address: Address,
    pub size: u64,
    pub etag: Option<String>,
    pub modified: i64,
    /// The digest that names its content, if it is an object of a Plimsoll store.
    pub content: Option<String>,
}

impl Remote {
    pub fn new(address: Address, meta: &ObjectMeta) -> Self {
        let modified = meta.last_modified.timestamp_millis();
        Self { address, size: meta.size, etag: etag_of(meta), modified, content: None }
    }

    /// The key that distinguishes the content from any other.
    pub fn identity(&self) -> blake3::Hash {
        let Some(content) = &self.content else {
            let etag = self.etag.as_deref().unwrap_or_default();
            let text = format!("{}\0{etag}\0{}\0{}", self.address.url, self.size, self.modified);
            return blake3::hash(text.as_bytes());
        };
        blake3::hash(content.as_bytes())
    }

    /// The name of its piece `number` in a cache.
    fn piece(&self, number: u64) -> blake3::Hash {
        let mut name = blake3::Hasher::new();
        name.update(self.identity().as_bytes()).update(&number.to_le_bytes());
        name.finalize()
    }

    /// The version to ask for. A weak tag never matches, by the rules of HTTP; it is compared afterwards.
    fn matching(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }

    fn changed(&self, what: impl Into<String>) -> RemoteError {
        RemoteError::Changed { url: self.address.url.clone(), what: what.into() }
    }
}

impl Client {
    pub fn new(options: &Options) -> Result<Arc<Self>, RemoteError> {
        let cache = options.cache.as_deref().map(|folder| Cache::open(folder, options.cache_bytes)).transpose()?;
        let permits = Arc::new(Semaphore::new(options.requests.max(1)));
        Ok(Arc::new(Self { options: options.clone(), cache, permits }))
    }

    /// The object at `address`, or `None` if there is none.
    pub fn head(&self, address: &Address) -> Result<Option<Remote>, RemoteError> {
        match runtime().block_on(address.store.head(&address.path)) {
            Ok(meta) => Ok(Some(Remote::new(address.clone(), &meta))),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(RemoteError::of(&address.url, error)),
        }
    }

    /// The objects right below `address`, and the names of the folders there.
    pub fn list(&self, address: &Address) -> Result<(Vec<Remote>, Vec<String>), RemoteError> {
        let listed = runtime().block_on(address.store.list_with_delimiter(Some(&address.path)));
        let listed = listed.map_err(|error| self.listing_failed(address, error))?;
        let folders = listed.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned)).collect();
        let objects = listed.objects.iter().map(|meta| below(address, meta)).collect();
        self.bounded(address, objects).map(|objects| (objects, folders))
    }

    /// Every object below `address`, at any depth.
    pub fn list_all(&self, address: &Address) -> Result<Vec<Remote>, RemoteError> {
        let listed = address.store.list(Some(&address.path)).take(OBJECTS + 1).try_collect::<Vec<_>>();
        let listed = runtime().block_on(listed).map_err(|error| self.listing_failed(address, error))?;
        self.bounded(address, listed.iter().map(|meta| below(address, meta)).collect())
    }

    fn listing_failed(&self, address: &Address, error: object_store::Error) -> RemoteError {
        let is_http = address.url.starts_with("http");
        match RemoteError::of(&address.url, error) {
            RemoteError::Failed { url, what } if is_http => RemoteError::NoListing { url, what },
            error => error,
        }
    }

    fn bounded(&self, address: &Address, objects: Vec<Remote>) -> Result<Vec<Remote>, RemoteError> {
        if objects.len() > OBJECTS {
            let what = format!("it has more than {OBJECTS} objects");
            return Err(RemoteError::TooMuch { url: address.url.clone(), what });
        }
        Ok(objects)
    }

    /// Fetches `ranges` of `remote`, each of at most [`PIECE`] bytes, several at once, into `sink`; calls `sent` when the last
    /// of the requests is under way.
    pub fn fetch(
        self: &Arc<Self>,
        remote: &Remote,
        ranges: Vec<Range<u64>>,
        sink: Sink,
        sent: &mut (dyn FnMut() + Send),
    ) -> Result<(), RemoteError> {
        let (remote, sink) = (Arc::new(remote.clone()), Arc::new(sink));
        runtime().block_on(async {
            // Each request is a task: the threads of the runtime share reading and writing. If one fails, the others
            // are aborted with the set.
            let mut tasks = JoinSet::new();
            let ended =
                |done: Result<_, JoinError>| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            for range in ranges {
                let permit = self.permit().await;
                while let Some(done) = tasks.try_join_next() {
                    ended(done)?;
                }
                let (client, remote, sink) = (Arc::clone(self), Arc::clone(&remote), Arc::clone(&sink));
                tasks.spawn(async move {
                    let _permit = permit;
                    client.piece(&remote, range, &sink).await
                });
            }
            sent();
            while let Some(done) = tasks.join_next().await {
                ended(done)?;
            }
            Ok(())
        })
    }

    /// Waits until another request may be sent.
    async fn permit(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.permits).acquire_owned().await.expect("the semaphore is never closed")
    }

    async fn piece(&self, remote: &Remote, range: Range<u64>, sink: &Sink) -> Result<(), RemoteError> {
        let is_whole = range.start.is_multiple_of(PIECE) && range.end == (range.start + PIECE).min(remote.size);
        let mut vacant = None;
        if let Some(cache) = self.cache.as_ref().filter(|_| is_whole) {
            vacant = cache.piece(remote.piece(range.start / PIECE), &range, sink).await?;
            if vacant.is_none() {
                return Ok(());
            }
        }
        let mut at = range.start;
        self.stream(remote, range, &mut |bytes| {
            sink.write(at, bytes)?;
            at += bytes.len() as u64;
            vacant.as_mut().map_or(Ok(()), |vacant| vacant.write(bytes))
        })
        .await?;
        vacant.map_or(Ok(()), Vacant::keep)
    }

    /// Passes the bytes of `range` to `take`, front to back.
    async fn stream(
        &self,
        remote: &Remote,
        range: Range<u64>,
        take: &mut (dyn FnMut(&[u8]) -> Result<(), RemoteError> + Send),
    ) -> Result<(), RemoteError> {
        let address = &remote.address;
        let failed = |error| RemoteError::of(&address.url, error);
        let bounded = Some(GetRange::Bounded(range.clone()));
        let options = GetOptions { range: bounded, if_match: remote.matching(), ..GetOptions::default() };
        let found = address.store.get_opts(&address.path, options).await.map_err(failed)?;
        if found.meta.size != remote.size {
            return Err(remote.changed(format!("it has {} bytes instead of {}", found.meta.size, remote.size)));
        }
        if etag_of(&found.meta) != remote.etag {
            return Err(remote.changed("its ETag is another"));
        }
        if remote.etag.is_none() && found.meta.last_modified.timestamp_millis() != remote.modified {
            return Err(remote.changed("it was written again"));
        }
        let mut left = range.end - range.start;
        let mut body = found.into_stream();
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(failed)?;
            // The guard never passes more bytes than requested, in each of the answers that retries consist of.
            left = left.checked_sub(bytes.len() as u64).ok_or_else(|| RemoteError::WrongRange {
                url: address.url.clone(),
                what: "more bytes than were asked for".to_owned(),
            })?;
            take(&bytes)?;
        }
        if left > 0 {
            let what = format!("{left} bytes are missing");
            return Err(RemoteError::Cut { url: address.url.clone(), what });
        }
        Ok(())
    }

    /// Writes a small object at once; if `create`, only if it does not exist yet.
    pub fn put(&self, address: &Address, content: Vec<u8>, create: bool) -> Result<(), RemoteError> {
        let mode = if create { PutMode::Create } else { PutMode::Overwrite };
        let put = address.store.put_opts(&address.path, PutPayload::from(content), mode.into());
        runtime().block_on(put).map(drop).map_err(|error| RemoteError::of(&address.url, error))
    }
}

/// The version of an object, in the quotation marks in which requests name it: Azure lists it without.
fn etag_of(meta: &ObjectMeta) -> Option<String> {
    let etag = meta.e_tag.as_ref()?;
    Some(if etag.ends_with('"') { etag.clone() } else { format!("\"{etag}\"") })
}

/// The object of `meta`, listed below `address`.
fn below(address: &Address, meta: &ObjectMeta) -> Remote {
    let within = meta.location.as_ref().strip_prefix(address.path.as_ref()).unwrap_or(meta.location.as_ref());
    let url = format!("{}/{}", address.url, within.trim_start_matches('/'));
    let (store, path) = (Arc::clone(&address.store), meta.location.clone());
    Remote::new(Address { url, store, path }, meta)
}
