//! Beginning, enrolling, sessions, agents.

use vidimus_core::bytes::Digest;
use vidimus_core::code::Code;
use vidimus_core::decision::DecisionKind;
use vidimus_core::ids::Environment;
use vidimus_core::roster::KeyUse;
use vidimus_core::statement::SessionStatement;
use vidimus_store::*;

use crate::fixture::{Approver, Gate, code_of, name, names, person_of, seal_key};

#[tokio::test]
async fn a_gate_begins_once() {
    let gate = Gate::initialised().await;
    let size = gate.size().await;
    let again = gate.store.init(gate.moment(), gate.init()).await.expect("an outcome");
    assert!(matches!(again, InitOutcome::AlreadyInitialised(_)), "{again:?}");
    assert_eq!(gate.told_since(0).await, ["gate_initialised", "invite_created"]);
    assert_eq!(gate.size().await, size);
    assert_eq!(gate.store.roster().await.expect("a reading"), None);
    assert!(!gate.store.table().await.expect("a reading").expect("a table").signed);
}

#[tokio::test]
async fn nothing_works_before_init_and_a_bad_table_makes_no_gate() {
    let gate = Gate::initialised().await;
    let empty = Store::open(&gate.folder().join("other.db"), seal_key()).expect("the database opens");
    assert_eq!(empty.identity().await.expect("a reading"), None);
    assert!(matches!(empty.offer(gate.moment(), Digest::of(b"x")).await, Err(StoreError::NotInitialised)));
    let bad = Init { table: "v = 1\n[[row]]\ntool = \"x\"\n".to_owned(), ..gate.init() };
    assert!(matches!(empty.init(gate.moment(), bad).await.expect("an outcome"), InitOutcome::Refused(_)));
    assert_eq!(empty.head().await.expect("a reading").size, 0);
    assert!(matches!(empty.init(gate.moment(), gate.init()).await.expect("an outcome"), InitOutcome::Initialised(_)));
}

