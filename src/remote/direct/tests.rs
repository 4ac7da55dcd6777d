use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use http_body_util::BodyExt;

use super::*;
use crate::client::runtime;

/// What a server's `answer` to a request for bytes 2 to 6 leaves in `file`: the lengths of the frames, and the failure.
fn received(answer: &'static str, file: File) -> Option<(Vec<usize>, Option<RemoteError>)> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/object", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        // Byte by byte: a head may come in any number of parts. A client that has seen enough closes the connection.
        let _ = answer.bytes().try_for_each(|byte| stream.write_all(&[byte]));
        String::from_utf8(head).unwrap()
    });
    let mut request = HttpRequest::new(Bytes::new().into());
    *request.uri_mut() = url.parse().unwrap();
    request.headers_mut().insert("range", HeaderValue::from_static("bytes=2-5"));
    let target = Target::new(&Arc::new(Sink { file, path: Path::new("file").to_owned() }));
    let frames = runtime().block_on(async {
        let response = Direct::default().get(&request, &(2..6), &target).await.unwrap()?;
        let (mut lengths, mut body) = (Vec::new(), response.into_body());
        while let Some(frame) = body.frame().await {
            let bytes = frame.unwrap().into_data().unwrap();
            assert!(is_placed(&bytes));
            lengths.push(bytes.len());
        }
        Some(lengths)
    });
    let head = server.join().unwrap();
    assert!(head.starts_with("GET /object HTTP/1.1\r\nhost: 127.0.0.1:"), "{head}");
    assert!(head.contains("\r\nrange: bytes=2-5\r\n"), "{head}");
    frames.map(|frames| (frames, target.take_failure()))
}

#[test]
fn a_range_is_written_to_its_place() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(8).unwrap();
    let answer = "HTTP/1.1 206 X\r\nContent-Range: bytes 2-5/8\r\nContent-Length: 4\r\n\r\nabcd";
    let (frames, failure) = received(answer, file.try_clone().unwrap()).unwrap();
    assert_eq!((frames.iter().sum::<usize>(), failure.is_none()), (4, true));
    let mut bytes = [1; 8];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 0).unwrap();
    assert_eq!(&bytes, b"\0\0abcd\0\0");
}

#[test]
fn a_file_that_cannot_be_written_is_the_error_of_the_reader() {
    let answer = "HTTP/1.1 206 X\r\nContent-Length: 4\r\n\r\nabcd";
    let (frames, failure) = received(answer, File::open("/dev/null").unwrap()).unwrap();
    assert_eq!(frames.iter().sum::<usize>(), 4, "the bytes are not asked for again");
    assert!(matches!(failure, Some(RemoteError::Local { .. })), "{failure:?}");
}

#[test]
fn other_answers_are_left_to_the_general_client() {
    for answer in [
        "HTTP/1.1 206 X\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 206 X\r\nContent-Length: 4\r\nContent-Length: 400\r\n\r\nabcd",
        "HTTP/1.1 302 X\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 206 X\r\n\r\n",
        "SSH-2.0-server\r\n",
    ] {
        assert!(received(answer, tempfile::tempfile().unwrap()).is_none(), "{answer}");
    }
}
