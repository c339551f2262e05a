//! People get through while somebody takes all the connections that can be had, with or without a credential.

mod house;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use house::{House, WITHIN, code_of, json, request_of, until};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use vidimus_api::call::CallRequest;
use vidimus_api::client::AgentClient;
use vidimus_api::log::LogEvent;
use vidimus_api::request::DenialKind;
use vidimus_core::bytes::Digest;
use vidimus_core::ids::RequestId;
use vidimus_gate::limits::{
    AGENT_BYTES_BURST_MAX, AGENT_BYTES_PER_S, CONNECTIONS_PER_AGENT_MAX, REFUSALS_BURST_MAX, STREAMS_PER_SESSION_MAX, WRITE_STALL_S_MAX,
};
use vidimus_tests::approver::Approver;

const ROLE: &str = "billing-approver";
/// More than the gate has places.
const MANY: usize = 790;
/// What a person may have to wait for any act of several exchanges, each with a commit, by a gate that is not optimised and on a
/// machine that runs other tests besides.
const SOON: Duration = Duration::from_secs(3);
/// What the fastest of so many may take: the other tests do not hold up each of them, and who is kept out is kept out of all.
const AT_ONCE: Duration = Duration::from_secs(1);
const ROUNDS: u8 = 3;

struct Siege {
    house: House,
    admin: Approver,
    thief: Approver,
    credential: String,
    /// One for each round.
    to_deny: Vec<RequestId>,
    recoveries: Vec<Digest>,
}

/// The call that is denied in a round.
fn waiting(round: u8) -> CallRequest {
    let args = house::REFUND.replace("8990", &(8990 - u32::from(round)).to_string());
    CallRequest::new("refund", json(&args)).with_call_key(format!("{round:0>16}"))
}

async fn siege() -> Siege {
    let house = House::open().await;
    let admin = house.admin().await;
    let thief = house.person(&admin, "Cat Example", &[ROLE], 3).await;
    let credential = house.credential("billing", &[]);
    let billing = AgentClient::new(&house.url, credential.clone()).expect("a client");
    let (mut to_deny, mut recoveries) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        to_deny.push(request_of(&billing.call(&waiting(round), 0).await.expect("a pending call")));
        recoveries.push(house.announce_recovery("Eve Example", 40 + round).await);
    }
    Siege { house, admin, thief, credential, to_deny, recoveries }
}

impl Siege {
    /// Connections that send this and then do nothing.
    async fn connect(&self, count: usize, sent: &str) -> Vec<TcpStream> {
        let address = self.house.url.trim_start_matches("http://").parse().expect("an address");
        let mut held = Vec::new();
        for _ in 0..count {
            let socket = TcpSocket::new_v4().expect("a socket");
            socket.set_recv_buffer_size(4096).expect("a small buffer");
            let mut stream = socket.connect(address).await.expect("a connection");
            // What does not fit is not waited for; whoever was cut already is as good.
            let _ = tokio::time::timeout(Duration::from_millis(50), stream.write_all(sent.as_bytes())).await;
            held.push(stream);
        }
        held
    }

    /// All by which people say no: denials, objections to recoveries, a stop that is said again. Each on connections that are
    /// new or idle.
    async fn people_get_through(&self) {
        let mut took: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
        for (request, recovery) in self.to_deny.iter().zip(&self.recoveries) {
            let mut note = |act, began: Instant| took.entry(act).or_default().push(began.elapsed());
            let began = Instant::now();
            self.admin.deny(*request, ROLE, DenialKind::WrongPayee, "wrong payee").await.expect("a denial");
            note("a denial", began);
            let began = Instant::now();
            self.admin.veto(*recovery).await.expect("a veto");
            note("a veto", began);
            let began = Instant::now();
            let keys = vec![self.thief.device.public().digest()];
            self.admin.stop(self.thief.person, keys, &self.admin.approval).await.expect("a stop");
            note("a stop", began);
            let began = Instant::now();
            assert_eq!(reqwest::get(format!("{}/healthz", self.house.url)).await.expect("an answer").status(), 200);
            note("health", began);
        }
        for (act, took) in took {
            assert!(took.iter().all(|took| *took < SOON) && took.iter().any(|took| *took < AT_ONCE), "{act} took {took:?}");
        }
    }

