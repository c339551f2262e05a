//! Reading who carries a call out, and who may make it.

use super::across::RESERVED_PREFIX;
use super::fault::{Report, Rule};
use super::parse::ReadAgent;
use super::read::{Entry, Section, parse_text};
use super::row::{Agent, Credential, Executor, HttpExecutor};
use crate::ids::Name;
use crate::limits::{AGENT_PENDING_DEFAULT, AGENT_PENDING_MAX, EXECUTOR_TIMEOUT_S_DEFAULT, EXECUTOR_TIMEOUT_S_MAX};

pub(super) fn read_executor(row: &mut Section<'_>, tool: &Name, report: &mut Report) -> Option<Executor> {
    let mut section = row.section("executor", report)?;
    section.require("kind", "it is `http`, `mcp`, `remote` or `gate`", report);
    let kind = section.string("kind", report)?;
    let http = ["method", "url", "idempotency_header", "credential"];
    let foreign: &[&str] = match kind {
        "http" => &["upstream", "executor"],
        "mcp" => &["method", "url", "idempotency_header", "credential", "executor"],
        "remote" => &["method", "url", "idempotency_header", "credential", "upstream"],
        "gate" => &["method", "url", "idempotency_header", "credential", "upstream", "executor", "timeout_s"],
        other => {
            let words = format!("`{}` is no kind of executor; write `http`, `mcp`, `remote` or `gate`", other.escape_debug());
            report.fault(&section.at("kind"), Rule::ValueMalformed, words);
            return None;
        }
    };
    if kind == "gate" && !tool.as_str().starts_with(RESERVED_PREFIX) {
        report.fault(&section.at("kind"), Rule::ToolReserved, "the gate carries out its own tools only; write `http`, `mcp` or `remote`");
    }
    for key in foreign.iter().filter(|key| section.has(key)) {
        report.fault(
            &section.at(key),
            Rule::KeyNotForExecutor,
            format!("`{key}` means nothing for an executor of kind `{kind}`; remove it"),
        );
    }
    let timeout_s = section.integer("timeout_s", 1..=EXECUTOR_TIMEOUT_S_MAX, report).unwrap_or(EXECUTOR_TIMEOUT_S_DEFAULT);
    let needed: &[&str] = match kind {
        "http" => &http[..2],
        "mcp" => &["upstream"],
        "remote" => &["executor"],
        _ => &[],
    };
    for key in needed {
        section.require(key, "an executor of this kind needs it", report);
    }
    let (upstream, executor) = (section.parsed("upstream", report), section.parsed("executor", report));
    let (method, url) = (section.parsed("method", report), section.template("url", report));
    let idempotency_header = section.string("idempotency_header", report).map(str::to_owned);
    let credential = section.parsed::<Credential>("credential", report);
    section.finish(report);
    match kind {
        "http" => Some(Executor::Http(HttpExecutor { method: method?, url: url?, idempotency_header, credential, timeout_s })),
        "mcp" => Some(Executor::Mcp { upstream: upstream?, timeout_s }),
        "remote" => Some(Executor::Remote { executor: executor?, timeout_s }),
        _ => Some(Executor::Gate),
    }
}

pub(super) fn read_agent(mut section: Section<'_>, report: &mut Report) -> Option<ReadAgent> {
    section.require("agent", "a list is of one agent", report);
    section.require("tools", "an agent without a list may call nothing; write `tools = []` to say so", report);
    let path = section.path().to_owned();
    let agent = section.parsed("agent", report);
    let listed = section.names("tools", report);
    let pending_max = section.integer("pending_max", 1..=AGENT_PENDING_MAX, report).unwrap_or(AGENT_PENDING_DEFAULT);
    let mut callback_hosts = Vec::new();
    for Entry { key, text } in section.strings("callback_hosts", report) {
        callback_hosts.extend(parse_text::<CallbackHost>(text, &key, report).map(|host| host.0));
    }
    section.finish(report);
    let mut tools = listed.clone();
    tools.sort();
    callback_hosts.sort();
    callback_hosts.dedup();
    let pending_max = u32::try_from(pending_max).unwrap_or(u32::MAX);
    Some(ReadAgent { path, agent: Agent { agent: agent?, tools, callback_hosts, pending_max }, listed })
}

/// A host name or address, with or without a port; no pattern.
struct CallbackHost(String);

impl std::str::FromStr for CallbackHost {
    type Err = String;

    fn from_str(text: &str) -> Result<CallbackHost, String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-:[]".contains(&byte);
        if (1..=253).contains(&text.len()) && text.bytes().all(plain) {
            Ok(CallbackHost(text.to_owned()))
        } else {
            Err(format!("`{}` is no host; write a name or an address in lower case, with a port if it needs one", text.escape_debug()))
        }
    }
}
