//! An object server on the loopback with faults on demand: GET and HEAD with ranges, PUT with conditions, and the
//! PROPFIND that `object_store` uses for listing.

#![allow(dead_code, reason = "each user of this file needs a part of it")]

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A fault of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers with this status.
    Status(u16),
    /// Answers 403 with S3's code for expired credentials.
    Expired,
    /// Sends this many bytes of the body, and closes the connection.
    Cut(usize),
    /// Sends this many bytes of the body, and nothing more.
    Stall(usize),
    /// Sends the whole object with status 200.
    Whole,
    /// Sends bytes from elsewhere, and says so.
    OtherRange,
    /// Announces the requested range, and continues beyond it.
    TooMany,
    /// Announces the requested range, and sends one byte less, as its length says.
    Short,
    /// Answers with status 503, whose text is sent in chunks and has no length.
    Chunked,
    /// Sends what was asked for, and closes the connection.
    Close,
    /// Sends a listing that does not end.
    EndlessList,
    /// Sends the request to another place.
    Redirect,
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub range: Option<Range<u64>>,
    /// The bytes of the body that were sent.
    pub sent: u64,
}

type Plan = Box<dyn Fn(usize, &Seen) -> Option<Fault> + Send + Sync>;

/// The bytes of an object, in memory or mapped.
type Content = Arc<dyn AsRef<[u8]> + Send + Sync>;

struct Object {
    bytes: Content,
    version: u64,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    versions: u64,
    seen: Vec<Seen>,
}

/// A server that lives as long as the process.
#[derive(Clone)]
pub struct Server {
    pub url: String,
    state: Arc<Mutex<State>>,
    plan: Arc<Mutex<Option<Plan>>>,
    pace: Arc<Mutex<Option<Pace>>>,
}

