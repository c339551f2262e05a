//! The gate killed at each seam of a write: after the restart it is reported, and never sent again. Money is in the torture
//! of the crate `vidimus-tests`.

mod house;

use house::{House, json};
use vidimus_api::call::{CallRequest, CallStatus};
use vidimus_api::client::AgentClient;
use vidimus_gate::seams::Seam;
use vidimus_tests::company::Tool;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_cut_is_reported_and_never_sent_again() {
    for (seam, count) in [(Seam::AfterIntent, 0), (Seam::BeforeSend, 0), (Seam::AfterAnswer, 1), (Seam::BeforeRecord, 1)] {
        let mut house = House::open().await;
        let _admin = house.admin().await;
        let credential = house.credential("support", &[]);
        house.end();
        house.set("VIDIMUS_SEAM", seam.as_str());
        house.start();
        let client = AgentClient::new(&house.url, credential.clone()).expect("a client");
        let args = r#"{"customer":"customer_ada","subject":"Kettle","body":"Broken on arrival."}"#;
        let create = CallRequest::new("create_ticket", json(args)).with_call_key("ticket-for-ada-0001");
        assert!(client.call(&create, 0).await.is_err(), "{}", seam.as_str());
        house.process().wait(house::WITHIN).expect("the gate ends at the seam");
        house.set("VIDIMUS_SEAM", "");
        house.start();
        let client = AgentClient::new(&house.url, credential).expect("a client");
        let told = client.call(&create, 0).await.expect("the same call");
        assert!(matches!(told.status, CallStatus::Unknown | CallStatus::NeedsReconciliation), "{}: {}", seam.as_str(), told.words);
        assert_eq!(house.inspector.count(Tool::CreateTicket).await.expect("a count"), count, "{}", seam.as_str());
    }
}
