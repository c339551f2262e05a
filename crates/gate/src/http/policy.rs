//! Who may do what: every route with its one actor, and the one place where that is enforced.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use vidimus_api::problem::FaceCode;
use vidimus_core::bytes::Digest;
use vidimus_core::code::{Code, Refusal};

use super::body::{absent, nowhere};
use super::operator::refuse_while_failed;
use super::places::{Connection, Holder};
use super::rejection::Rejection;
use super::server::Peer;
use crate::gate::Gate;

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// Everybody: what is asked proves itself, or says nothing.
    Anyone,
    /// An agent, by its credential.
    Agent,
    /// A person, by a session.
    Person,
    /// Whoever operates the gate: programs on its own machine, not through a proxy.
    Operator,
}

/// A route and its actor.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: &'static str,
    /// The path, with its parameters in braces.
    pub path: &'static str,
    /// Who may use it.
    pub actor: Actor,
}

const fn route(method: &'static str, path: &'static str, actor: Actor) -> Route {
    Route { method, path, actor }
}

/// Every route of the face.
pub const ROUTES: &[Route] = &[
    route("POST", "/v1/calls", Actor::Agent),
    route("GET", "/v1/calls/{call}", Actor::Agent),
    route("POST", "/v1/calls/{call}/withdraw", Actor::Agent),
    route("GET", "/v1/tools", Actor::Agent),
    route("POST", "/v1/enrolments/offer", Actor::Anyone),
    route("POST", "/v1/enrolments", Actor::Anyone),
    route("POST", "/v1/sessions/challenges", Actor::Anyone),
    route("POST", "/v1/sessions", Actor::Anyone),
    route("POST", "/v1/keys/{key_sha256}/stop", Actor::Anyone),
    route("POST", "/v1/recoveries/{recovery_sha256}/veto", Actor::Anyone),
    route("POST", "/v1/roster/proposals", Actor::Person),
    route("GET", "/v1/requests", Actor::Person),
    route("GET", "/v1/requests/{request}", Actor::Person),
    route("POST", "/v1/requests/{request}/challenge", Actor::Person),
    route("POST", "/v1/requests/{request}/decisions", Actor::Person),
    route("GET", "/v1/operations/{operation}", Actor::Person),
    route("POST", "/v1/operations/{operation}/challenge", Actor::Person),
    route("POST", "/v1/operations/{operation}/reconciliations", Actor::Person),
    route("POST", "/v1/operations/{operation}/status", Actor::Person),
    route("POST", "/v1/operations/{operation}/opened", Actor::Person),
    route("GET", "/v1/log/stream", Actor::Person),
    route("GET", "/checkpoint", Actor::Person),
    route("GET", "/v1/table", Actor::Person),
    route("POST", "/v1/table/proposals", Actor::Person),
    route("GET", "/v1/roster", Actor::Person),
    route("GET", "/healthz", Actor::Anyone),
    route("GET", "/readyz", Actor::Anyone),
    route("GET", "/metrics", Actor::Operator),
    route("GET", "/openapi.json", Actor::Anyone),
];

fn actor_of(method: &Method, path: &str) -> Option<Actor> {
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    ROUTES.iter().find(|route| route.method == method && route.path == path).map(|route| route.actor)
}

/// The path of a route as a label with a closed list of values.
pub fn label_of(path: Option<&MatchedPath>) -> &'static str {
    let known = path.and_then(|path| ROUTES.iter().find(|route| route.path == path.as_str()));
    known.map_or("none", |route| route.path)
}

