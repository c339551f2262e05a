//! The plan as tables: inputs with their seconds, and what is shown.

use super::*;

const MINUTE: i64 = 60;

fn id(number: u8) -> RequestId {
    RequestId::from_random([number; 16])
}

/// `14:00` plus the minutes of the expiry, so that a text names the request it is about.
fn clock(at_s: i64) -> String {
    format!("{}:{:02}", 14 + at_s / 3600, at_s / 60 % 60)
}

fn waiting(number: u8, reversibility: Reversibility, expires_s: i64) -> Waiting {
    let subject = Subject {
        matter: Matter::Payment,
        reversibility,
        agent: "billing-bot".to_owned(),
        headline: format!("EUR {number}.00 to ACME GmbH"),
        expires: clock(expires_s),
    };
    Waiting { request: id(number), subject, expires_at_ms: expires_s * 1_000, standing: Standing::CanDecide }
}

fn compensable(number: u8) -> Waiting {
    waiting(number, Reversibility::Compensable, 3600 + i64::from(number) * MINUTE)
}

fn irreversible(number: u8, expires_s: i64) -> Waiting {
    waiting(number, Reversibility::Irreversible, expires_s)
}

/// One command on one line. What is kept is checked apart.
fn line(command: &Command) -> Option<String> {
    match command {
        Command::Remember(_) => None,
        Command::Close(slot) => Some(format!("{slot:?} closed")),
        Command::Show(popup) => {
            let target = match popup.target {
                Target::Inbox => "inbox".to_owned(),
                Target::Desk => "desk".to_owned(),
                Target::Request(request) => {
                    (1..=99).find(|number| id(*number) == request).map_or("?".to_owned(), |number| number.to_string())
                }
            };
            let transient = if popup.stay == Stay::Transient { " transient" } else { "" };
            Some(format!("{:?} {:?}{transient} -> {target}: {}", popup.slot, popup.urgency, popup.text.summary))
        }
    }
}

struct Case {
    plan: Plan,
    now_s: i64,
}

impl Case {
    fn new() -> Self {
        Self { plan: Plan::new(Notified::default(), Privacy::Guarded), now_s: 0 }
    }

    fn at(&mut self, now_s: i64, input: Input, expected: &[&str]) {
        self.now_s = now_s;
        let commands = self.plan.apply(input, now_s * 1_000);
        let lines: Vec<String> = commands.iter().filter_map(line).collect();
        assert_eq!(lines, expected, "at {now_s} s");
        if let Some(at_ms) = self.plan.next_at_ms(now_s * 1_000) {
            assert!(at_ms > now_s * 1_000, "at {now_s} s something is due that did not happen");
        }
    }

    fn restarted(self) -> Self {
        let kept = serde_json::to_string(self.plan.notified()).unwrap();
        Self { plan: Plan::new(serde_json::from_str(&kept).unwrap(), Privacy::Guarded), now_s: self.now_s }
    }
}

fn requests(list: &[Waiting]) -> Input {
    Input::Requests(list.to_vec())
}

#[test]
fn the_first_of_a_class_pops_at_once_and_the_rest_within_a_minute_as_one_update() {
    let mut case = Case::new();
    let (one, two, three) = (compensable(1), compensable(2), compensable(3));
    case.at(0, requests(&[]), &[]);
    case.at(10, requests(std::slice::from_ref(&one)), &["Waiting Normal -> 1: Approval needed: compensable payment"]);
    case.at(20, requests(&[one.clone(), two.clone()]), &[]);
    case.at(30, requests(&[one.clone(), two.clone(), three.clone()]), &[]);
    assert_eq!(case.plan.next_at_ms(30_000), Some(70_000));
    case.at(69, Input::Tick, &[]);
    case.at(70, Input::Tick, &["Waiting Normal -> inbox: 3 waiting, next expires 15:01"]);
    case.at(200, Input::Tick, &[]);
    case.at(
        201,
        requests(&[one.clone(), two.clone(), three.clone(), compensable(4)]),
        &["Waiting Normal -> inbox: 4 waiting, next expires 15:01"],
    );
    case.at(
        202,
        requests(&[one, two, three, compensable(4), irreversible(5, 7200)]),
        &["Waiting Normal -> 5: Approval needed: irreversible payment"],
    );
}

