//! Captures, stores and documents of Plimsoll in object stores: S3, GCS, Azure Blob Storage, and files of HTTP servers.
//!
//! An address (`s3://BUCKET/PATH`, `gs://`, `az://`, `https://`) is opened as a [`Mirror`]: a local folder whose files
//! have the names and sizes of the objects, and are filled by range as `plimsoll-capture` reads them. The reader, the
//! kernels' workers and every other user of a path stay unchanged.
//!
//! Stores and servers are not trusted: every answer is bounded and checked against the request, names lead nowhere
//! else, and each request asks for the listed version. Credentials come from the environment, by the conventions of
//! `object_store`.

mod address;
mod ahead;
mod cache;
mod client;
mod error;
mod guard;
mod mirror;
mod open;
mod options;
mod range_set;
mod sink;
mod upload;

pub use error::RemoteError;
pub use mirror::Mirror;
pub use open::{open, open_documents, probe, write_document};
pub use options::Options;
pub use upload::{Upload, Uploaded};
