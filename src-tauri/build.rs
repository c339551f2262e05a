//! Declares every command, which makes each of them refused unless a capability allows it.

fn main() {
    let commands = &[
        "console_state",
        "inbox_open",
        "inbox_page",
        "settings",
        "save_settings",
        "pause_notices",
        "open_review",
        "desk",
        "desk_item",
        "desk_wanted",
        "outcome_opened",
        "ask_provider",
        "open_answer",
        "open_enrolment",
        "open_keys",
        "review_state",
        "review_seen",
        "review_panel",
        "review_answer",
        "review_decide",
        "review_next",
        "review_close",
        "review_save_evidence",
        "review_save_bytes",
        "review_desk",
        "answer_state",
        "answer_seen",
        "answer_form",
        "answer_attach",
        "answer_sign",
        "answer_original",
        "answer_close",
        "enrolment_state",
        "enrolment_act",
        "keys_state",
        "keys_act",
    ];
    let manifest = tauri_build::AppManifest::new().commands(commands);
    let attributes = tauri_build::Attributes::new().app_manifest(manifest);
    if let Err(error) = tauri_build::try_build(attributes) {
        panic!("the console's manifest is not accepted: {error:#}");
    }
}