#[tokio::test]
async fn genesis_signs_exactly_this_roster_table_and_invite() {
    let gate = Gate::initialised().await;
    let ada = gate.approver("Ada Example");
    let offer = gate.store.offer(gate.moment(), code_of(&ada.name)).await.expect("an outcome");
    let OfferOutcome::Offer(offer) = offer else { panic!("{offer:?}") };
    assert_eq!((offer.person, offer.kind, offer.table.table_sha256), (ada.person, InviteKind::Genesis, gate.table.digest()));
    type Twist = fn(&mut vidimus_core::statement::Genesis);
    let twists: [(Twist, Code); 4] = [
        (|genesis| genesis.table_sha256 = Digest::of(b"another table"), Code::GenesisMalformed),
        (|genesis| genesis.invite_sha256 = Digest::of(b"another invite"), Code::GenesisMalformed),
        (|genesis| genesis.roster.persons[0].name = "Eve Example".to_owned(), Code::GenesisMalformed),
        (|genesis| genesis.roster.environment = Environment::Live, Code::EnvironmentWrong),
    ];
    for (twist, code) in twists {
        let size = gate.size().await;
        match gate.enrol_genesis(&ada, twist).await {
            EnrolOutcome::Refused(refusal) => {
                assert_eq!(refusal.code, code);
                assert!(gate.told_since(size).await.is_empty(), "a refusal writes nothing by itself");
                gate.store.refuse_enrolment(gate.moment(), refusal).await.expect("recorded");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(gate.told_since(size).await, [format!("enrolment_refused:{code}")]);
        assert_eq!(gate.store.roster().await.expect("a reading"), None);
    }
    let size = gate.size().await;
    assert_eq!(gate.enrol_genesis(&ada, |_| {}).await, EnrolOutcome::Active { person: ada.person });
    assert_eq!(gate.told_since(size).await, ["roster_changed", "table_changed"]);
    assert!(gate.store.table().await.expect("a reading").expect("a table").signed);
    // The invite is dead now.
    match gate.enrol_genesis(&ada, |_| {}).await {
        EnrolOutcome::Refused(refusal) => assert_eq!(refusal.code, Code::InviteInvalid),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_invite_dies_by_time_and_by_use() {
    let (gate, ada) = Gate::with_admin().await;
    assert_eq!(gate.invite("Bea Example", &["billing-approver"]).await, InviteOutcome::Created);
    assert!(matches!(gate.invite("Bea Example", &["admin"]).await, InviteOutcome::Refused(_)));
    assert!(matches!(gate.invite("Dan Example", &["everyone"]).await, InviteOutcome::Refused(_)));
    assert!(matches!(gate.invite("Dan Example", &[]).await, InviteOutcome::Refused(_)));
    let offer = async |code| gate.store.offer(gate.moment(), code).await.expect("an outcome");
    assert!(matches!(offer(code_of("Bea Example")).await, OfferOutcome::Offer(_)));
    assert!(matches!(offer(Digest::of(b"a guess")).await, OfferOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid));
    gate.advance_s(3600);
    assert!(matches!(offer(code_of("Bea Example")).await, OfferOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid));
    assert_eq!(gate.invite("Cem Example", &["billing-approver"]).await, InviteOutcome::Created);
    let cem = gate.approver("Cem Example");
    assert!(matches!(gate.propose(&cem).await, EnrolOutcome::Waiting { .. }));
    assert!(matches!(gate.propose(&cem).await, EnrolOutcome::Refused(refusal) if refusal.code == Code::InviteInvalid));
    assert_eq!(gate.roster().await.persons.len(), 1, "{}", ada.name);
}

#[tokio::test]
async fn an_enrolment_proves_both_keys_for_this_invite() {
    let (gate, _) = Gate::with_admin().await;
    gate.invite("Bea Example", &["billing-approver"]).await;
    let bea = gate.approver("Bea Example");
    let eve = gate.approver("Eve Example");
    let good = || ProposeAdmission {
        code_sha256: code_of(&bea.name),
        label: "desk".to_owned(),
        approval: gate.enrolment(&bea, KeyUse::Approval, |_| {}),
        device: gate.enrolment(&bea, KeyUse::Device, |_| {}),
        call: gate.call_id(),
        request: gate.request_id(),
        salt: gate.salt(),
    };
    let cases = [
        (ProposeAdmission { device: gate.enrolment(&bea, KeyUse::Approval, |_| {}), ..good() }, Code::EnrolmentWrong),
        (ProposeAdmission { approval: gate.enrolment(&bea, KeyUse::Approval, |s| s.person = eve.person), ..good() }, Code::EnrolmentWrong),
        (
            ProposeAdmission { approval: gate.enrolment(&bea, KeyUse::Approval, |s| s.environment = Environment::Live), ..good() },
            Code::EnvironmentWrong,
        ),
        (
            ProposeAdmission { approval: gate.enrolment(&bea, KeyUse::Approval, |s| s.key = eve.approval.public()), ..good() },
            Code::EnvelopeKeyWrong,
        ),
        (ProposeAdmission { label: "other".to_owned(), ..good() }, Code::EnrolmentWrong),
        (ProposeAdmission { code_sha256: Digest::of(b"a guess"), ..good() }, Code::InviteInvalid),
    ];
    for (propose, code) in cases {
        match gate.store.propose_admission(gate.moment(), propose).await.expect("an outcome") {
            EnrolOutcome::Refused(refusal) => assert_eq!(refusal.code, code),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(gate.propose(&bea).await, EnrolOutcome::Waiting { .. }));
}

#[tokio::test]
async fn admission_is_decided_by_another_and_then_opens_sessions() {
    let (gate, ada) = Gate::with_admin().await;
    gate.invite("Bea Example", &["billing-approver", "admin"]).await;
    let bea = gate.approver("Bea Example");
    let EnrolOutcome::Waiting { request, .. } = gate.propose(&bea).await else { panic!("the admission waits") };
    assert_eq!(session_code(&gate, &bea).await, Some(Code::KeyWaiting));
    gate.carry_out_admission(&ada, request).await;
    assert_eq!(session_code(&gate, &bea).await, None);
    let roster = gate.roster().await;
    assert_eq!((roster.version, roster.persons.len()), (2, 2));
    let told = gate.told_since(0).await;
    assert_eq!(told.iter().filter(|told| *told == "roster_changed").count(), 2);
}

#[tokio::test]
async fn two_who_wait_are_both_admitted() {
    let (gate, ada) = Gate::with_admin().await;
    let mut requests = Vec::new();
    for who in ["Bea Example", "Cem Example"] {
        gate.invite(who, &["billing-approver"]).await;
        let EnrolOutcome::Waiting { request, .. } = gate.propose(&gate.approver(who)).await else { panic!("the admission waits") };
        requests.push(request);
    }
    gate.carry_out_admission(&ada, requests[0]).await;
    assert_eq!(gate.view(requests[1]).await.state.as_str(), "stale");
    let waiting =
        gate.store.requests(Some("pending".parse().expect("a state")), None, names(&["admin"])).await.expect("a reading").requests;
    assert_eq!(waiting.len(), 1);
    gate.carry_out_admission(&ada, waiting[0].request).await;
    assert_eq!(gate.roster().await.persons.len(), 3);
}

#[tokio::test]
async fn a_denied_admission_leaves_a_key_unknown() {
    let (gate, ada) = Gate::with_admin().await;
    gate.invite("Bea Example", &["billing-approver"]).await;
    let bea = gate.approver("Bea Example");
    let EnrolOutcome::Waiting { request, .. } = gate.propose(&bea).await else { panic!("the admission waits") };
    assert!(matches!(gate.decide(&ada, request, DecisionKind::Deny, "admin").await, DecisionOutcome::Recorded(_)));
    assert_eq!(session_code(&gate, &bea).await, Some(Code::KeyUnknown));
}

/// The code with which a session is refused; none where it opens.
async fn session_code(gate: &Gate, who: &Approver) -> Option<Code> {
    let ask = SessionChallenge { key_sha256: who.device.public().digest(), challenge: gate.nonce() };
    match gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome") {
        SessionChallengeOutcome::Refused(refusal) => Some(refusal.code),
        SessionChallengeOutcome::Issued { issued_at, .. } => {
            let statement = session_statement(gate, who, ask, issued_at);
            let open =
                OpenSession { envelope: statement.sign(&who.device).expect("signed"), session_sha256: Digest::of(who.name.as_bytes()) };
            match gate.store.open_session(gate.moment(), open).await.expect("an outcome") {
                SessionOutcome::Opened(session) => {
                    assert_eq!(session.person, who.person);
                    None
                }
                SessionOutcome::Refused(refusal) => Some(refusal.code),
            }
        }
    }
}

fn session_statement(gate: &Gate, who: &Approver, ask: SessionChallenge, issued_at: vidimus_core::time::Timestamp) -> SessionStatement {
    SessionStatement {
        gate: vidimus_core::ids::GateId::of(&gate.log_key.public()),
        environment: Environment::Test,
        key_sha256: who.device.public().digest(),
        challenge: ask.challenge,
        issued_at,
    }
}

#[tokio::test]
async fn a_session_challenge_opens_one_session_in_time() {
    let (gate, ada, bea, _) = Gate::with_people().await;
    let ask = SessionChallenge { key_sha256: ada.device.public().digest(), challenge: gate.nonce() };
    let issued = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
    let SessionChallengeOutcome::Issued { issued_at, expires_at } = issued else { panic!("{issued:?}") };
    let open = async |statement: SessionStatement, who: &Approver, bearer: &str| {
        let open = OpenSession { envelope: statement.sign(&who.device).expect("signed"), session_sha256: Digest::of(bearer.as_bytes()) };
        match gate.store.open_session(gate.moment(), open).await.expect("an outcome") {
            SessionOutcome::Opened(_) => None,
            SessionOutcome::Refused(refusal) => Some(refusal.code),
        }
    };
    let good = session_statement(&gate, &ada, ask, issued_at);
    // Another key's challenge, another time, another gate's environment, an approval key.
    assert_eq!(open(session_statement(&gate, &bea, ask, issued_at), &bea, "x").await, Some(Code::ChallengeInvalid));
    assert_eq!(open(SessionStatement { issued_at: issued_at.plus_ms(1), ..good.clone() }, &ada, "x").await, Some(Code::ChallengeInvalid));
    assert_eq!(open(SessionStatement { environment: Environment::Live, ..good.clone() }, &ada, "x").await, Some(Code::EnvironmentWrong));
    assert_eq!(
        open(SessionStatement { key_sha256: ada.approval.public().digest(), ..good.clone() }, &ada, "x").await,
        Some(Code::KeyUseWrong)
    );
    assert_eq!(open(good.clone(), &bea, "x").await, Some(Code::EnvelopeKeyWrong));
    assert_eq!(open(good.clone(), &ada, "bearer").await, None);
    assert_eq!(open(good.clone(), &ada, "again").await, Some(Code::ChallengeInvalid));
    let session = gate.store.authenticate_session(gate.now(), Digest::of(b"bearer")).await.expect("a reading").expect("a session");
    assert_eq!((session.person, session.roles), (ada.person, names(&["admin"])));
    assert_eq!(gate.store.authenticate_session(gate.now(), Digest::of(b"again")).await.expect("a reading"), None);
    assert_eq!(gate.store.authenticate_session(session.expires_at, Digest::of(b"bearer")).await.expect("a reading"), None);
    // A challenge that waited too long.
    let ask = SessionChallenge { challenge: gate.nonce(), ..ask };
    let issued = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
    let SessionChallengeOutcome::Issued { issued_at: later, .. } = issued else { panic!("{issued:?}") };
    gate.advance_s(i64::try_from(issued_at.seconds_until(expires_at)).expect("small"));
    assert_eq!(open(session_statement(&gate, &ada, ask, later), &ada, "late").await, Some(Code::ChallengeInvalid));
}

#[tokio::test]
async fn challenges_that_others_ask_for_drive_out_none() {
    let (gate, ada) = Gate::with_admin().await;
    let ask = SessionChallenge { key_sha256: ada.device.public().digest(), challenge: gate.nonce() };
    let issued = gate.store.session_challenge(gate.moment(), ask).await.expect("an outcome");
    let SessionChallengeOutcome::Issued { issued_at, .. } = issued else { panic!("{issued:?}") };
    for _ in 0..100 {
        let others = SessionChallenge { challenge: gate.nonce(), ..ask };
        gate.store.session_challenge(gate.moment(), others).await.expect("an outcome");
    }
    let statement = session_statement(&gate, &ada, ask, issued_at);
    let open = OpenSession { envelope: statement.sign(&ada.device).expect("signed"), session_sha256: Digest::of(b"bearer") };
    let opened = gate.store.open_session(gate.moment(), open).await.expect("an outcome");
    assert!(matches!(opened, SessionOutcome::Opened(_)), "{opened:?}");
}

#[tokio::test]
async fn one_session_too_many_ends_the_oldest() {
    let (gate, ada) = Gate::with_admin().await;
    let first = gate.open_session(&ada).await;
    let second = gate.open_session(&ada).await;
    for _ in 1..vidimus_store::limits::SESSIONS_PER_KEY_MAX {
        gate.open_session(&ada).await;
    }
    assert_eq!(gate.store.authenticate_session(gate.now(), first).await.expect("a reading"), None);
    assert!(gate.store.authenticate_session(gate.now(), second).await.expect("a reading").is_some());
}

#[tokio::test]
async fn an_agent_has_one_credential_and_its_chain() {
    let (gate, ada) = Gate::with_admin().await;
    let add = |agent: &str, owner, parent: Option<&str>| AddAgent {
        agent: name(agent),
        owner,
        parent: parent.map(name),
        credential_sha256: Digest::of(agent.as_bytes()),
    };
    let added = async |agent| gate.store.add_agent(gate.moment(), agent).await.expect("an outcome");
    assert_eq!(added(add("planner", Some(ada.person), None)).await, AgentAdded::Added);
    assert_eq!(added(add("worker", None, Some("planner"))).await, AgentAdded::Added);
    let size = gate.size().await;
    for refused in [
        add("planner", None, None),
        add("orphan", None, Some("nobody")),
        add("owned", Some(person_of("Eve Example")), None),
        AddAgent { credential_sha256: Digest::of(b"worker"), ..add("other", None, None) },
    ] {
        assert!(matches!(added(refused).await, AgentAdded::Refused(_)));
    }
    assert_eq!(gate.size().await, size);
    let worker = gate.store.authenticate_agent(Digest::of(b"worker")).await.expect("a reading").expect("an agent");
    let chain: Vec<_> = worker.chain.iter().map(|link| (link.agent.as_str(), link.owner)).collect();
    assert_eq!(chain, [("worker", None), ("planner", Some(ada.person))]);
    assert_eq!(gate.store.authenticate_agent(Digest::of(b"guess")).await.expect("a reading"), None);
}
