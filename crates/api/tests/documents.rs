//! `docs/http.md` names every code with its status, and no other.

use std::collections::BTreeSet;

use vidimus_api::problem::{FaceCode, status};
use vidimus_core::code::Code;

#[test]
fn the_documents_name_every_code_with_its_status() {
    let text = include_str!("../../../docs/http.md");
    let documented: BTreeSet<(u16, String)> = text
        .lines()
        .filter_map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let status = cells.next()?.parse().ok()?;
            Some((status, cells.next()?.trim_matches('`').to_owned()))
        })
        .collect();
    let known = Code::ALL.iter().map(|code| (status(*code), code.as_str().to_owned()));
    let of_the_face = FaceCode::ALL.iter().map(|code| (code.status(), code.as_str().to_owned()));
    assert_eq!(documented, known.chain(of_the_face).collect());
}
