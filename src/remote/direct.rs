//! [`Direct`]: ranges of plain-HTTP servers, received straight into the local file.
//!
//! A general client copies an answer through many small buffers and tasks. Here, the bytes of a range go from the
//! socket into one buffer, which stays in the processor's cache, and from there into the file that workers map. All else
//! is as usual: `object_store` signs, retries and reports, and the guard checks every answer. Both see an answer of the
//! right length, with placeholders for bytes that are already in their place ([`is_placed`]).

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use http::{Method, StatusCode, Version};
use http_body::Frame;
use http_body_util::StreamBody;
use object_store::client::{HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::error::RemoteError;
use crate::sink::Sink;

/// The number of bytes that are received before they are written: few enough for the processor's cache.
const CHUNK: usize = 256 << 10;

/// The largest head of an answer, and the largest body that is not a range.
const SMALL: usize = 64 << 10;

/// The most header fields of an answer.
const FIELDS: usize = 100;

/// The most connections that are kept for later requests.
const IDLE: usize = 32;

/// Stands for bytes that are in their place. The zeros are never read, so they take no memory.
static PLACED: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; CHUNK]));

thread_local! {
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; CHUNK]);
}

/// Whether `bytes` are placeholders for bytes that were written to the target.
pub(crate) fn is_placed(bytes: &[u8]) -> bool {
    PLACED.as_ptr_range().contains(&bytes.as_ptr())
}

/// The file that the bytes of a range may be received into: an extension of the request.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    sink: Arc<Sink>,
    failure: Arc<Mutex<Option<RemoteError>>>,
}

impl Target {
    pub fn new(sink: &Arc<Sink>) -> Self {
        Self { sink: Arc::clone(sink), failure: Arc::default() }
    }

    /// The first error of writing to the file, once.
    pub fn take_failure(&self) -> Option<RemoteError> {
        self.failure().take()
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<RemoteError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes bytes at their place. A failure is kept for the reader: the client would only ask for the bytes again.
    fn write(&self, at: u64, bytes: &[u8]) {
        if let Err(error) = self.sink.write(at, bytes) {
            self.failure().get_or_insert(error);
        }
    }
}

/// The connections to plain-HTTP servers.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    idle: Arc<Mutex<Vec<Connection>>>,
}

#[derive(Debug)]
struct Connection {
    host: String,
    stream: TcpStream,
}

/// An answer whose body is still in the socket.
struct Answer {
    connection: Connection,
    response: HttpResponse,
    /// Bytes of the body that came with the head.
    front: Vec<u8>,
    /// The length of the body, if the head says it.
    length: Option<u64>,
    /// Whether the connection can be used again after the body.
    stays: bool,
}

impl Direct {
    /// Sends a request for the bytes `asked`, and returns the answer, whose body is received into `target`. `None` if only
    /// the general client can do this: the server uses TLS, frames its answer in another way, or redirects.
    pub async fn get(
        &self,
        request: &HttpRequest,
        asked: &Range<u64>,
        target: &Target,
    ) -> Result<Option<HttpResponse>, HttpError> {
        let uri = request.uri();
        let (Some("http"), Some(host), &Method::GET) = (uri.scheme_str(), uri.host(), request.method()) else {
            return Ok(None);
        };
        let host = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        let connection = match self.reuse(&host) {
            Some(connection) => connection,
            None => Connection::open(host).await.map_err(|error| HttpError::new(HttpErrorKind::Connect, error))?,
        };
        let interrupted = |error| HttpError::new(HttpErrorKind::Interrupted, error);
        let Some(mut answer) = connection.ask(request).await.map_err(interrupted)? else { return Ok(None) };
        let status = answer.response.status();
        match answer.length {
            Some(length) if status == StatusCode::PARTIAL_CONTENT => {
                Ok(Some(self.range(answer, length, asked, target)))
            }
            // The guard refuses it for its status, and reads no body.
            _ if status.is_success() => Ok(Some(answer.response)),
            Some(length) if !status.is_redirection() && length <= SMALL as u64 => {
                let body = answer.read_small(length as usize).await.map_err(interrupted)?;
                if answer.stays {
                    keep(&self.idle, answer.connection);
                }
                Ok(Some(HttpResponse::from_parts(answer.response.into_parts().0, body.into())))
            }
            _ => Ok(None),
        }
    }

    /// A connection to `host` that is idle and still open.
    fn reuse(&self, host: &str) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(at) = idle.iter().rposition(|connection| connection.host == host) {
            let connection = idle.swap_remove(at);
            let read = connection.stream.try_read(&mut [0]);
            if read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return Some(connection);
            }
        }
        None
    }

    /// The answer with a body of `length` bytes that is written to `target` while it is read.
    fn range(&self, answer: Answer, length: u64, asked: &Range<u64>, target: &Target) -> HttpResponse {
        let (parts, _) = answer.response.into_parts();
        let body = Body {
            connection: answer.connection,
            front: answer.front,
            target: target.clone(),
            at: asked.start,
            end: asked.end,
            left: length,
            idle: answer.stays.then(|| Arc::clone(&self.idle)),
        };
        let frames = futures_util::stream::try_unfold(body, |mut body| async move {
            let next = body.next().await.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?;
            Ok::<_, HttpError>(match next {
                Some(count) => Some((Frame::data(PLACED.slice(..count)), body)),
                None => {
                    body.release();
                    None
                }
            })
        });
        HttpResponse::from_parts(parts, HttpResponseBody::new(StreamBody::new(frames)))
    }
}

fn keep(idle: &Mutex<Vec<Connection>>, connection: Connection) {
    let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
    if idle.len() < IDLE {
        idle.push(connection);
    }
}