#[test]
fn a_class_that_comes_and_goes_does_not_pop_more_than_once_a_minute() {
    let mut case = Case::new();
    case.at(0, requests(&[compensable(1)]), &["Waiting Normal -> 1: Approval needed: compensable payment"]);
    case.at(5, requests(&[]), &["Waiting closed"]);
    case.at(10, requests(&[compensable(2)]), &[]);
    case.at(12, requests(&[compensable(3)]), &[]);
    case.at(60, Input::Tick, &["Waiting Normal -> 3: Approval needed: compensable payment"]);
}

#[test]
fn only_what_this_person_can_decide_is_told() {
    for standing in [Standing::Own, Standing::HasDecided, Standing::LacksRole] {
        let mut case = Case::new();
        let other = Waiting { standing, ..irreversible(1, 7200) };
        case.at(0, requests(std::slice::from_ref(&other)), &[]);
        case.at(7100, Input::Tick, &[]);
        assert_eq!(case.plan.next_at_ms(0), None, "{standing:?}");
        // A role given later makes it news.
        case.at(7110, requests(&[irreversible(1, 7200)]), &["Urgent Critical -> 1: Approval needed: irreversible payment"]);
        case.at(7120, requests(&[other]), &["Urgent closed"]);
    }
}

#[test]
fn nothing_that_has_expired_is_told() {
    let mut case = Case::new();
    case.at(7200, requests(&[irreversible(1, 7200)]), &[]);
    assert_eq!(case.plan.next_at_ms(7_200_000), None);
}

#[test]
fn critical_is_used_once_for_an_irreversible_request_about_to_expire() {
    let mut case = Case::new();
    case.at(0, requests(&[irreversible(1, 3600)]), &["Waiting Normal -> 1: Approval needed: irreversible payment"]);
    assert_eq!(case.plan.next_at_ms(0), Some(3_300_001));
    case.at(3300, Input::Tick, &[]);
    case.at(3301, Input::Tick, &["Urgent Critical -> 1: Approval needed: irreversible payment", "Waiting closed"]);
    case.at(3400, Input::Tick, &[]);
    case.at(3401, Input::Gone(Slot::Urgent), &[]);
    case.at(3500, Input::Tick, &[]);
    case.at(3599, requests(&[irreversible(1, 3600)]), &[]);
}

#[test]
fn critical_is_not_used_for_what_is_opened_or_can_be_undone() {
    let mut case = Case::new();
    let list = [irreversible(1, 3600), waiting(2, Reversibility::Compensable, 3600), waiting(3, Reversibility::Reversible, 3600)];
    case.at(0, requests(&list), &["Waiting Normal -> inbox: 3 waiting, next expires 15:00"]);
    case.at(10, Input::Opened(id(1)), &[]);
    for now_s in [3301, 3400, 3599] {
        case.at(now_s, Input::Tick, &[]);
    }
}

#[test]
fn several_critical_ones_share_a_popup() {
    let mut case = Case::new();
    let list = [irreversible(1, 3600), irreversible(2, 3620), irreversible(3, 3650)];
    case.at(0, requests(&list), &["Waiting Normal -> inbox: 3 waiting, next expires 15:00"]);
    case.at(3305, Input::Tick, &["Urgent Critical -> 1: Approval needed: irreversible payment"]);
    case.at(3355, Input::Tick, &[]);
    case.at(3365, Input::Tick, &["Urgent Critical -> inbox: 3 irreversible requests expire soon, the next at 15:00", "Waiting closed"]);
    case.at(3370, Input::Opened(id(1)), &["Urgent Low -> inbox: 2 irreversible requests expire soon, the next at 15:00"]);
    case.at(3380, Input::Opened(id(2)), &["Urgent Low -> 3: Approval needed: irreversible payment"]);
    case.at(3390, Input::Opened(id(3)), &["Urgent closed"]);
}

