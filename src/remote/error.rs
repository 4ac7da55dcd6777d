//! [`RemoteError`]: errors between this machine and an object store.

use std::error::Error as StdError;
use std::fmt;
use std::path::PathBuf;

use object_store::Error as StoreError;

/// The longest text of a server that a message repeats, in characters.
const SHOWN: usize = 200;

/// An object store or server that does not return or accept bytes as it should.
///
/// The message reads *where: what and why; what to do next*.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The text is not a readable address.
    #[error("{url}: {what}; give s3://BUCKET/PATH, gs://BUCKET/PATH, az://CONTAINER/PATH or https://HOST/PATH")]
    Address {
        /// The text.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// The address or the endpoint is plain HTTP, which anybody on the way can read and change.
    #[error("{url}: plain http is for servers of this machine; use https, or allow it with --allow-http")]
    PlainHttp {
        /// The address.
        url: String,
    },
    /// Nothing exists at this address.
    #[error("{url}: there is nothing at this address; check the bucket, the path and the region")]
    NotFound {
        /// The address.
        url: String,
    },
    /// The credentials have expired.
    #[error("{url}: the credentials have expired ({what}); get new ones and run again; fetched data is not used")]
    Expired {
        /// The address.
        url: String,
        /// The server's words.
        what: String,
    },
    /// The credentials do not suffice.
    #[error("{url}: the store refuses access ({what}); check the credentials in the environment and their rights")]
    Denied {
        /// The address.
        url: String,
        /// The server's words.
        what: String,
    },
    /// No credentials were found.
    #[error(
        "{url}: no credentials were found: neither in the environment nor from the machine's own metadata service; \
         set them (AWS_ACCESS_KEY_ID, GOOGLE_SERVICE_ACCOUNT, AZURE_STORAGE_ACCOUNT_KEY), or AWS_SKIP_SIGNATURE=true \
         for a public bucket"
    )]
    NoCredentials {
        /// The address.
        url: String,
    },
    /// The server still answers with errors of its own after retries.
    #[error("{url}: the server fails ({what}), even after retries; try later, or with fewer readers")]
    Unavailable {
        /// The address.
        url: String,
        /// The server's words.
        what: String,
    },
    /// The connection still ends before the answer does after retries.
    #[error("{url}: the connection was cut ({what}), even after retries; check the network and run again")]
    Cut {
        /// The address.
        url: String,
        /// What was seen.
        what: String,
    },
    /// Nothing comes for too long, even after retries.
    #[error("{url}: the server sent nothing for too long ({what}), even after retries; check the network")]
    Slow {
        /// The address.
        url: String,
        /// What was seen.
        what: String,
    },
    /// The object was replaced while it was read.
    #[error("{url}: the object changed while it was being read ({what}); run again when nothing writes to it")]
    Changed {
        /// The address.
        url: String,
        /// What differs.
        what: String,
    },
    /// The server sent other bytes than requested.
    #[error("{url}: the server does not keep to ranges ({what}); use a server that does, or download the files")]
    WrongRange {
        /// The address.
        url: String,
        /// What it sent.
        what: String,
    },
    /// The server cannot list.
    #[error("{url}: the server cannot list a folder ({what}); name one file, or use s3://, gs:// or az://")]
    NoListing {
        /// The address.
        url: String,
        /// The server's words.
        what: String,
    },
    /// A server sent more than the limit.
    #[error("{url}: {what}; give a smaller folder or object")]
    TooMuch {
        /// The address.
        url: String,
        /// What is too large.
        what: String,
    },
    /// The object exists with other content.
    #[error("{url}: another writer was there first ({what}); run again to see what it wrote")]
    Exists {
        /// The address.
        url: String,
        /// What differs.
        what: String,
    },
    /// The store has other bytes than those sent.
    #[error("{url}: the bytes were damaged on their way ({what}); run again, which sends the object anew")]
    Damaged {
        /// The address.
        url: String,
        /// The checksums.
        what: String,
    },
    /// The store lacks a required ability.
    #[error("{url}: {what}")]
    Unsupported {
        /// The address.
        url: String,
        /// The problem, and what to do instead.
        what: String,
    },
    /// Any other answer of a store.
    #[error("{url}: {what}; check the address, the region and the credentials")]
    Failed {
        /// The address.
        url: String,
        /// The server's words.
        what: String,
    },
    /// The upload was stopped.
    #[error("{url}: interrupted; what was sent stays, and the next run sends the rest")]
    Interrupted {
        /// The address.
        url: String,
    },
    /// A local file for fetched data cannot be made, read or written.
    #[error("{}: cannot {doing}: {source}; check space and permissions, or give another folder with --cache or TMPDIR", path.display())]
    Local {
        /// The file or folder.
        path: PathBuf,
        /// What failed.
        doing: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// An answer that is refused before it is read.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Other bytes than requested.
    WrongRange(String),
    /// More bytes than any answer of its kind has.
    TooMuch(String),
    /// No more bytes came.
    Stalled(String),
    /// The server has other bytes than those sent.
    Damaged(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::WrongRange(what) | Self::TooMuch(what) | Self::Stalled(what) | Self::Damaged(what)) = self;
        f.write_str(what)
    }
}

