//! Runs apart from each other, the process, and the end of a company.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use tokio::io::{AsyncBufReadExt, BufReader};
use vidimus_tests::company::{Company, Inspector, Mode, Options, Order, RUN_HEADER, Tool, limits};

use super::{Fixture, OTHER_REFUND, REFUND, TOKEN, client};

#[tokio::test]
async fn runs_know_nothing_of_each_other() {
    let fixture = Fixture::open().await;
    let one = Inspector::new(&fixture.company.run_url("one")).unwrap();
    one.order(Order::of(Tool::Refund).mode(Mode::Refuse).times(1)).await.unwrap();

    // By header and by address it is the same run.
    let by_header = fixture.request(Method::POST, "/billing/refunds", REFUND).header(RUN_HEADER, "one").send().await.unwrap();
    assert_eq!(by_header.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let in_two = fixture.request(Method::POST, "/runs/two/billing/refunds", REFUND).header("idempotency-key", "k").send().await.unwrap();
    assert_eq!(in_two.status(), StatusCode::OK);
    let in_one = fixture.request(Method::POST, "/runs/one/billing/refunds", OTHER_REFUND).header("idempotency-key", "k").send().await;
    assert_eq!(in_one.unwrap().status(), StatusCode::OK, "a key belongs to its run");
    let two = Inspector::new(&fixture.company.run_url("two")).unwrap();
    assert_eq!(two.effects(Tool::Refund).await.unwrap()[0].args, REFUND);
    assert_eq!(one.effects(Tool::Refund).await.unwrap()[0].args, OTHER_REFUND);
    assert_eq!((fixture.refunds().await, one.calls().await.unwrap().len(), two.calls().await.unwrap().len()), (0, 2, 1));

    one.reset().await.unwrap();
    assert_eq!((one.count(Tool::Refund).await.unwrap(), two.count(Tool::Refund).await.unwrap()), (0, 1));
    two.remove().await.unwrap();
    let runs: Vec<String> = fixture.client.get(format!("{}/control/runs", fixture.company.url)).send().await.unwrap().json().await.unwrap();
    assert_eq!(runs, ["default", "one"]);
}

#[tokio::test]
async fn runs_have_plain_names_and_a_limit() {
    let fixture = Fixture::open().await;
    for name in ["", "a b", "ä", &"x".repeat(limits::RUN_NAME_BYTES_MAX + 1)] {
        let status = fixture.request(Method::GET, "/tickets/ticket_1", "").header(RUN_HEADER, name).send().await.unwrap().status();
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name:?}");
    }
    for number in 0..limits::RUNS_MAX {
        assert_eq!(fixture.get(&format!("/runs/r{number}/tickets/ticket_1")).await.0, StatusCode::OK);
    }
    assert_eq!(fixture.get("/runs/one-more/tickets/ticket_1").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_company_closes_when_it_is_dropped_and_opens_only_for_this_machine() {
    let fixture = Fixture::open().await;
    assert_eq!(fixture.get("/tickets/ticket_1").await.0, StatusCode::OK);
    let Fixture { company, inspector, .. } = fixture;
    drop(company);
    let deadline = Instant::now() + Duration::from_secs(10);
    while inspector.counts().await.is_ok() {
        assert!(Instant::now() < deadline, "it still answers");
        tokio::task::yield_now().await;
    }
    let everywhere = Options { address: "0.0.0.0:0".parse().unwrap(), ..Options::new(TOKEN) };
    assert!(Company::start(everywhere).await.is_err());
    assert!(Company::start(Options::new("")).await.is_err());
}

#[tokio::test]
async fn the_process_says_where_it_listens_and_serves() {
    let mut process = tokio::process::Command::new(env!("CARGO_BIN_EXE_vidimus-company"))
        .env("COMPANY_TOKEN", TOKEN)
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let url = line.strip_prefix("listening ").unwrap().trim_end().to_owned();

    let inspector = Inspector::new(&url).unwrap();
    assert_eq!(inspector.count(Tool::Refund).await.unwrap(), 0);
    let refund = client().post(format!("{url}/billing/refunds")).bearer_auth(TOKEN).body(REFUND);
    assert_eq!(refund.send().await.unwrap().status(), StatusCode::OK);
    assert_eq!(inspector.count(Tool::Refund).await.unwrap(), 1);
    process.kill().await.unwrap();
}

#[tokio::test]
async fn the_process_needs_a_credential_and_a_loopback_address() {
    let cases = [(None, vec![], 2), (Some(TOKEN), vec!["nowhere"], 2), (Some(TOKEN), vec!["0.0.0.0:0"], 1), (Some(""), vec![], 1)];
    for (token, arguments, code) in cases {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_vidimus-company"));
        command.env_remove("COMPANY_TOKEN").args(&arguments);
        if let Some(token) = token {
            command.env("COMPANY_TOKEN", token);
        }
        let output = command.output().await.unwrap();
        assert_eq!(output.status.code(), Some(code), "{token:?} {arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}
