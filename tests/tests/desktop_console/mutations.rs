//! Changing any argument changes the visible text: every argument of every money tool of the company, in the real window.

use vidimus_api::client::AgentClient;
use vidimus_tests::console::Console;
use vidimus_tests::desktop::Options;

use crate::scene::{Outcome, Scene, ask, check, is_long, play};

/// Whose list the tool is on.
#[derive(Clone, Copy)]
enum Caller {
    Billing,
    Support,
    Treasury,
}

/// A tool's arguments as members and their JSON, and for each other values that look like it or are close to it. The first of a
/// list is tried always, the others in the longer run.
struct Case {
    agent: Caller,
    tool: &'static str,
    members: &'static [(&'static str, &'static str, &'static [&'static str])],
}

const AMOUNTS: &[&str] = &["8991", "89900", "9890", "899", "8989"];
const CURRENCIES: &[&str] = &[r#""USD""#, r#""JPY""#, r#""BHD""#, r#""CHF""#];
/// For a text `arrived broken`: a space at its end, a letter of another alphabet, and what cannot be seen.
const TEXTS: &[&str] = &[
    r#""arrived broken ""#,
    r#""arrived brоken""#,
    r#""arrived  broken""#,
    r#""arrived\u00a0broken""#,
    r#""arrived\u200bbroken""#,
    r#""arrived broken\u202e""#,
    r#""arrived broken\n""#,
    r#""arrived\tbroken""#,
    r#""arrived\nbroken""#,
    r#""Arrived broken""#,
    r#""arrived broken\ud83d\ude00""#,
    r#""arrived broken\udb40\udc41""#,
    r#""arrived broke\u0301n""#,
    r#""arrived broken\u0000""#,
    r#""null""#,
];

const CASES: &[Case] = &[
    Case {
        agent: Caller::Billing,
        tool: "refund",
        members: &[
            ("invoice", r#""invoice_842""#, &[r#""invoice_851""#, r#""invoice_8421""#, r#""invoice_84_2""#]),
            ("amount_minor", "8990", AMOUNTS),
            ("currency", r#""EUR""#, CURRENCIES),
            ("reason", r#""arrived broken""#, TEXTS),
        ],
    },
    Case {
        agent: Caller::Billing,
        tool: "issue_credit",
        members: &[
            ("customer", r#""customer_ada""#, &[r#""customer_bert""#, r#""customer_ada_""#]),
            ("amount_minor", "8990", AMOUNTS),
            ("currency", r#""EUR""#, CURRENCIES),
            ("reason", r#""arrived broken""#, TEXTS),
        ],
    },
    Case {
        agent: Caller::Billing,
        tool: "cancel_subscription",
        members: &[
            ("subscription", r#""sub_77""#, &[r#""sub_78""#, r#""sub_7-7""#]),
            ("effective", r#""2026-12-31""#, &[r#""2026-12-30""#, r#""2027-12-31""#]),
            ("reason", r#""arrived broken""#, TEXTS),
        ],
    },
    Case {
        agent: Caller::Support,
        tool: "send_email",
        members: &[
            ("to", r#""bert@example.org""#, &[r#""bert@example.com""#, r#""bert@exarnple.org""#]),
            ("subject", r#""arrived broken""#, TEXTS),
            ("body", r#""arrived broken""#, TEXTS),
        ],
    },
    Case {
        agent: Caller::Support,
        tool: "crm_set_status",
        members: &[
            ("customer", r#""customer_ada""#, &[r#""customer_bert""#]),
            ("status", r#""lead""#, &[r#""customer""#, r#""churned""#, r#""contract_sent""#]),
        ],
    },
    Case { agent: Caller::Support, tool: "contract_workflow", members: &[("customer", r#""customer_ada""#, &[r#""customer_bert""#])] },
    Case {
        agent: Caller::Treasury,
        tool: "wire_transfer",
        members: &[
            ("payee", r#""payee_fixtures""#, &[r#""payee_makebelieve""#, r#""payee_fixture5""#]),
            ("amount_minor", "8990", AMOUNTS),
            ("currency", r#""EUR""#, CURRENCIES),
            ("reference", r#""arrived broken""#, TEXTS),
        ],
    },
];

/// How many other values of an argument are tried, for every run and for the longer one.
const TRIED: usize = 1;

#[tokio::test(flavor = "multi_thread")]
async fn changing_any_argument_changes_the_visible_text() {
    let name = "changing_any_argument_changes_the_visible_text";
    // The workflow is on nobody's list in the company's own table, and two would have to sign a wire.
    let listed = |table: String| {
        let listed = table.replace(r#""crm_set_status", "send_email","#, r#""crm_set_status", "send_email", "contract_workflow","#);
        listed.replace(r#"role = "treasury", quorum = 2"#, r#"role = "treasury", quorum = 1"#)
    };
    let roles = &["billing-approver", "support-lead", "treasury"];
    play(Scene::set_with(name, roles, Options::default(), listed).await, async |scene| {
        let console = scene.founder().await?;
        let (billing, support, treasury) = (scene.agent("billing")?, scene.agent("support")?, scene.agent("treasury")?);
        let mut windows = 0;
        for case in CASES {
            let agent = match case.agent {
                Caller::Billing => &billing,
                Caller::Support => &support,
                Caller::Treasury => &treasury,
            };
            let base = arguments(case, None);
            let before = seen(&console, agent, case.tool, &base, &mut windows).await?;
            for (at, (member, _, others)) in case.members.iter().enumerate() {
                let tried = if is_long() { others.len() } else { TRIED };
                for other in &others[..tried.min(others.len())] {
                    let changed = arguments(case, Some((at, other)));
                    let after = seen(&console, agent, case.tool, &changed, &mut windows).await?;
                    check(before != after, || format!("`{}.{member}` as {other} looks the same: {after}", case.tool))?;
                }
            }
        }
        scene.say(&format!("{windows} windows were read"));
        scene.close(console).await
    })
    .await;
}

fn arguments(case: &Case, change: Option<(usize, &str)>) -> String {
    let members = case.members.iter().enumerate().map(|(at, (name, value, _))| {
        let value = change.filter(|(changed, _)| *changed == at).map_or(*value, |(_, other)| other);
        format!("\"{name}\":{value}")
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// The visible text of the arguments in the request's window; the request is withdrawn afterwards.
async fn seen(console: &Console, agent: &AgentClient, tool: &str, args: &str, windows: &mut usize) -> Outcome<String> {
    *windows += 1;
    let (asked, request) = ask(agent, tool, args, &format!("mutation-{windows}")).await?;
    console.review(&request.to_string()).await?;
    let text = console.driver.text("[data-part=arguments]").await?;
    let counted = console.driver.execute("return document.querySelectorAll('[data-part=argument]').length", vec![]).await?;
    let members = args.matches("\":").count() as u64;
    check(counted.as_u64() == Some(members), || format!("{counted} of {members} arguments are shown: {text}"))?;
    console.close_review_by_key().await?;
    agent.withdraw(&asked.call).await?;
    Ok(text)
}
