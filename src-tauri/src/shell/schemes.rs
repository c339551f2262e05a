//! The schemes of the trusted windows. A page is given to the window it belongs to and to no other.

use tauri::http::{Request, Response, StatusCode};
use tauri::{AppHandle, Builder, Manager, UriSchemeContext, Wry};

use super::{Shared, draw_answer, draw_review, sheet_commands, windows};
use crate::trusted::Document;

pub const REVIEW: &str = "vidimus-review";
pub const ANSWER: &str = "vidimus-answer";
pub const ENROLMENT: &str = "vidimus-enrolment";
pub const KEYS: &str = "vidimus-keys";

type Answer = Response<Vec<u8>>;

pub fn register(builder: Builder<Wry>) -> Builder<Wry> {
    builder
        .register_asynchronous_uri_scheme_protocol(REVIEW, |context, request, responder| respond(context, request, responder, review))
        .register_asynchronous_uri_scheme_protocol(ANSWER, |context, request, responder| respond(context, request, responder, answer_page))
        .register_asynchronous_uri_scheme_protocol(ENROLMENT, |context, request, responder| respond(context, request, responder, enrolment))
        .register_asynchronous_uri_scheme_protocol(KEYS, |context, request, responder| respond(context, request, responder, keys))
}

/// Pages are drawn off the thread of the windows.
fn respond(
    context: UriSchemeContext<'_, Wry>,
    request: Request<Vec<u8>>,
    responder: tauri::UriSchemeResponder,
    draw: fn(&AppHandle, &str, &Request<Vec<u8>>) -> Option<Document>,
) {
    let app = context.app_handle().clone();
    let label = context.webview_label().to_owned();
    tauri::async_runtime::spawn_blocking(move || {
        let document = if request.method() == "GET" { draw(&app, &label, &request) } else { None };
        responder.respond(answer(document));
    });
}

fn review(app: &AppHandle, label: &str, request: &Request<Vec<u8>>) -> Option<Document> {
    let own = windows::request_of(label)?;
    let asked = request.uri().path().trim_start_matches('/');
    if asked != own {
        return None;
    }
    let console = app.state::<Shared>();
    draw_review(&console, own, request.uri().query().unwrap_or_default())
}

fn answer_page(app: &AppHandle, label: &str, request: &Request<Vec<u8>>) -> Option<Document> {
    let own = windows::operation_of(label)?;
    let asked = request.uri().path().trim_start_matches('/');
    if asked != own {
        return None;
    }
    let console = app.state::<Shared>();
    draw_answer(&console, own, request.uri().query().unwrap_or_default())
}

fn enrolment(app: &AppHandle, label: &str, _request: &Request<Vec<u8>>) -> Option<Document> {
    (label == windows::ENROLMENT).then(|| sheet_commands::draw_enrolment(app))
}

fn keys(app: &AppHandle, label: &str, _request: &Request<Vec<u8>>) -> Option<Document> {
    (label == windows::KEYS).then(|| sheet_commands::draw_keys(app))
}

fn answer(document: Option<Document>) -> Answer {
    let (status, html, policy) = match document {
        Some(document) => (StatusCode::OK, document.html, document.content_security_policy),
        None => (StatusCode::FORBIDDEN, String::new(), "default-src 'none'".to_owned()),
    };
    let built = Response::builder()
        .status(status)
        .header("Content-Type", "text/html; charset=utf-8")
        .header("Content-Security-Policy", policy)
        .header("X-Content-Type-Options", "nosniff")
        .header("Referrer-Policy", "no-referrer")
        .header("Cache-Control", "no-store")
        .body(html.into_bytes());
    built.unwrap_or_else(|_| Response::new(Vec::new()))
}