impl Connection {
    async fn open(host: String) -> io::Result<Self> {
        let stream = TcpStream::connect(&host).await?;
        stream.set_nodelay(true)?;
        Ok(Self { host, stream })
    }

    /// Sends the request and reads the head of the answer; `None` if it is not one that this client reads.
    async fn ask(mut self, request: &HttpRequest) -> io::Result<Option<Answer>> {
        self.stream.write_all(&head_of(request)).await?;
        let mut bytes = Vec::with_capacity(4 << 10);
        loop {
            let more = self.stream.read_buf(&mut bytes).await?;
            if more == 0 {
                let what = "connection closed before the answer";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            let mut fields = [httparse::EMPTY_HEADER; FIELDS];
            let mut head = httparse::Response::new(&mut fields);
            match head.parse(&bytes) {
                Ok(httparse::Status::Complete(end)) => {
                    let Some(response) = response_of(&head) else { return Ok(None) };
                    bytes.drain(..end);
                    return Ok(Answer::new(self, response, bytes));
                }
                Ok(httparse::Status::Partial) if bytes.len() < SMALL => {}
                _ => return Ok(None),
            }
        }
    }
}

/// The head of a request as it is sent.
fn head_of(request: &HttpRequest) -> Vec<u8> {
    let uri = request.uri();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut head = format!("GET {path} HTTP/1.1\r\n").into_bytes();
    let mut field = |name: &HeaderName, value: &[u8]| {
        head.extend([name.as_str().as_bytes(), b": ", value, b"\r\n"].concat());
    };
    if !request.headers().contains_key(HOST)
        && let Some(host) = uri.authority()
    {
        field(&HOST, host.as_str().as_bytes());
    }
    if !request.headers().contains_key(USER_AGENT) {
        field(&USER_AGENT, concat!("plimsoll/", env!("CARGO_PKG_VERSION")).as_bytes());
    }
    request.headers().iter().for_each(|(name, value)| field(name, value.as_bytes()));
    head.extend(b"\r\n");
    head
}

/// The status and the header fields of an answer; `None` if one is not valid.
fn response_of(head: &httparse::Response<'_, '_>) -> Option<HttpResponse> {
    let mut response = HttpResponse::new(Bytes::new().into());
    *response.status_mut() = StatusCode::from_u16(head.code?).ok()?;
    *response.version_mut() = if head.version? == 1 { Version::HTTP_11 } else { Version::HTTP_10 };
    for field in head.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        response.headers_mut().append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    Some(response)
}

impl Answer {
    /// `None` if more than one answer is to come, or the body is not framed by its length alone.
    fn new(connection: Connection, response: HttpResponse, front: Vec<u8>) -> Option<Self> {
        let headers = response.headers();
        if response.status().is_informational() || headers.contains_key(TRANSFER_ENCODING) {
            return None;
        }
        let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
        let length = match (lengths.next(), lengths.next()) {
            (Some(length), None) => Some(length.to_str().ok()?.trim().parse().ok()?),
            (None, None) => None,
            // Two lengths are how an answer is smuggled into another.
            _ => return None,
        };
        let closes = headers.get_all(CONNECTION).iter().any(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        let stays = !closes && response.version() == Version::HTTP_11;
        Some(Self { connection, response, front, length, stays })
    }

    async fn read_small(&mut self, length: usize) -> io::Result<Bytes> {
        let mut body = std::mem::take(&mut self.front);
        // What follows the body belongs to no request.
        self.stays &= body.len() <= length;
        let more = body.len().min(length);
        body.resize(length, 0);
        self.connection.stream.read_exact(&mut body[more..]).await?;
        Ok(body.into())
    }
}

/// A body that is being received.
struct Body {
    connection: Connection,
    front: Vec<u8>,
    target: Target,
    /// The place of the next byte in the file.
    at: u64,
    /// The end of the range that was asked for: nothing is written beyond it.
    end: u64,
    /// The bytes of the body that are to come.
    left: u64,
    /// Where the connection goes after the body, if it stays open.
    idle: Option<Arc<Mutex<Vec<Connection>>>>,
}

impl Body {
    /// Receives and writes the next bytes: their number, or `None` at the end of the body or of the connection.
    async fn next(&mut self) -> io::Result<Option<usize>> {
        if self.left == 0 {
            return Ok(None);
        }
        let most = self.left.min(self.end - self.at).min(CHUNK as u64) as usize;
        if most == 0 {
            // The guard refuses a body that is longer than what was asked for.
            return Ok(Some(1));
        }
        let count = if self.front.is_empty() {
            self.receive(most).await?
        } else {
            let count = most.min(self.front.len());
            self.target.write(self.at, &self.front[..count]);
            self.front.drain(..count);
            count
        };
        self.at += count as u64;
        self.left -= count as u64;
        Ok((count > 0).then_some(count))
    }

    /// Receives and writes what is there, up to `most` bytes; waits for the first. 0 at the end of the connection.
    async fn receive(&self, most: usize) -> io::Result<usize> {
        let stream = &self.connection.stream;
        loop {
            stream.readable().await?;
            let received = BUFFER.with_borrow_mut(|buffer| {
                let mut count = 0;
                while count < most {
                    match stream.try_read(&mut buffer[count..most]) {
                        Ok(0) => break,
                        Ok(more) => count += more,
                        Err(error) if count == 0 => return Err(error),
                        // Reported by the next call, unless there is more by then.
                        Err(_) => break,
                    }
                }
                if count > 0 {
                    self.target.write(self.at, &buffer[..count]);
                }
                Ok(count)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return received,
            }
        }
    }

    /// Keeps the connection, if its body is read and nothing follows it.
    fn release(self) {
        if let Some(idle) = self.idle.filter(|_| self.left == 0 && self.front.is_empty()) {
            keep(&idle, self.connection);
        }
    }
}

#[cfg(test)]
mod tests;