/// A network with this many bytes per second, which all connections share.
struct Pace {
    per_second: f64,
    /// When the bytes that were sent so far have gone through.
    free: Instant,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { url, state: Arc::default(), plan: Arc::default(), pace: Arc::default() };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                thread::spawn(move || drop(server.serve(stream)));
            }
        });
        server
    }

    /// Puts an object, in place of one that is there.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.put_content(path, Arc::new(bytes.into()));
    }

    /// Puts an object that lies elsewhere.
    pub fn put_content(&self, path: &str, bytes: Content) {
        let mut state = self.state.lock().unwrap();
        state.versions += 1;
        let version = state.versions;
        state.objects.insert(path.to_owned(), Object { bytes, version });
    }

    /// Puts every file below `folder`, as objects below `path`.
    pub fn put_folder(&self, path: &str, folder: &std::path::Path) {
        for item in std::fs::read_dir(folder).unwrap().flatten() {
            let at = format!("{path}/{}", item.file_name().to_string_lossy());
            if item.path().is_dir() {
                self.put_folder(&at, &item.path());
            } else {
                self.put(&at, std::fs::read(item.path()).unwrap());
            }
        }
    }

    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.state.lock().unwrap().objects.get(path).map(|object| (*object.bytes).as_ref().to_vec())
    }

    pub fn paths(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }

    /// Applies `plan` to every request from now on, giving it the number of the request.
    pub fn fail(&self, plan: impl Fn(usize, &Seen) -> Option<Fault> + Send + Sync + 'static) {
        self.state.lock().unwrap().seen.clear();
        *self.plan.lock().unwrap() = Some(Box::new(plan));
    }

    /// Sends at most this many bytes per second from now on, over all connections together.
    pub fn pace(&self, per_second: Option<f64>) {
        *self.pace.lock().unwrap() = per_second.map(|per_second| Pace { per_second, free: Instant::now() });
    }

    /// Sends a body as fast as the network of [`Server::pace`] takes it.
    fn send(&self, stream: &mut TcpStream, body: &[u8]) -> io::Result<()> {
        let Some(chunk) = self.pace.lock().unwrap().as_ref().map(|_| 64 << 10) else { return stream.write_all(body) };
        for part in body.chunks(chunk) {
            let wait = self.pace.lock().unwrap().as_mut().map(|pace| {
                let now = Instant::now();
                // What a pause left unused is gone, but for the time that a thread oversleeps.
                pace.free = pace.free.max(now - Duration::from_millis(5))
                    + Duration::from_secs_f64(part.len() as f64 / pace.per_second);
                pace.free.saturating_duration_since(now)
            });
            thread::sleep(wait.unwrap_or_default());
            stream.write_all(part)?;
        }
        Ok(())
    }

    /// Answers every request as it should from now on.
    pub fn mend(&self) {
        *self.plan.lock().unwrap() = None;
    }

    /// The requests since the last call.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.state.lock().unwrap().seen)
    }

    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let mut words = line.split_whitespace();
            let (method, path) = (words.next().unwrap_or("").to_owned(), words.next().unwrap_or("").to_owned());
            let mut headers = BTreeMap::new();
            loop {
                let mut line = String::new();
                reader.read_line(&mut line)?;
                let Some((name, value)) = line.trim().split_once(':') else { break };
                headers.insert(name.to_lowercase(), value.trim().to_owned());
            }
            let length: usize = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            if !self.answer(&mut stream, &method, &path, &headers, body)? {
                return Ok(());
            }
        }
    }

    /// Answers a request; returns whether the connection continues.
    fn answer(
        &self,
        stream: &mut TcpStream,
        method: &str,
        path: &str,
        headers: &BTreeMap<String, String>,
        body: Vec<u8>,
    ) -> io::Result<bool> {
        let range = headers.get("range").and_then(|text| {
            let (start, end) = text.strip_prefix("bytes=")?.split_once('-')?;
            Some(start.parse().ok()?..end.parse::<u64>().ok()? + 1)
        });
        let mut seen = Seen { method: method.to_owned(), path: path.to_owned(), range: range.clone(), sent: 0 };
        let number = self.state.lock().unwrap().seen.len();
        let fault = self.plan.lock().unwrap().as_ref().and_then(|plan| plan(number, &seen));
        let (object, exists) = {
            let mut state = self.state.lock().unwrap();
            let exists = state.objects.contains_key(path);
            if method == "PUT" && fault.is_none() && !(exists && headers.contains_key("if-none-match")) {
                state.versions += 1;
                let version = state.versions;
                state.objects.insert(path.to_owned(), Object { bytes: Arc::new(body), version });
            }
            (state.objects.get(path).map(|object| (Arc::clone(&object.bytes), object.version)), exists)
        };
        let record = |sent: u64, mut seen: Seen| {
            seen.sent = sent;
            self.state.lock().unwrap().seen.push(seen);
        };
        let (status, text) = match fault {
            Some(Fault::Status(status)) => {
                (status, "<Error><Code>SlowDown</Code><Message>later</Message></Error>".to_owned())
            }
            Some(Fault::Expired) => (
                403,
                "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>".to_owned(),
            ),
            Some(Fault::Chunked) => {
                record(0, seen);
                let text = "<Error><Code>SlowDown</Code><Message>later</Message></Error>";
                write!(
                    stream,
                    "HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n",
                    text.len()
                )?;
                return Ok(true);
            }
            Some(Fault::Redirect) => {
                record(0, seen);
                write!(stream, "HTTP/1.1 302 Found\r\nLocation: {}{path}x\r\nContent-Length: 0\r\n\r\n", self.url)?;
                return Ok(true);
            }
            Some(Fault::EndlessList) => {
                record(0, seen);
                write!(stream, "HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                let text = "<x/>".repeat(16 << 10);
                loop {
                    write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
                }
            }
            _ if method == "PROPFIND" && !self.has_below(path) => (404, String::new()),
            _ if method == "PROPFIND" => {
                (207, self.listing(path, headers.get("depth").is_some_and(|depth| depth == "1")))
            }
            _ if method == "PUT" && exists && headers.contains_key("if-none-match") => (412, String::new()),
            _ if method == "PUT" => (201, String::new()),
            _ if object.is_none() => (404, "not found".to_owned()),
            _ => (200, String::new()),
        };
        let Some((bytes, version)) = object.filter(|_| status == 200) else {
            // An answer to HEAD has no body: the client would take it for the next answer.
            let sent = if method == "HEAD" { "" } else { text.as_str() };
            record(sent.len() as u64, seen);
            write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{sent}", text.len())?;
            return Ok(true);
        };
        let etag = format!("\"v{version}\"");
        if headers.get("if-match").is_some_and(|wanted| *wanted != etag) {
            record(0, seen);
            write!(stream, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        }
        let bytes: &[u8] = (*bytes).as_ref();
        let size = bytes.len() as u64;
        let mut sent = range.clone().unwrap_or(0..size);
        sent.end = sent.end.min(size);
        match fault {
            Some(Fault::Whole) => sent = 0..size,
            Some(Fault::OtherRange) => sent = 0..(sent.end - sent.start),
            _ => {}
        }
        let is_partial = range.is_some() && fault != Some(Fault::Whole);
        let more = if fault == Some(Fault::TooMany) { 1000 } else { 0 };
        let less = if fault == Some(Fault::Short) { 1 } else { 0 };
        let length = sent.end - sent.start + more as u64 - less;
        let mut head = format!("HTTP/1.1 {} X\r\nETag: {etag}\r\n", if is_partial { 206 } else { 200 });
        head.push_str("Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n");
        if is_partial {
            let last = sent.end.saturating_sub(1);
            head.push_str(&format!("Content-Range: bytes {}-{last}/{size}\r\n", sent.start));
        }
        head.push_str(&format!("Content-Length: {length}\r\n"));
        if fault == Some(Fault::Close) {
            head.push_str("Connection: close\r\n");
        }
        stream.write_all(head.as_bytes())?;
        stream.write_all(b"\r\n")?;
        if method == "HEAD" {
            record(0, seen);
            return Ok(true);
        }
        let body = &bytes[sent.start as usize..sent.end as usize];
        let body = match fault {
            Some(Fault::Cut(limit) | Fault::Stall(limit)) => &body[..limit.min(body.len())],
            Some(Fault::Short) => &body[..body.len() - 1],
            _ => body,
        };
        seen.sent = body.len() as u64;
        self.state.lock().unwrap().seen.push(seen);
        self.send(stream, body)?;
        stream.write_all(&vec![0; more])?;
        match fault {
            Some(Fault::Cut(_) | Fault::TooMany | Fault::Close) => Ok(false),
            Some(Fault::Stall(_)) => {
                thread::sleep(Duration::from_secs(3600));
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    fn has_below(&self, path: &str) -> bool {
        let path = format!("{}/", path.trim_end_matches('/'));
        let state = self.state.lock().unwrap();
        state.objects.range(path.clone()..).next().is_some_and(|(at, _)| at.starts_with(&path))
    }

    /// Every object below `path`, as WebDAV lists them.
    fn listing(&self, path: &str, is_flat: bool) -> String {
        let path = format!("{}/", path.trim_end_matches('/'));
        let state = self.state.lock().unwrap();
        let mut text = String::from("<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">");
        let mut folders = std::collections::BTreeSet::new();
        for (at, object) in state.objects.range(path.clone()..).take_while(|(at, _)| at.starts_with(&path)) {
            let within = &at[path.len()..];
            let depth = if is_flat { 1 } else { usize::MAX };
            folders.extend(within.match_indices('/').take(depth).map(|(end, _)| format!("{path}{}", &within[..end])));
            if is_flat && within.contains('/') {
                continue;
            }
            text.push_str(&format!(
                "<D:response><D:href>{at}</D:href><D:propstat><D:prop><D:getlastmodified>Thu, 01 Jan 2026 00:00:00 GMT\
                 </D:getlastmodified><D:getcontentlength>{}</D:getcontentlength><D:resourcetype/><D:getetag>\"v{}\"\
                 </D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>",
                (*object.bytes).as_ref().len(),
                object.version
            ));
        }
        for folder in folders {
            text.push_str(&format!(
                "<D:response><D:href>{folder}/</D:href><D:propstat><D:prop><D:getlastmodified>Thu, 01 Jan 2026 00:00:00 \
                 GMT</D:getlastmodified><D:resourcetype><D:collection/></D:resourcetype></D:prop><D:status>HTTP/1.1 200 \
                 OK</D:status></D:propstat></D:response>"
            ));
        }
        text.push_str("</D:multistatus>");
        text
    }
}