#[test]
fn a_short_request_is_critical_from_the_start_and_told_once() {
    let mut case = Case::new();
    case.at(0, requests(&[irreversible(1, 120)]), &["Urgent Critical -> 1: Approval needed: irreversible payment"]);
    case.at(100, Input::Tick, &[]);
}

#[test]
fn a_decided_request_is_replaced_or_closed() {
    let cases = [
        (Some(Ended::DecidedBy("Mara Quill".to_owned())), "Waiting Low transient -> 1: Decided by Mara Quill"),
        (Some(Ended::DecidedHere), "Waiting closed"),
        (Some(Ended::Otherwise), "Waiting closed"),
        (None, "Waiting closed"),
    ];
    for (how, expected) in cases {
        let mut case = Case::new();
        case.at(0, requests(&[compensable(1)]), &["Waiting Normal -> 1: Approval needed: compensable payment"]);
        if let Some(how) = how {
            case.at(5, Input::Ended(id(1), how), &[]);
        }
        case.at(5, requests(&[]), &[expected]);
        case.at(6, requests(&[]), &[]);
    }
}

#[test]
fn nothing_is_said_of_a_decision_whose_popup_is_gone() {
    let mut case = Case::new();
    case.at(0, requests(&[compensable(1)]), &["Waiting Normal -> 1: Approval needed: compensable payment"]);
    case.at(1, Input::Gone(Slot::Waiting), &[]);
    case.at(5, Input::Ended(id(1), Ended::DecidedBy("Mara Quill".to_owned())), &[]);
    case.at(5, requests(&[]), &[]);
}

#[test]
fn a_count_follows_what_still_waits_without_a_new_interruption() {
    let mut case = Case::new();
    let list = [compensable(1), compensable(2), compensable(3)];
    case.at(0, requests(&list), &["Waiting Normal -> inbox: 3 waiting, next expires 15:01"]);
    case.at(5, Input::Ended(id(1), Ended::DecidedBy("Mara Quill".to_owned())), &[]);
    case.at(5, requests(&list[1..]), &["Waiting Low -> inbox: 2 waiting, next expires 15:02"]);
    case.at(6, requests(&list[2..]), &["Waiting Low -> 3: Approval needed: compensable payment"]);
    case.at(7, Input::Opened(id(3)), &["Waiting closed"]);
}

#[test]
fn later_is_ten_minutes_of_quiet() {
    let mut case = Case::new();
    let list = [compensable(1), compensable(2)];
    case.at(0, requests(&list), &["Waiting Normal -> inbox: 2 waiting, next expires 15:01"]);
    case.at(10, Input::Later(Slot::Waiting), &[]);
    assert_eq!(case.plan.next_at_ms(10_000), Some(610_000));
    case.at(300, requests(&list), &[]);
    case.at(609, Input::Tick, &[]);
    case.at(610, Input::Tick, &["Waiting Normal -> inbox: 2 waiting, next expires 15:01"]);
    case.at(900, Input::Tick, &[]);
}

#[test]
fn what_is_put_off_is_not_critical_either() {
    let mut case = Case::new();
    case.at(0, requests(&[irreversible(1, 400)]), &["Waiting Normal -> 1: Approval needed: irreversible payment"]);
    case.at(50, Input::Later(Slot::Waiting), &[]);
    case.at(399, Input::Tick, &[]);
    // Another one is told all the same.
    case.at(399, requests(&[irreversible(1, 400), irreversible(2, 600)]), &["Urgent Critical -> 2: Approval needed: irreversible payment"]);
}