/// Lets a request through to its handler with the identity that its route asks for, or refuses it.
pub async fn enforce(State(gate): State<Arc<Gate>>, mut request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<MatchedPath>().and_then(|path| actor_of(request.method(), path.as_str()));
    // Before its sender is known: what is found good is at work from that moment on.
    let _under_way = request.extensions().get::<Arc<Connection>>().map(Connection::begin);
    // One after the other, so that the work for people does not queue behind what strangers pipeline. Whoever is known goes on;
    // what has a body is not held up by those who send theirs slowly.
    let turn = match request.extensions().get::<Arc<Connection>>() {
        Some(connection) if request.method() != Method::POST && connection.is_strangers() => gate.strangers.acquire().await.ok(),
        Some(_) | None => None,
    };
    let identified = match actor {
        None if request.extensions().get::<MatchedPath>().is_some() => Ok(()),
        None => Err(absent()),
        // No id and no route has a character that needs escaping; one that is not even text would be answered without a document.
        Some(_) if request.uri().path().contains('%') => Err(absent()),
        Some(Actor::Anyone) => Ok(()),
        Some(Actor::Agent) => agent(&gate, &mut request).await,
        Some(Actor::Person) => person(&gate, &mut request).await,
        Some(Actor::Operator) => operator(&request),
    };
    match identified {
        Ok(()) => {
            let _turn = turn.filter(|_| actor == Some(Actor::Anyone));
            next.run(request).await
        }
        Err(rejection) => rejection.into_response(),
    }
}

/// The digest of the session that a request came with: what a long answer asks for again.
#[derive(Debug, Clone, Copy)]
pub struct SessionDigest(pub Digest);

/// A program on this machine. To others the route does not exist.
fn operator(request: &Request) -> Result<(), Rejection> {
    let local = request.extensions().get::<Peer>().is_some_and(|peer| peer.0.ip().is_loopback());
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip"].iter().any(|name| request.headers().contains_key(*name));
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(names_this_machine);
    if local && !forwarded && named { Ok(()) } else { Err(nowhere()) }
}

/// Whether a `Host` names this machine. A page in a browser here reaches the listener too, under a name of its own that leads to it.
fn names_this_machine(host: &str) -> bool {
    let Ok(authority) = host.parse::<axum::http::uri::Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn agent(gate: &Gate, request: &mut Request) -> Result<(), Rejection> {
    // Reads would be answered before their record is kept.
    refuse_while_failed(gate)?;
    let peer = request.extensions().get::<Peer>().copied();
    let found = match bearer(request.headers(), "vda_") {
        Some(digest) => gate.store.authenticate_agent(digest).await?,
        None => None,
    };
    match found {
        Some(identity) => {
            hold(request, &Holder::Agent(identity.agent.clone()))?;
            request.extensions_mut().insert(identity);
            Ok(())
        }
        None => Err(unidentified(gate, peer, "an agent's credential, as `agent add` printed it").await),
    }
}

async fn person(gate: &Gate, request: &mut Request) -> Result<(), Rejection> {
    let peer = request.extensions().get::<Peer>().copied();
    let found = match bearer(request.headers(), "vds_") {
        Some(digest) => gate.store.authenticate_session(crate::clock::now(), digest).await?.map(|session| (digest, session)),
        None => None,
    };
    match found {
        Some((digest, session)) => {
            hold(request, &Holder::Person(session.person))?;
            request.extensions_mut().insert(SessionDigest(digest));
            request.extensions_mut().insert(session);
            Ok(())
        }
        None => Err(unidentified(gate, peer, "a person's session; open one by a signed challenge").await),
    }
}

/// Notes on the connection who has proven to be there.
///
/// *Errors*: `connections_limit_reached`.
fn hold(request: &Request, holder: &Holder) -> Result<(), Rejection> {
    if request.extensions().get::<Arc<Connection>>().is_none_or(|connection| connection.prove(holder)) {
        return Ok(());
    }
    let detail = "all the connections that this sender may have are at work; use those that are open";
    Err(Rejection::of_face(FaceCode::ConnectionsLimitReached, detail))
}

/// The digest of the one bearer credential of this kind.
fn bearer(headers: &HeaderMap, prefix: &str) -> Option<Digest> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = values.next()?.to_str().ok()?;
    let secret = value.strip_prefix("Bearer ")?;
    // Two credentials are none: which one counts must not depend on a proxy.
    (values.next().is_none() && secret.starts_with(prefix)).then(|| Digest::of(secret.as_bytes()))
}

