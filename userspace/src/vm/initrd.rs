//! A guest's root with more files in it.
//!
//! Linux unpacks as many archives as stand one behind the other, so files are added to a root by an archive of their
//! own, in the format that the kernel reads (cpio with the magic 070701): a header of hexadecimal numbers, the
//! name, and the contents, each padded to four bytes.

/// The name that ends an archive.
const TRAILER: &str = "TRAILER!!!";

/// A folder, and a plain file, each with its mode.
const FOLDER: u32 = 0o40755;
const FILE: u32 = 0o100_644;

/// A file to add: its name without a leading slash, and what is in it.
#[derive(Clone, Debug)]
pub struct Added {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// The root with `files` in the folder `folder`, which is made.
pub fn with_files(mut root: Vec<u8>, folder: &str, files: &[Added]) -> Vec<u8> {
    pad(&mut root);
    record(&mut root, folder, FOLDER, &[]);
    for file in files {
        record(&mut root, &format!("{folder}/{}", file.name), FILE, &file.bytes);
    }
    record(&mut root, TRAILER, 0, &[]);
    root
}

fn pad(archive: &mut Vec<u8>) {
    archive.resize(archive.len().next_multiple_of(4), 0);
}

fn record(archive: &mut Vec<u8>, name: &str, mode: u32, bytes: &[u8]) {
    // Number of the file (none is linked to), mode, owner, group, links, time, bytes, device and its kind, bytes of the
    // name with its end, sum.
    let fields = [0, mode, 0, 0, 1, 0, bytes.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0]
        .map(|field| format!("{field:08x}"));
    archive.extend_from_slice(b"070701");
    archive.extend_from_slice(fields.concat().as_bytes());
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    pad(archive);
    archive.extend_from_slice(bytes);
    pad(archive);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_files_stand_behind_the_root_in_an_archive_of_their_own() {
        let files = [Added { name: "a.ko".into(), bytes: vec![7; 5] }];
        let root = with_files(vec![1; 6], "modules/user", &files);
        assert_eq!(&root[..8], [1, 1, 1, 1, 1, 1, 0, 0]);
        assert_eq!(root.len() % 4, 0);
        let text = String::from_utf8_lossy(&root[8..]);
        assert_eq!(text.matches("070701").count(), 3);
        let at = text.find("modules/user/a.ko\0").unwrap();
        // A header has 110 bytes; the size is its seventh number, the name's the twelfth.
        let header = &text[at - 110..at];
        assert_eq!((&header[54..62], &header[94..102]), ("00000005", "00000012"));
        // 110 bytes and a name of 18 end at a multiple of four.
        assert_eq!(text.as_bytes()[at + 18..at + 26], [7, 7, 7, 7, 7, 0, 0, 0]);
        assert!(text.contains("TRAILER!!!\0"));
    }
}