#[test]
fn the_inbox_in_view_takes_the_place_of_popups() {
    let mut case = Case::new();
    case.at(0, requests(&[compensable(1)]), &["Waiting Normal -> 1: Approval needed: compensable payment"]);
    case.at(5, Input::View(View::Inbox), &["Waiting closed"]);
    case.at(90, requests(&[compensable(1), irreversible(2, 3600)]), &[]);
    case.at(95, Input::View(View::Elsewhere), &[]);
    case.at(200, Input::Tick, &[]);
    case.at(
        210,
        requests(&[compensable(1), irreversible(2, 3600), compensable(3)]),
        &["Waiting Normal -> inbox: 3 waiting, next expires 15:00"],
    );
    // Told in the window, but still critical before it expires.
    case.at(3310, Input::Tick, &["Urgent Critical -> 2: Approval needed: irreversible payment"]);
}

#[test]
fn a_pause_is_quiet_and_ends_with_one_popup() {
    let mut case = Case::new();
    case.at(0, Input::PauseUntil(1_800_000), &[]);
    let list = [compensable(1), irreversible(2, 1700), irreversible(3, 7200)];
    case.at(10, requests(&list), &[]);
    assert_eq!(case.plan.expiring_before(1_800_000), 1);
    case.at(1600, Input::Tick, &[]);
    assert_eq!(case.plan.next_at_ms(1_600_000), Some(1_800_000));
    case.at(1705, requests(&[compensable(1), irreversible(3, 7200)]), &[]);
    case.at(1799, Input::Tick, &[]);
    case.at(1800, Input::Tick, &["Waiting Normal -> inbox: 2 waiting, next expires 15:01"]);

    let mut resumed = Case::new();
    resumed.at(0, Input::PauseUntil(1_800_000), &[]);
    resumed.at(10, requests(&[compensable(1)]), &[]);
    resumed.at(20, Input::Resume, &["Waiting Normal -> 1: Approval needed: compensable payment"]);
}

#[test]
fn quiet_hours_are_quiet_every_day_and_told_as_such() {
    let time = |hour: i8| jiff::civil::Time::constant(hour, 0, 0, 0);
    // The clock of these tests begins at midnight: quiet until seven.
    let hours = QuietHours { from: time(22), until: time(7), zone: jiff::tz::TimeZone::UTC };
    let seven = 7 * 3600;
    let mut case = Case::new();
    case.at(0, Input::Quiet(Some(hours.clone())), &[]);
    case.at(10, requests(&[irreversible(1, 3600), compensable(2)]), &[]);
    let quiet = Standstill { until_ms: seven * 1_000, chosen: false, expiring: 1 };
    assert_eq!(case.plan.standstill(10_000), Some(quiet));
    assert_eq!(case.plan.next_at_ms(10_000), Some(seven * 1_000));
    // A pause that ends earlier changes nothing; one that ends later is the one that counts.
    case.at(20, Input::PauseUntil(60_000), &[]);
    assert_eq!(case.plan.standstill(20_000), Some(quiet));
    case.at(30, Input::PauseUntil((seven + 60) * 1_000), &[]);
    assert_eq!(case.plan.standstill(30_000).map(|pause| (pause.until_ms, pause.chosen)), Some(((seven + 60) * 1_000, true)));
    case.at(40, Input::Resume, &[]);
    let late = waiting(3, Reversibility::Compensable, 9 * 3600);
    case.at(seven, requests(std::slice::from_ref(&late)), &["Waiting Normal -> 3: Approval needed: compensable payment"]);
    assert_eq!(case.plan.standstill(seven * 1_000), None);
    // Switched off within them, what waits is told at once.
    let mut off = Case::new();
    off.at(0, Input::Quiet(Some(hours)), &[]);
    off.at(10, requests(&[compensable(2)]), &[]);
    off.at(20, Input::Quiet(None), &["Waiting Normal -> 2: Approval needed: compensable payment"]);
}

#[test]
fn a_restart_tells_nothing_twice() {
    let mut case = Case::new();
    let list = [irreversible(1, 3600), compensable(2)];
    case.at(0, requests(&list), &["Waiting Normal -> inbox: 2 waiting, next expires 15:00"]);
    let mut case = case.restarted();
    case.at(100, Input::Tick, &[]);
    case.at(101, requests(&list), &[]);
    case.at(200, Input::Tick, &[]);
    case.at(3310, Input::Tick, &["Urgent Critical -> 1: Approval needed: irreversible payment"]);
    let mut case = case.restarted();
    case.at(3400, requests(&list), &[]);
    case.at(3590, Input::Tick, &[]);
    // What came while the console was away is told.
    case.at(3591, requests(&[compensable(2), compensable(3)]), &["Waiting Normal -> inbox: 2 waiting, next expires 15:02"]);
}