/// The refusal of who is not known: the same for a missing, a wrong and another actor's credential.
async fn unidentified(gate: &Gate, peer: Option<Peer>, needed: &str) -> Rejection {
    // The listener names the other end of every connection; a request without one is served by nobody.
    let Some(peer) = peer else { return absent() };
    let refusal = Refusal::new(Code::CredentialInvalid, format!("the credential is missing, unknown or ended; send {needed}"));
    match count_failure(gate, peer, &refusal).await {
        Ok(()) => refusal.into(),
        Err(limited) => limited,
    }
}

/// Puts a failed authentication on record, as long as its address has not used up its window.
///
/// *Errors*: `rate_limited`.
pub async fn count_failure(gate: &Gate, peer: Peer, refusal: &Refusal) -> Result<(), Rejection> {
    limit_failures(gate, peer)?;
    gate.record_refusal(None, "", refusal.clone(), Vec::new()).await
}

/// Counts a failed authentication, or a look at what is not there for its sender. Beyond the limit neither is recorded.
///
/// *Errors*: `rate_limited`.
pub fn limit_failures(gate: &Gate, peer: Peer) -> Result<(), Rejection> {
    if !gate.failures.count(peer.0.ip(), crate::clock::now()) {
        return Err(Rejection::of_face(
            FaceCode::RateLimited,
            "too many failed authentications and wrong ids come from this address; wait a minute",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        let document: serde_json::Value = serde_json::from_str(super::super::operator::OPENAPI).expect("JSON");
        let mut described: Vec<(String, String)> = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            described.extend(methods.as_object().expect("methods").keys().map(|method| (method.to_uppercase(), path.clone())));
        }
        let mut routes: Vec<(String, String)> = ROUTES.iter().map(|route| (route.method.to_owned(), route.path.to_owned())).collect();
        described.sort();
        routes.sort();
        assert_eq!(described, routes);
        for route in ROUTES {
            let security = &document["paths"][route.path][route.method.to_lowercase()]["security"];
            let named = security.as_array().expect("security").first().and_then(|first| first.as_object()?.keys().next().cloned());
            let expected = match route.actor {
                Actor::Agent => Some("agent"),
                Actor::Person => Some("session"),
                Actor::Anyone | Actor::Operator => None,
            };
            assert_eq!(named.as_deref(), expected, "{}", route.path);
        }
    }

    #[test]
    fn the_operators_host_is_this_machine() {
        for here in ["127.0.0.1", "127.0.0.1:7340", "localhost:1", "LOCALHOST", "[::1]:7340", "[::1]"] {
            assert!(names_this_machine(here), "{here}");
        }
        for elsewhere in ["evil.example", "evil.example:7340", "127.0.0.1.evil.example", "192.0.2.1:1", "", "localhost@evil.example", "a b"]
        {
            assert!(!names_this_machine(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn no_route_has_two_actors() {
        for (index, route) in ROUTES.iter().enumerate() {
            let again = ROUTES[index + 1..].iter().any(|other| other.method == route.method && other.path == route.path);
            assert!(!again, "{} {}", route.method, route.path);
        }
    }

    #[test]
    fn one_bearer_of_the_right_kind_is_taken() {
        let headers = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, axum::http::HeaderValue::from_static(value));
            }
            headers
        };
        assert_eq!(bearer(&headers(&["Bearer vda_x"]), "vda_"), Some(Digest::of(b"vda_x")));
        for refused in [&["bearer vda_x"][..], &["vda_x"], &["Bearer vds_x"], &["Bearer vda_x", "Bearer vda_x"], &["Basic vda_x"], &[]] {
            assert_eq!(bearer(&headers(refused), "vda_"), None, "{refused:?}");
        }
    }
}
