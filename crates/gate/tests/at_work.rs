//! What goes on when an agent has hung up, and what another tool that hangs may hold up: neither without end.

mod house;

use std::time::{Duration, Instant};

use house::{House, json, request_of};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_gate::limits::{CALLS_AT_WORK_PER_AGENT_MAX, STATE_AFTER_S_MAX};

/// A provider that answers so many requests with this document and then takes connections and is silent.
async fn silent_after(answers: usize, document: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut left, mut held) = (answers, Vec::new());
        while let Ok((mut stream, _)) = listener.accept().await {
            if left == 0 {
                held.push(stream);
                continue;
            }
            left -= 1;
            let mut head = [0; 4096];
            assert!(stream.read(&mut head).await.expect("a request") > 0);
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{document}",
                document.len()
            );
            stream.write_all(answer.as_bytes()).await.expect("an answer");
        }
    });
    url
}

/// The table with one tool's calls going to the same path of another server, which may take its time.
fn sent_to(table: &str, path_and_more: &str, url: &str) -> String {
    let end = table.find(path_and_more).expect("the row");
    let begin = table[..end].rfind("url = \"").expect("its address") + "url = \"".len();
    let (before, after) = (&table[..begin], &table[end..]);
    format!("{before}{url}{}", after.replacen("timeout_s = 10", "timeout_s = 60", 1))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_hangs_up_has_so_many_calls_at_work_and_no_more() {
    let url = silent_after(0, "").await;
    let house = House::open_with(|table| sent_to(&table, "/tickets\"\nidempotency_header", &url)).await;
    let admin = house.admin().await;
    let support = house.credential("support", &[]);
    let address = house.url.trim_start_matches("http://").to_owned();
    for number in 0..2 * CALLS_AT_WORK_PER_AGENT_MAX {
        let body = format!(r#"{{"tool":"create_ticket","args":{{"customer":"customer_acme","subject":"no {number}","body":"broken"}}}}"#);
        let length = body.len();
        let sent = format!(
            "POST /v1/calls?wait_s=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {support}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect(&address).await.expect("a connection");
        stream.write_all(sent.as_bytes()).await.expect("a call");
        // The gate has read the call before it learns that its agent is gone; a refusal comes at once.
        let _ = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut [0; 64])).await;
    }
    let client = AgentClient::new(&house.url, support).expect("a client");
    let another = CallRequest::new("create_ticket", json(r#"{"customer":"customer_acme","subject":"more","body":"broken"}"#));
    assert_eq!(house::code_of(client.call(&another, 0).await), "agent_rate_limited");
    let metrics = reqwest::get(format!("{}/metrics", house.url)).await.expect("an answer").text().await.expect("a text");
    let in_flight: usize =
        metrics.lines().find_map(|line| line.strip_prefix("vidimus_in_flight ")?.parse().ok()).expect("the calls under way");
    assert_eq!(in_flight, CALLS_AT_WORK_PER_AGENT_MAX);
    // Another agent's payment and a person's word on it go their way.
    let billing = house.agent("billing", &[]);
    let request = request_of(&billing.call(&house::refund("beside"), 0).await.expect("a pending call"));
    admin.approve(request, "billing-approver").await.expect("an approval");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_its_provider_answered_is_executed_whatever_the_reading_after_it_does() {
    let url = silent_after(1, r#"{"ticket":"ticket_1","tags":[]}"#).await;
    let house = House::open_with(|table| sent_to(&table, "/tickets/{ticket}\"\n", &url)).await;
    let _admin = house.admin().await;
    let support = house.agent("support", &[]);
    let began = Instant::now();
    let call = CallRequest::new("update_ticket_tags", json(r#"{"ticket":"ticket_1","tags":["vip"]}"#));
    let answer = support.call(&call, 30).await.expect("an answer");
    assert_eq!(answer.status, CallStatus::Executed);
    assert!(began.elapsed() >= Duration::from_secs(STATE_AFTER_S_MAX), "the state after was waited for");
}
