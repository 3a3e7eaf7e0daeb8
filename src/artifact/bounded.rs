//! Files that a configuration or a flag names: regular, and if they are read whole not longer than they may be.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a file of at most `max` bytes. The error tells what is wrong and never what the file holds.
pub fn read(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(file)?.take(max + 1).read_to_end(&mut bytes)?;
    if max < bytes.len() as u64 {
        return Err(io::Error::other(format!("it is longer than {max} bytes")));
    }
    Ok(bytes)
}

/// Opens a file to read it.
pub fn open(file: &Path) -> io::Result<File> {
    // A pipe would be waited for.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    File::open(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_of_at_most_so_many_bytes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "four").unwrap();
        assert_eq!(read(&file, 4).unwrap(), b"four");
        for (file, max, problem) in [
            (file.as_path(), 3, "it is longer than 3 bytes"),
            (folder.path(), 3, "it is not a file"),
            (Path::new("/dev/zero"), 3, "it is not a file"),
            (
                &folder.path().join("absent"),
                3,
                "No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(read(file, max).unwrap_err().to_string(), problem);
        }
    }
}