#[test]
fn what_is_kept_is_told_before_it_is_shown_and_forgotten_when_it_ends() {
    let mut plan = Plan::new(Notified::default(), Privacy::Guarded);
    let commands = plan.apply(requests(&[compensable(1)]), 0);
    assert!(matches!(commands.as_slice(), [Command::Remember(_), Command::Show(_)]), "{commands:?}");
    let commands = plan.apply(requests(&[]), 1_000);
    assert_eq!(commands, [Command::Remember(Notified::default()), Command::Close(Slot::Waiting)]);
    assert_eq!(plan.apply(requests(&[]), 2_000), []);
}

#[test]
fn a_stricter_privacy_changes_what_is_on_the_screen() {
    let mut case = Case::new();
    case.plan.apply(Input::Privacy(Privacy::Full), 0);
    let commands = case.plan.apply(requests(&[compensable(1)]), 0);
    assert!(format!("{commands:?}").contains("ACME"));
    let commands = case.plan.apply(Input::Privacy(Privacy::Count), 1_000);
    assert!(!format!("{commands:?}").contains("ACME"));
    assert_eq!(commands.iter().filter_map(line).collect::<Vec<_>>(), ["Waiting Low -> 1: 1 request is waiting."]);
    case.at(2, Input::Privacy(Privacy::Count), &[]);
    case.at(3, Input::Gone(Slot::Waiting), &[]);
    case.at(4, Input::Privacy(Privacy::Full), &[]);
}

/// Whatever happens, attention is a budget: per minute one popup and one first of each class, one critical per request.
#[test]
fn the_budget_holds_in_any_order() {
    let mut random = 1_u64;
    let mut next = move |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound
    };
    for round in 0..200 {
        let mut plan = Plan::new(Notified::default(), Privacy::Guarded);
        let (mut now_ms, mut shown_ms, mut critical) = (0, Vec::new(), BTreeMap::<RequestId, u32>::new());
        let mut list: Vec<Waiting> = Vec::new();
        for step in 0..120_u8 {
            now_ms += i64::try_from(next(20_000)).unwrap();
            let input = match next(8) {
                0..=2 => {
                    let reversibility = Reversibility::ALL[usize::try_from(next(3)).unwrap()];
                    let expires_s = now_ms / 1_000 + 30 + i64::try_from(next(900)).unwrap();
                    list.push(waiting(step, reversibility, expires_s));
                    requests(&list)
                }
                3 if !list.is_empty() => {
                    list.remove(usize::try_from(next(list.len() as u64)).unwrap());
                    requests(&list)
                }
                4 => Input::Gone(Slot::Waiting),
                5 => Input::View(if next(2) == 0 { View::Inbox } else { View::Elsewhere }),
                6 if !list.is_empty() => Input::Opened(list[usize::try_from(next(list.len() as u64)).unwrap()].request),
                _ => Input::Tick,
            };
            let before = plan.clone();
            for command in plan.apply(input, now_ms) {
                let Command::Show(popup) = command else { continue };
                match popup.urgency {
                    Urgency::Normal => shown_ms.push(now_ms),
                    Urgency::Critical => {
                        for (request, told) in &plan.notified.requests {
                            if told.critical && !before.told(request).critical {
                                *critical.entry(*request).or_default() += 1;
                            }
                        }
                    }
                    Urgency::Low => {}
                }
            }
        }
        for window in shown_ms.windows(5) {
            assert!(window[4] - window[0] >= GAP_MS, "round {round}: five popups within a minute: {window:?}");
        }
        assert!(critical.values().all(|count| *count == 1), "round {round}: {critical:?}");
    }
}
