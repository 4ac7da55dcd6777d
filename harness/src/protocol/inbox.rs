//! [`Inbox`]: splits the bytes of a worker into answers.
//!
//! A worker may be hostile, so the kept part of a message and the memory to read it are bounded.

use super::Reply;

/// The longest message that a worker may send, in bytes.
const LONGEST_MESSAGE: usize = 64 << 20;
/// The most values in a message, estimated from brackets and commas: each takes up to 32 bytes while it is read.
const MOST_VALUES: usize = 4 << 20;
/// How much of a refused message is shown.
const SHOWN: usize = 200;

/// Bytes of a worker that were not taken yet.
#[derive(Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// How many of the bytes are known to contain no end of line.
    scanned: usize,
    /// How many values the next message may have beside [`MOST_VALUES`].
    more_values: usize,
}

impl Inbox {
    /// Whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The awaited answer has a time for each of this many launches.
    pub fn expect(&mut self, launches: usize) {
        self.more_values = launches;
    }

    /// Adds bytes that were read.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message; `None` until its end has come.
    ///
    /// # Errors
    /// What the worker sent that is not of the protocol.
    pub fn take(&mut self) -> Result<Option<Reply>, String> {
        let longest = LONGEST_MESSAGE + 32 * self.more_values;
        let Some(end) = self.bytes[self.scanned..].iter().position(|&byte| byte == b'\n') else {
            self.scanned = self.bytes.len();
            if self.bytes.len() > longest {
                return Err(format!("a message of more than {longest} bytes"));
            }
            return Ok(None);
        };
        let rest = self.bytes.split_off(self.scanned + end + 1);
        let message = std::mem::replace(&mut self.bytes, rest);
        self.scanned = 0;
        self.read(&message[..message.len() - 1]).map(Some)
    }

    fn read(&self, message: &[u8]) -> Result<Reply, String> {
        let most = MOST_VALUES + self.more_values;
        let values = message.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
        if values > most {
            return Err(format!("a message of more than {most} values"));
        }
        serde_json::from_slice(message).map_err(|error| {
            let front = String::from_utf8_lossy(&message[..message.len().min(SHOWN)]);
            format!("a message that is not of the protocol ({error}): {front}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_any_pieces() {
        let lines = b"{\"type\":\"ready\",\"id\":7}\n{\"type\":\"released\"}\n";
        for size in 1..lines.len() {
            let mut inbox = Inbox::default();
            let mut found = Vec::new();
            for piece in lines.chunks(size) {
                inbox.add(piece);
                while let Some(reply) = inbox.take().unwrap() {
                    found.push(reply);
                }
            }
            assert_eq!(found, [Reply::Ready { id: 7 }, Reply::CachesDropped]);
            assert!(inbox.is_empty());
        }
    }

    #[test]
    fn an_endless_line_is_refused_and_so_are_countless_values() {
        let mut inbox = Inbox::default();
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..100).find_map(|_| {
            inbox.add(&piece);
            inbox.take().err()
        });
        assert_eq!(refused.unwrap(), format!("a message of more than {LONGEST_MESSAGE} bytes"));
        let mut inbox = Inbox::default();
        let times = |count: usize| {
            format!("{{\"type\":\"region\",\"id\":1,\"durations_ns\":[1{}],\"outputs\":[]}}\n", ",1".repeat(count))
        };
        inbox.add(times(MOST_VALUES).as_bytes());
        assert_eq!(inbox.take().unwrap_err(), format!("a message of more than {MOST_VALUES} values"));
        inbox.expect(MOST_VALUES);
        inbox.add(times(MOST_VALUES).as_bytes());
        assert!(matches!(inbox.take(), Ok(Some(Reply::Region { .. }))), "as many as were asked for");
    }
}
