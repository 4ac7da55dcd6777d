//! [`Guard`]: an HTTP client that checks that servers send only what was requested.
//!
//! A server is not trusted: it may send a whole object for a range, another range, an endless listing, or nothing at
//! all. Each answer is checked before its first byte is passed on, also after a retry; none may be longer than
//! requested, and none may stall. For an upload, the server's own checksum is compared with the bytes sent.

use std::ops::Range;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::{FutureExt, TryStreamExt};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use md5::{Digest as _, Md5};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody,
    HttpService, ReqwestConnector,
};

use crate::error::Refused;

/// The longest answer that is not a range of an object: a page of a listing has 1,000 names.
const ANSWER: u64 = 16 << 20;

/// Makes [`Guard`]s.
#[derive(Debug)]
pub struct GuardedConnector {
    /// How long a server may send nothing.
    pub patience: Duration,
}

impl HttpConnector for GuardedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let inner = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Guard { inner, patience: self.patience }))
    }
}

/// A client whose answers are checked.
#[derive(Debug)]
struct Guard {
    inner: HttpClient,
    patience: Duration,
}

fn refused(kind: HttpErrorKind, refused: Refused) -> HttpError {
    HttpError::new(kind, refused)
}

/// The bytes that a `Range` header asks for.
fn asked(request: &HttpRequest) -> Option<Range<u64>> {
    let text = request.headers().get("range")?.to_str().ok()?;
    let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
    Some(start..end.checked_add(1)?)
}

/// The bytes that a `Content-Range` header announces.
fn announced(response: &HttpResponse) -> Option<Range<u64>> {
    let text = response.headers().get("content-range")?.to_str().ok()?;
    let (start, end) = text.trim().strip_prefix("bytes ")?.split_once('/')?.0.split_once('-')?;
    let (start, end): (u64, u64) = (start.parse().ok()?, end.parse().ok()?);
    Some(start..end.checked_add(1)?)
}

/// The most bytes that the answer to a request may have.
fn limit(asked: Option<Range<u64>>, response: &HttpResponse) -> Result<u64, Refused> {
    let Some(asked) = asked.filter(|_| response.status().is_success()) else { return Ok(ANSWER) };
    if response.status().as_u16() != 206 {
        let what = format!("status {} for bytes {} to {}", response.status().as_u16(), asked.start, asked.end);
        return Err(Refused::WrongRange(what));
    }
    match announced(response) {
        Some(announced) if announced == asked => Ok(asked.end - asked.start),
        Some(announced) => Err(Refused::WrongRange(format!(
            "bytes {} to {} for bytes {} to {}",
            announced.start, announced.end, asked.start, asked.end
        ))),
        None => Err(Refused::WrongRange(format!("no Content-Range for bytes {} to {}", asked.start, asked.end))),
    }
}

/// Fails if the server keeps other bytes than those sent. Azure and GCS return the MD5 of what they received; S3 gets a
/// checksum with every request, and refuses by itself.
fn arrived(sent: HttpRequestBody, response: &HttpResponse) -> Result<(), Refused> {
    let texts = |name: &str| response.headers().get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    let hashes = texts("x-goog-hash").flat_map(|hashes| hashes.split(','));
    let of_google = hashes.filter_map(|hash| hash.trim().strip_prefix("md5=")).next();
    let Some(there) = of_google.or_else(|| texts("content-md5").next()) else { return Ok(()) };
    // The bytes are in memory.
    let Some(Ok(sent)) = sent.collect().now_or_never() else { return Ok(()) };
    let here = STANDARD.encode(Md5::digest(sent.to_bytes()));
    if here == there.trim() { Ok(()) } else { Err(Refused::Damaged(format!("MD5 {there} instead of {here}"))) }
}

impl HttpService for Guard {
    fn call<'a, 'f>(
        &'a self,
        request: HttpRequest,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        async move {
            let (asked, patience) = (asked(&request), self.patience);
            let stalled = move || {
                let what = format!("{} s", patience.as_secs_f64());
                refused(HttpErrorKind::Timeout, Refused::Stalled(what))
            };
            // An upload may take as long as it needs: its answer comes at the end. (`is_empty` is wrong for payloads.)
            let upload = request.body().content_length() > 0;
            let response = match upload {
                true => {
                    let sent = request.body().clone();
                    let is_put = request.method().as_str() == "PUT";
                    let response = self.inner.execute(request).await?;
                    if is_put && response.status().is_success() {
                        arrived(sent, &response).map_err(|error| refused(HttpErrorKind::Unknown, error))?;
                    }
                    response
                }
                false => tokio::time::timeout(patience, self.inner.execute(request)).await.map_err(|_| stalled())??,
            };
            let exact = asked.is_some() && response.status().is_success();
            let limit = limit(asked, &response).map_err(|error| refused(HttpErrorKind::Unknown, error))?;
            let (parts, body) = response.into_parts();
            let state = (body, limit);
            let frames = futures_util::stream::try_unfold(state, move |(mut body, left)| async move {
                let next = tokio::time::timeout(patience, body.frame()).await.map_err(|_| stalled())?;
                let bytes = next.transpose()?.map(|frame| frame.into_data().unwrap_or_default());
                match bytes {
                    Some(bytes) if bytes.len() as u64 > left => {
                        let error = if exact {
                            Refused::WrongRange("more bytes than its Content-Range says".to_owned())
                        } else {
                            Refused::TooMuch(format!("the server sent an answer of more than {ANSWER} bytes"))
                        };
                        Err(refused(HttpErrorKind::Unknown, error))
                    }
                    Some(bytes) => {
                        let left = left - bytes.len() as u64;
                        Ok(Some((bytes, (body, left))))
                    }
                    // After an answer that is cut, the rest is requested again.
                    None if exact && left > 0 => {
                        let error = std::io::Error::new(
                            std::io::ErrorKind::UnexpectedEof,
                            "connection closed within the answer",
                        );
                        Err(HttpError::new(HttpErrorKind::Interrupted, error))
                    }
                    None => Ok(None),
                }
            });
            let body = StreamBody::new(frames.map_ok(|bytes: Bytes| Frame::data(bytes)));
            Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
        }
        .boxed()
    }
}
