//! SHA-256 over canonical bytes.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// SHA-256.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes what is read through it.
pub struct Hashing<R> {
    reader: R,
    digest: Sha256,
}

impl<R> Hashing<R> {
    /// Nothing is read yet.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            digest: Sha256::new(),
        }
    }

    /// SHA-256 of everything that was read, in lower-case hexadecimal.
    pub fn sha256_hex(self) -> String {
        hex(&self.digest.finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.digest.update(&buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn the_digest_of_abc_is_the_published_one() {
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn what_is_read_in_pieces_has_the_digest_of_the_whole() {
        let mut hashing = Hashing::new(&b"abc"[..]);
        let mut piece = [0; 2];
        while hashing.read(&mut piece).unwrap() != 0 {}
        assert_eq!(hashing.sha256_hex(), sha256_hex(b"abc"));
    }
}
