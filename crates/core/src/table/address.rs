//! The URLs of a row: where a call may go, and how much of that its arguments may say.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::check::check_template;
use super::fault::{Report, Rule};
use super::parse::ReadRow;
use super::row::{Executor, Idempotency, Method};
use crate::ids::Effect;
use crate::template::{ArgPath, Part, Template, has_dot_segment};

pub(super) fn check_urls(row: &ReadRow, report: &mut Report) {
    let Executor::Http(http) = &row.declared.executor else { return };
    let (place, effect) = (row.at("executor.url"), row.declared.effect);
    check_form(&http.url, &place, report);
    if row.has_schema {
        check_template(&row.declared, &http.url, &place, report);
    }
    check_method(row, http.method, report);
    match effect {
        Effect::Money if !http.url.is_constant() => {
            let words = "the URL of a `money` tool takes an argument, so that it would choose where the money goes; send it in the body";
            report.fault(&place, Rule::UrlNotConstant, words);
        }
        Effect::Read if row.has_schema => check_all_sent(row, &http.url, report),
        Effect::Read | Effect::Write | Effect::Money => {}
    }
    if let Idempotency::Status(status) = &row.declared.idempotency {
        let place = row.at("status.url");
        check_form(&status.url, &place, report);
        let places: Vec<String> = status.url.paths().map(ArgPath::to_string).collect();
        if places != ["operation"] {
            report.fault(
                &place,
                Rule::UrlMalformed,
                "the URL that asks takes exactly the operation's key; write `{operation}` once, and nothing else",
            );
        }
    }
}

fn check_method(row: &ReadRow, method: Method, report: &mut Report) {
    let fits = match (row.declared.effect, method) {
        (Effect::Read, Method::Get) | (Effect::Write | Effect::Money, Method::Post | Method::Put) => true,
        (Effect::Read, Method::Post | Method::Put) | (Effect::Write | Effect::Money, Method::Get) => false,
    };
    if !fits {
        let words = format!(
            "`{method}` does not fit a tool labelled `{}`; a read is sent by `GET`, all else by `POST` or `PUT`",
            row.declared.effect
        );
        report.fault(&row.at("executor.method"), Rule::MethodNotForEffect, words);
    }
}

/// A read has no body: what its URL does not take is never sent, and the agent would not know.
fn check_all_sent(row: &ReadRow, url: &Template, report: &mut Report) {
    for name in row.declared.schema.names() {
        if !url.paths().any(|path| path.names().first().is_some_and(|first| first == name)) {
            report.warn(
                &row.at("executor.url"),
                Rule::ArgumentUnused,
                format!("the argument `{name}` is no part of the URL, so that it is never sent; add it or remove it from the schema"),
            );
        }
    }
    for path in url.paths().filter(|path| !row.declared.schema.requires(path)) {
        report.warn(
            &row.at("executor.url"),
            Rule::PathOptional,
            format!("`{path}` may be absent, and is part of the URL; require it in the schema"),
        );
    }
}

/// Checks scheme, host and shape, which are the same whatever the arguments say.
fn check_form(url: &Template, place: &str, report: &mut Report) {
    let Some(Part::Text(text)) = url.parts().first() else {
        report.fault(place, Rule::UrlMalformed, "the URL begins with an argument; write its scheme, host and port out");
        return;
    };
    let secure = match text.split_once("://") {
        Some(("https", _)) => true,
        Some(("http", _)) => false,
        _ => {
            report.fault(
                place,
                Rule::UrlMalformed,
                "the URL has no scheme that is sent; begin it with `https://`, or on this host with `http://`",
            );
            return;
        }
    };
    let after = text.split_once("://").map_or("", |(_, after)| after);
    let Some((authority, _)) = after.split_once('/') else {
        report.fault(place, Rule::UrlMalformed, "an argument or nothing stands where the path begins; end the host with `/`");
        return;
    };
    let Some(host) = host_of(authority) else {
        report.fault(
            place,
            Rule::UrlMalformed,
            "the URL has no plain host; write a name or an address and a port, and no user or password",
        );
        return;
    };
    let plain = |c: char| c.is_ascii_graphic() && !"\\#\"<>^`|".contains(c);
    let words: String =
        url.parts().iter().filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None }).collect();
    if !words.chars().all(plain) || has_dot_segment(&words) || words.to_ascii_lowercase().contains("%2e") {
        report.fault(
            place,
            Rule::UrlMalformed,
            "the URL holds a dot segment, a fragment or a character that does not belong in one; percent-encode or remove it",
        );
    }
    if !secure && !is_loopback(host) {
        report.fault(
            place,
            Rule::UrlNotTls,
            format!("`{host}` is not this host, and plain HTTP would show credentials and arguments on the way; use `https://`"),
        );
    }
}

/// The host of an authority, brackets of an address included.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.rfind(']') {
        Some(end) => authority.split_at(end + 1),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port_fits = port.is_empty()
        || port.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()) && digits.parse::<u16>().is_ok());
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host_fits = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte)),
    };
    (port_fits && host_fits).then_some(host)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules_of(url: &str) -> Vec<Rule> {
        let mut report = Report::new("");
        check_form(&Template::parse(url).expect(url), "url", &mut report);
        report.faults.iter().map(|fault| fault.rule).collect()
    }

    #[test]
    fn the_form_of_a_url_is_fixed() {
        let good = [
            "https://billing.example/refunds",
            "http://127.0.0.1:8080/refunds",
            "http://127.9.9.9/",
            "http://localhost:1/t/{id}?q={q}",
            "http://[::1]:1/x",
            "https://[2001:db8::1]/x",
            "https://h/a...b/%20",
        ];
        for url in good {
            assert_eq!(rules_of(url), [], "`{url}`");
        }
        let malformed = [
            "",
            "refunds",
            "ftp://h/x",
            "{url}",
            "https://{host}/x",
            "https://h{x}/",
            "https://h.example",
            "https:///x",
            "https://user:secret@h/x",
            "https://h:99999/x",
            "https://h:/x",
            "https://h:+1/x",
            "https://[::1/x",
            "https://hé/x",
            "https://h/a b",
            "https://h/a#b",
            "https://h/../x",
            "https://h/a/./x",
            "https://h/%2E%2e/x",
            "https://h/a\\b",
        ];
        for url in malformed {
            assert_eq!(rules_of(url), [Rule::UrlMalformed], "`{url}`");
        }
        for url in
            ["http://billing.example/x", "http://10.0.0.1/x", "http://localhost.example/x", "http://0.0.0.0/x", "http://[2001:db8::1]/x"]
        {
            assert_eq!(rules_of(url), [Rule::UrlNotTls], "`{url}`");
        }
    }
}
