//! Where the third-party vectors lie, and what happens where they do not.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// The folders that the tests read.
pub const FOLDERS: [&str; 8] =
    ["jcs-rfc8785", "nst-jsontestsuite", "dsse", "paseto", "merkle-rfc6962", "signed-note", "wycheproof", "ed25519-speccheck"];

fn root() -> PathBuf {
    match std::env::var_os("VIDIMUS_VECTORS") {
        Some(root) => root.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
    }
}

/// The folder of these vectors. Where it is absent, says so; where `CI` is set, fails.
pub fn folder(name: &str) -> Option<PathBuf> {
    assert!(FOLDERS.contains(&name), "`{name}` is not in the list of folders");
    let folder = root().join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("vectors not run: {name} (folder absent)");
    assert!(std::env::var_os("CI").is_none(), "the vectors `{name}` are absent from {}", root().display());
    None
}

/// The files of a folder and all below it whose name ends so, in order.
pub fn files(folder: &Path, suffix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of vectors is readable") {
        let path = entry.expect("a folder of vectors is readable").path();
        if path.is_dir() {
            found.extend(files(&path, suffix));
        } else if name_of(&path).ends_with(suffix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The last part of a path.
pub fn name_of(path: &Path) -> String {
    path.file_name().expect("a vector has a name").to_string_lossy().into_owned()
}

/// The bytes of a vector.
pub fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a vector.
pub fn text(path: &Path) -> String {
    String::from_utf8(bytes(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A vector file as typed data, read by a general library and not by the code under test.
pub fn typed<T: DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&bytes(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
