//! What a judge that goes wrong may say.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A status, headers and a body.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// A status without a body.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// 200 with a body of JSON.
    pub(crate) fn json(body: impl Into<String>) -> Self {
        Self::status(200)
            .header("content-type", "application/json")
            .body(body.into())
    }

    /// 200 with a page that somebody in between made.
    pub(crate) fn html() -> Self {
        Self::status(200)
            .header("content-type", "text/html")
            .body("<html><body>Please sign in.</body></html>")
    }

    /// 302 to somewhere else.
    pub(crate) fn redirect(target: &str) -> Self {
        Self::status(302).header("location", target)
    }

    /// 200 with so many headers.
    pub(crate) fn many_headers(count: usize) -> Self {
        let reply = Self::json("{}");
        (0..count).fold(reply, |reply, at| reply.header(&format!("x-{at}"), "x"))
    }

    /// 200 with a body that is small on the wire, and so many bytes of zeros in truth.
    pub(crate) fn gzip_bomb(bytes: usize) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let zeros = vec![b'0'; 65_536];
        for _ in 0..bytes / zeros.len() {
            encoder.write_all(&zeros).unwrap();
        }
        Self::json("").gzipped(encoder.finish().unwrap())
    }

    /// The same answer, compressed.
    pub(crate) fn gzip(self) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&self.body).unwrap();
        self.gzipped(encoder.finish().unwrap())
    }

    fn gzipped(self, body: Vec<u8>) -> Self {
        self.header("content-encoding", "gzip").body(body)
    }

    /// With another header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With this body.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Its head over HTTP/1.1, with the length of the whole body.
    pub(super) fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        head
    }
}
