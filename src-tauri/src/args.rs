//! The command line: where the profile is, which request to open, whether to start hidden.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::settings::Theme;

/// What the command line asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// Everything of this console lives under this directory.
    pub profile: Option<PathBuf>,
    /// A request to open. Opening is all it can do.
    pub request: Option<String>,
    /// The theme of this run, instead of the one that was set.
    pub theme: Option<Theme>,
    /// Start without showing the main window.
    pub hidden: bool,
    /// A table to propose, and nothing else.
    pub propose_table: Option<PathBuf>,
    /// Print usage and end.
    pub help: bool,
}

/// Why the command line was not understood.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ArgumentError {
    #[error("`{0}` needs a value; see `vidimus --help`")]
    MissingValue(&'static str),
    #[error("`{0}` is not a theme; use `light` or `dark`")]
    NotATheme(String),
    #[error("`{0}` is not an option of the console; see `vidimus --help`")]
    Unknown(String),
    #[error("`{0}` is no link to a request, which is `vidimus://request/ID`")]
    NotALink(String),
    #[error("`{0}` is not the id of a request, which is `req_` and 26 characters")]
    NotARequest(String),
}

pub const USAGE: &str = "\
vidimus: the Vidimus console

  vidimus                 open the console
  --profile DIR           keep everything of this console under DIR, keys under their own name
  --request ID            open one request
  vidimus://request/ID    the same, as a link
  --theme light|dark      the colours of this run
  --hidden                start in the tray, without a window

  vidimus propose-table FILE [--profile DIR]
                          propose an effect table, without a window: what differs from the one in force waits for people
";

/// Reads the arguments after the program's name.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ArgumentError> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        match argument.to_str() {
            Some("--profile") => {
                let value = rest.next().ok_or(ArgumentError::MissingValue("--profile"))?;
                parsed.profile = Some(PathBuf::from(value));
            }
            Some("--request") => {
                let value = rest.next().ok_or(ArgumentError::MissingValue("--request"))?;
                parsed.request = Some(request_id(&value.to_string_lossy())?);
            }
            Some("--theme") => {
                let value = rest.next().ok_or(ArgumentError::MissingValue("--theme"))?;
                parsed.theme = Some(match value.to_str() {
                    Some("light") => Theme::Light,
                    Some("dark") => Theme::Dark,
                    _ => {
                        return Err(ArgumentError::NotATheme(value.to_string_lossy().into_owned()));
                    }
                });
            }
            Some(link) if link.starts_with(SCHEME) && parsed.request.is_none() => parsed.request = Some(linked_request(link)?),
            Some("--hidden") => parsed.hidden = true,
            Some("propose-table") if parsed.propose_table.is_none() => {
                let file = rest.next().ok_or(ArgumentError::MissingValue("propose-table"))?;
                parsed.propose_table = Some(PathBuf::from(file));
            }
            Some("--help" | "-h") => parsed.help = true,
            _ => return Err(ArgumentError::Unknown(argument.to_string_lossy().into_owned())),
        }
    }
    Ok(parsed)
}

/// What every link to this console begins with.
const SCHEME: &str = "vidimus:";
/// What one begins with that names a request. There is no other kind.
const REQUEST_LINK: &str = "vidimus://request/";

/// The request that a link names. Anything beside it makes it no link: a link comes from anywhere.
pub fn linked_request(link: &str) -> Result<String, ArgumentError> {
    let refused = || ArgumentError::NotALink(link.chars().filter(|c| c.is_ascii_graphic()).take(LINK_CHARS_SHOWN).collect());
    request_id(link.strip_prefix(REQUEST_LINK).ok_or_else(refused)?).map_err(|_| refused())
}

/// Characters of a refused link that are told: enough to see what it was, and no way to flood a terminal.
const LINK_CHARS_SHOWN: usize = 80;

/// Accepts exactly the spelling of a request id: it becomes part of a window's label.
pub fn request_id(text: &str) -> Result<String, ArgumentError> {
    let body = text.strip_prefix("req_").unwrap_or_default();
    let crockford = |c: char| c.is_ascii_digit() || (c.is_ascii_lowercase() || c.is_ascii_uppercase()) && !"ilouILOU".contains(c);
    if body.len() == 26 && body.chars().all(crockford) { Ok(text.to_owned()) } else { Err(ArgumentError::NotARequest(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Arguments, ArgumentError> {
        parse(words.iter().map(OsString::from))
    }

    #[test]
    fn options_are_read() {
        let arguments = parsed(&["--profile", "/tmp/p", "--hidden", "--request", "req_01JD0123456789ABCDEFGHJKMN"]).unwrap();
        assert_eq!(arguments.profile, Some(PathBuf::from("/tmp/p")));
        assert!(arguments.hidden);
        assert_eq!(arguments.request.as_deref(), Some("req_01JD0123456789ABCDEFGHJKMN"));
    }

    #[test]
    fn a_table_is_proposed_without_a_window() {
        let arguments = parsed(&["propose-table", "effects.toml", "--profile", "/tmp/p"]).unwrap();
        assert_eq!(arguments.propose_table, Some(PathBuf::from("effects.toml")));
        assert_eq!(arguments.profile, Some(PathBuf::from("/tmp/p")));
    }

    #[test]
    fn a_link_opens_one_request_and_nothing_else() {
        let id = "req_01JD0123456789ABCDEFGHJKMN";
        assert_eq!(parsed(&["vidimus://request/req_01JD0123456789ABCDEFGHJKMN"]).unwrap().request.as_deref(), Some(id));
        for link in [
            "vidimus:",
            "vidimus://",
            "vidimus://request/",
            "vidimus:request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus:/request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus:///request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://approve/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN/approve",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN/",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN?approve=1",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN#approve",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN --hidden",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKM%4E",
            "vidimus://user@request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://request:80/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://request/../request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKM\u{200b}",
            "vidimus://request/req_01JD0123456789ABCDEFGHJKMN\n--approve",
            "VIDIMUS://request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus-review://request/req_01JD0123456789ABCDEFGHJKMN",
            "vidimus://enrol/vidimus-invite-1",
        ] {
            assert!(parsed(&[link]).is_err(), "{link}");
        }
        assert!(parsed(&["vidimus://request/req_01JD0123456789ABCDEFGHJKMN", "vidimus://request/req_01JD0123456789ABCDEFGHJKMN"]).is_err());
        let long = format!("vidimus://request/{}\u{1b}[2J", "x".repeat(100_000));
        let told = parsed(&[long.as_str()]).unwrap_err().to_string();
        assert!(told.len() < 200 && !told.contains('\u{1b}'), "{told}");
    }

    #[test]
    fn anything_else_is_refused() {
        for words in [
            &["--approve"][..],
            &["req_1"],
            &["--request"],
            &["--profile"],
            &["propose-table"],
            &["propose-table", "a.toml", "propose-table", "b.toml"],
            &["--request", "req_../../x"],
            &["--request", "REQ_01JD0123456789ABCDEFGHJKMN"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }
}
