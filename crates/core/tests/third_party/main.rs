//! Third-party test vectors, read from `VIDIMUS_VECTORS` or from `../shared/vectors` beside the repository.

mod json;
mod log;
mod signed;
mod vectors;

#[test]
fn every_folder_of_vectors_is_counted() {
    let present = vectors::FOLDERS.into_iter().filter(|name| vectors::folder(name).is_some()).count();
    println!("vectors present: {present} of {}", vectors::FOLDERS.len());
    assert!(present == vectors::FOLDERS.len() || std::env::var_os("CI").is_none());
}
