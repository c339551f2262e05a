//! The sole admin admits a second person, in the window.

use vidimus_tests::approver::Approver;
use vidimus_tests::desktop::Options;

use crate::scene::{PIN, REASON, SOON, Scene, check, play, read_and_start};

#[tokio::test(flavor = "multi_thread")]
async fn the_sole_admin_admits_a_second_person() {
    play(Scene::set("the_sole_admin_admits_a_second_person", &[], Options::default()).await, async |scene| {
        let console = scene.founder().await?;
        let invite = scene.home.invite("Kim Example", &["billing-approver"])?;
        let mut person = Approver::enrol(&scene.home.url(), &invite, 9).await?;
        let refused = person.open_session().await.err().and_then(|error| error.code().map(str::to_owned));
        check(refused.as_deref() == Some("key_waiting"), || format!("a session before the admission: {refused:?}"))?;
        let request = person.admission.ok_or("the enrolment made no request")?;

        read_and_start(&console, &request).await?;
        let shown = console.driver.text("body").await?;
        let key = person.approval.public().to_string();
        for value in ["gate.roster.change", "Kim Example", "billing-approver", &key] {
            check(shown.contains(value), || format!("`{value}` is not in the window: {shown}"))?;
        }
        console.approve_with_reason(REASON, PIN).await?;
        console.receipt().await?;
        let deadline = std::time::Instant::now() + SOON;
        while person.open_session().await.is_err() {
            check(std::time::Instant::now() < deadline, || "the second person's session never opened".to_owned())?;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        let roster = person.client()?.roster().await?;
        check(roster.roster.contains("Kim Example"), || format!("the roster is {}", roster.roster))?;
        scene.say("the change of the roster was read and approved; the second person's session opened");
        scene.close(console).await
    })
    .await;
}