    async fn metric(&self, sample: &str) -> u64 {
        let text = reqwest::get(format!("{}/metrics", self.house.url)).await.expect("an answer").text().await.expect("a text");
        let found = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok());
        found.unwrap_or_else(|| panic!("no {sample}:\n{text}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_never_read_keep_nobody_out_and_are_ended() {
    let siege = siege().await;
    let asked = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(200);
    let held = siege.connect(MANY, &asked).await;
    siege.people_get_through().await;
    until("ending who does not read", async || {
        (siege.metric("vidimus_connections_ended_total{why=\"stalled\"}").await > 0
            && siege.metric("vidimus_connections{by=\"stranger\"}").await < 10)
            .then_some(())
    })
    .await;
    assert!(WITHIN > Duration::from_secs(WRITE_STALL_S_MAX));
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_with_half_a_head_keep_nobody_out() {
    let siege = siege().await;
    let mut held = siege.connect(MANY, "GET / HTTP/1.1\r\nHost: x\r\n").await;
    siege.people_get_through().await;
    // Renewed without a pause, so that the places are taken again as soon as one is free.
    for _ in 0..3 {
        held.extend(siege.connect(MANY, "GET / HTTP/1.1\r\nHost: x\r\n").await);
    }
    let began = Instant::now();
    siege.admin.new_session().await.expect("a session");
    assert!(began.elapsed() < SOON, "a session took {:?}", began.elapsed());
    assert!(siege.metric("vidimus_connections_ended_total{why=\"made_room\"}").await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_persons_log_streams_keep_nobody_out() {
    let siege = siege().await;
    let session = siege.thief.new_session().await.expect("a session").session;
    let asked = format!("GET /v1/log/stream?from=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {session}\r\n\r\n");
    let held = siege.connect(MANY, &asked).await;
    siege.people_get_through().await;
    let streams = siege.metric("vidimus_log_streams").await;
    assert!(streams <= u64::try_from(STREAMS_PER_SESSION_MAX).expect("small"), "{streams} streams of one session");
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_connections_are_bounded_and_keep_nobody_out() {
    let siege = siege().await;
    let billing = AgentClient::new(&siege.house.url, siege.credential.clone()).expect("a client");
    let pending = billing.call(&waiting(0), 0).await.expect("a pending call");
    // A body that does not come: each is at work, and no place of a long poll is taken.
    let asked =
        format!("POST /v1/calls?wait_s=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 9\r\n\r\n", siege.credential);
    let held = siege.connect(CONNECTIONS_PER_AGENT_MAX + 8, &asked).await;
    until("reaching the limit", async || {
        (siege.metric("vidimus_connections{by=\"agent\"}").await >= u64::try_from(CONNECTIONS_PER_AGENT_MAX).expect("small")).then_some(())
    })
    .await;
    let mut answer = vec![0; 4096];
    let mut last = siege.connect(1, &asked).await.pop().expect("one beyond the limit");
    let read = tokio::time::timeout(SOON, last.read(&mut answer)).await.expect("an answer at once").expect("bytes");
    let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("connections_limit_reached"), "{answer}");
    assert!(answer.to_lowercase().contains("retry-after: "), "{answer}");
    siege.people_get_through().await;
    drop(held);
    until("getting the places back", async || billing.outcome(&pending.call, 0).await.ok()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_refused_without_end_does_not_fill_the_log() {
    const BEYOND: u32 = 300;
    let mut house = House::open().await;
    let admin = house.admin().await;
    let billing = house.agent("billing", &[]);
    let mut limited = 0;
    for _ in 0..REFUSALS_BURST_MAX + BEYOND {
        let code = code_of(billing.call(&CallRequest::new("no-such-tool", json("{}")), 0).await);
        limited += u32::from(code == "agent_rate_limited");
        assert!(matches!(code.as_str(), "tool_unknown" | "agent_rate_limited"), "{code}");
    }
    assert!(limited > BEYOND / 2, "{limited}");
    // A refusal that only the store can make is counted as well; a good call passes.
    billing.call(&house::refund("conflict"), 0).await.expect("a good call");
    let other = r#"{"invoice":"invoice_842","amount_minor":1,"currency":"EUR","reason":"arrived broken"}"#;
    let conflict = CallRequest::new("refund", json(other)).with_call_key(format!("{:0>16}", "conflict"));
    let code = code_of(billing.call(&conflict, 0).await);
    assert!(matches!(code.as_str(), "agent_rate_limited" | "operation_key_conflict"), "{code}");
    house.end();
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let (mut refused, mut counted) = (0, 0);
    loop {
        match stream.next().await.expect("an event").expect("a record") {
            LogEvent::Record(record) if record.leaf.contains("\"call_refused\"") => {
                refused += 1;
                counted += u32::from(record.leaf.contains("\"agent_rate_limited\""));
            }
            LogEvent::Record(_) => {}
            LogEvent::Checkpoint(_) => break,
        }
    }
    assert!((1..=2).contains(&counted), "{counted} records of what was counted");
    assert!(refused <= REFUSALS_BURST_MAX + BEYOND / 2, "{refused} records");
}

/// A good write of some 200 KiB, most of it blank: what an agent sends is kept as it came.
fn long_write(number: usize) -> String {
    let blank = " ".repeat(200 * 1024);
    let args = format!(r#"{{"customer":"customer_acme",{blank}"subject":"broken","body":"number {number}"}}"#);
    format!(r#"{{"tool":"create_ticket","args":{args},"call_key":"long-write-{number:0>8}"}}"#)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_calls_are_all_good_does_not_fill_the_disk() {
    let mut house = House::open().await;
    let admin = house.admin().await;
    let support = house.credential("support", &[]);
    let client = reqwest::Client::new();
    let send = async |body: String| {
        let sent =
            client.post(format!("{}/v1/calls", house.url)).bearer_auth(&support).header("content-type", "application/json").body(body);
        let answer = sent.send().await.expect("an answer");
        let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
        (answer.status().as_u16(), retry_after, answer.text().await.expect("a body"))
    };
    let began = Instant::now();
    let one = u64::try_from(long_write(0).len()).expect("small");
    let mut made = 0;
    let (retry_after, text) = loop {
        match send(long_write(made)).await {
            (200, _, _) => made += 1,
            (429, retry_after, text) => break (retry_after, text),
            (status, _, text) => panic!("{status} {text}"),
        }
        let refilled = AGENT_BYTES_PER_S * (began.elapsed().as_secs() + 1);
        let kept = 3 * one * u64::try_from(made).expect("small");
        assert!(kept <= AGENT_BYTES_BURST_MAX + refilled, "{made} writes of {one} bytes were taken");
    };
    assert!(text.contains("agent_bytes_limited") && retry_after.is_some(), "{text}");
    assert!(3 * one * u64::try_from(made + 2).expect("small") > AGENT_BYTES_BURST_MAX - (1 << 20), "only {made} writes were taken");
    // Others' calls are their own.
    let billing = house.agent("billing", &[]);
    request_of(&billing.call(&house::refund("beside"), 0).await.expect("a pending call"));
    house.end();
    let size = house.data_path().join("gate.db").metadata().expect("the database").len();
    let refilled = AGENT_BYTES_PER_S * (began.elapsed().as_secs() + 1);
    assert!(size < (AGENT_BYTES_BURST_MAX + refilled) * 5 / 4, "{size} bytes for {made} writes");
    house.start();
    let admin = admin.at(&house.url).await.expect("a session");
    let mut stream = admin.client().expect("a session").log_stream(0).await.expect("a stream");
    let mut counted = 0;
    while let LogEvent::Record(record) = stream.next().await.expect("an event").expect("a record") {
        counted += u32::from(record.leaf.contains("\"call_refused\""));
    }
    assert_eq!(counted, 1, "what was refused is counted in one record");
}
