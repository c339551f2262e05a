//! `docs/http.md` names every code with its status, and no other, and prints the table of statuses.

use std::collections::BTreeSet;

use vidimus_api::call::CallStatus;
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

/// The table of statuses as the page prints it.
fn statuses() -> String {
    let line = |status: &CallStatus| {
        let retry = status.retry_after_s().map_or_else(|| "–".to_owned(), |after_s| format!("{after_s} s"));
        format!("| `{}` | {} | {retry} | {} | {} |\n", status.as_str(), status.http_status(), status.words(), status.standing().words())
    };
    CallStatus::ALL.iter().map(line).collect()
}

#[test]
fn the_documents_print_the_table_of_statuses() {
    let text = include_str!("../../../docs/http.md");
    assert!(text.contains(&statuses()), "docs/http.md has another table; this is the one in the code:\n{}", statuses());
}

#[test]
fn no_status_reads_as_another() {
    for (index, status) in CallStatus::ALL.iter().enumerate() {
        for other in &CallStatus::ALL[..index] {
            assert!(status.words() != other.words() && status.as_str() != other.as_str(), "{status:?} {other:?}");
        }
        // Whoever skims the words of a call that did not run finds nothing that sounds like consent.
        let did_not_run = !matches!(status, CallStatus::Approved | CallStatus::Executed | CallStatus::Executing);
        assert!(!did_not_run || !["approv", "signed", "ran and"].iter().any(|word| status.words().contains(word)), "{status:?}");
        // What goes on says when to ask again; what has ended without a person says nothing.
        assert_eq!(status.retry_after_s().is_some(), status.http_status() == 202, "{status:?}");
        assert!(status.has_ended() || status.http_status() == 202, "{status:?}");
    }
}