impl StdError for Refused {}

/// The first error of this type among `error` and its causes.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// An error and its causes, in one text.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let (mut text, mut next) = (error.to_string(), error.source());
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// The last cause of an error, shortened: a server's text may have any length.
fn words(error: &(dyn StdError + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let text = last.to_string();
    let code = tag(&text, "Code").map(|code| match tag(&text, "Message") {
        Some(message) => format!("{code}: {message}"),
        None => code.to_owned(),
    });
    cut(&code.unwrap_or(text))
}

fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} ...", &line[..at]),
        None => line,
    }
}

/// The content of an element of an error document of S3.
fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(content, _)| content)
}

impl RemoteError {
    /// The meaning of `error`, which occurred at `url`.
    pub(crate) fn of(url: &str, error: StoreError) -> Self {
        let url = url.to_owned();
        if let Some(refused) = find::<Refused>(&error) {
            let what = refused.to_string();
            return match refused {
                Refused::WrongRange(_) => Self::WrongRange { url, what },
                Refused::TooMuch(_) => Self::TooMuch { url, what },
                Refused::Stalled(_) => Self::Slow { url, what },
                Refused::Damaged(_) => Self::Damaged { url, what },
            };
        }
        let whole = chain(&error);
        let what = words(&error);
        let has = |parts: &[&str]| parts.iter().any(|part| whole.contains(part));
        if has(&[
            "ExpiredToken",
            "TokenRefreshRequired",
            "RequestExpired",
            "token expired",
            "AuthenticationFailed: Signature not valid in the specified time",
        ]) {
            return Self::Expired { url, what };
        }
        if has(&["169.254.169.254", "169.254.170.2", "metadata.google.internal"]) {
            return Self::NoCredentials { url };
        }
        match error {
            _ if has(&["NoSuchBucket", "NoSuchKey", "ContainerNotFound"]) => Self::NotFound { url },
            StoreError::NotFound { .. } => Self::NotFound { url },
            StoreError::Precondition { .. } => Self::Changed { url, what: "its version is another".to_owned() },
            StoreError::AlreadyExists { .. } => Self::Exists { url, what },
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => Self::Denied { url, what },
            _ if has(&[
                "Server returned non-2xx status code: 5",
                "Server returned non-2xx status code: 429",
                "SlowDown",
                "InternalError",
            ]) =>
            {
                Self::Unavailable { url, what }
            }
            _ if has(&["timed out", "Timeout", "deadline has elapsed"]) => Self::Slow { url, what },
            _ if has(&[
                "connection closed",
                "error decoding response body",
                "IncompleteMessage",
                "reset by peer",
                "end of file before",
                "error sending request",
                "error reading a body",
                "Connection refused",
            ]) =>
            {
                Self::Cut { url, what }
            }
            _ => Self::Failed { url, what },
        }
    }

    /// A function that makes an error of a local file.
    pub(crate) fn local(path: &std::path::Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Local { path, doing, source }
    }
}
