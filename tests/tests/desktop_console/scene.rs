//! What every test stands on: a company, a gate, a desktop with the console, agents, and a way to say what failed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vidimus_api::call::{CallAnswer, CallRequest};
use vidimus_api::client::AgentClient;
use vidimus_api::invite::Invite;
use vidimus_core::ids::RequestId;
use vidimus_tests::approver::Approver;
use vidimus_tests::company::{Company, Inspector, Options as CompanyOptions, Tool, effect_table};
use vidimus_tests::console::{Console, Panel};
use vidimus_tests::desktop::{Desktop, Display, Options};
use vidimus_tests::gate::{COMPANY_TOKEN, Gate, GateHome};
use vidimus_tests::processes::Binary;

/// The PIN of every person here.
pub const PIN: &str = "480216";
/// The first admin's name.
pub const FOUNDER: &str = "Robin Example";
/// A reason that says something.
pub const REASON: &str = "matches the ticket, checked against the invoice";
/// How long something may take to show.
pub const SOON: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

pub const REFUND: &str = r#"{"invoice":"invoice_842","amount_minor":8990,"currency":"EUR","reason":"arrived broken"}"#;
pub const MAIL: &str =
    r#"{"to":"bert@example.org","subject":"Your fan","body":"It ships on Friday.\nWith kind regards, the support desk"}"#;
pub const CREDIT: &str = r#"{"customer":"customer_ada","amount_minor":500,"currency":"EUR","reason":"for the long wait"}"#;

pub type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Fails with these words unless it holds.
pub fn check(holds: bool, words: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(words().into()) }
}

/// The file of orders to the gate's seams.
const ORDERS: &str = "orders";

/// A computer of a further person. The console ends before its desktop.
pub struct Seat {
    pub console: Console,
    pub desktop: Desktop,
}

/// Everything that a test stands on.
pub struct Scene {
    pub desktop: Desktop,
    pub gate: Option<Gate>,
    pub home: GateHome,
    pub inspector: Inspector,
    /// The first admin's invitation.
    pub invite: String,
    pub profile: PathBuf,
    pub console_program: PathBuf,
    /// Held here until it is closed, so that a failure's picture shows it.
    console: Mutex<Option<Arc<Console>>>,
    name: &'static str,
    _company: Company,
    pub folder: TempDir,
}

impl Scene {
    /// A gate that serves and an empty desktop; the first admin will hold `roles` beside `admin`.
    pub async fn set(name: &'static str, roles: &[&str], options: Options) -> Outcome<Scene> {
        Self::set_with(name, roles, options, |table| table).await
    }

    /// The same with a changed effect table.
    pub async fn set_with(name: &'static str, roles: &[&str], options: Options, change: impl FnOnce(String) -> String) -> Outcome<Scene> {
        let folder = tempfile::Builder::new().prefix("vidimus-scene-").tempdir()?;
        let company = Company::start(CompanyOptions::new(COMPANY_TOKEN)).await?;
        let inspector = company.inspector()?;
        let table = change(effect_table(&company.url));
        let program = Binary::path("vidimus-gate")?;
        let (home, invite) = GateHome::init(&program, &folder.path().join("gate"), &table, "test", FOUNDER, roles)?;
        let gate = Some(home.serve(&[])?);
        let desktop = Desktop::start(options)?;
        let profile = folder.path().join("console");
        std::fs::create_dir_all(&profile)?;
        let console_program = Binary::path("vidimus")?;
        Ok(Scene {
            desktop,
            gate,
            home,
            inspector,
            invite,
            profile,
            console_program,
            console: Mutex::default(),
            name,
            _company: company,
            folder,
        })
    }

    /// The console, ended by itself at this point.
    pub async fn open_console_cut_at(&self, seam: &str) -> Outcome<Arc<Console>> {
        self.open_console_under(&[("VIDIMUS_CONSOLE_SEAM", seam)]).await
    }

    /// The console with variables in its environment.
    pub async fn open_console_under(&self, variables: &[(&str, &str)]) -> Outcome<Arc<Console>> {
        let console = Console::start_under(&self.desktop, &self.console_program, &self.profile, "light", variables).await?;
        Ok(self.hold(console))
    }

    fn hold(&self, console: Console) -> Arc<Console> {
        let console = Arc::new(console);
        *self.console.lock().unwrap_or_else(PoisonError::into_inner) = Some(console.clone());
        console
    }

    /// Clears away a console that ended by itself.
    pub async fn cleared(&self, console: Arc<Console>) -> Outcome {
        console.driver.ended()?;
        self.close(console).await
    }

    /// A further person's own computer with a console on it, not enrolled yet.
    pub async fn seat(&self, name: &str, theme: &str) -> Outcome<Seat> {
        let profile = self.folder.path().join(name);
        std::fs::create_dir_all(&profile)?;
        let display = Display::Virtual { width: 1280, height: 960 };
        let desktop = Desktop::start(Options { display, ..Options::default() })?;
        let console = Console::start(&desktop, &self.console_program, &profile, theme).await?;
        Ok(Seat { console, desktop })
    }

    /// Ends the gate, and serves it again under the orders of a file.
    pub fn serve_gate_under(&mut self, orders: &[&str]) -> Outcome {
        self.end_gate()?;
        self.order(orders)?;
        let file = self.folder.path().join(ORDERS);
        self.gate = Some(self.home.serve(&[("VIDIMUS_SEAM_FILE", &file.to_string_lossy())])?);
        Ok(())
    }

    /// Gives the gate other orders.
    pub fn order(&self, orders: &[&str]) -> Outcome {
        let next = self.folder.path().join("orders.next");
        std::fs::write(&next, orders.join("\n"))?;
        Ok(std::fs::rename(next, self.folder.path().join(ORDERS))?)
    }

    /// The console's main window.
    pub async fn open_console(&self) -> Outcome<Arc<Console>> {
        self.open_console_in("light").await
    }

    /// The same in a theme.
    pub async fn open_console_in(&self, theme: &str) -> Outcome<Arc<Console>> {
        Ok(self.hold(Console::start(&self.desktop, &self.console_program, &self.profile, theme).await?))
    }

    /// Ends it.
    pub async fn close(&self, console: Arc<Console>) -> Outcome {
        self.console.lock().unwrap_or_else(PoisonError::into_inner).take();
        let console = Arc::into_inner(console).ok_or("the console is still in use")?;
        Ok(console.close().await?)
    }

    /// The console of the first admin, enrolled.
    pub async fn founder(&self) -> Outcome<Arc<Console>> {
        self.founder_in("light").await
    }

    /// The same in a theme.
    pub async fn founder_in(&self, theme: &str) -> Outcome<Arc<Console>> {
        let console = self.open_console_in(theme).await?;
        console.enrol(&self.invite, PIN).await?;
        Ok(console)
    }

    /// The invitation with another address in it: that of whoever stands between console and gate.
    pub fn invite_by_way_of(&self, url: &str) -> Outcome<String> {
        let mut invite: Invite = self.invite.parse()?;
        url.clone_into(&mut invite.url);
        Ok(invite.to_line()?)
    }

    pub fn agent(&self, name: &str) -> Outcome<AgentClient> {
        Ok(AgentClient::new(&self.home.url(), self.home.add_agent(name, None)?)?)
    }

    /// Ends the gate as a service manager would.
    pub fn end_gate(&mut self) -> Outcome {
        if let Some(mut gate) = self.gate.take() {
            gate.process.end()?;
        }
        Ok(())
    }

    pub fn serve_gate(&mut self) -> Outcome {
        self.gate = Some(self.home.serve(&[])?);
        Ok(())
    }

    /// Waits until the provider has counted so many effects of a tool, and says so.
    pub async fn count(&self, tool: Tool, expected: usize) -> Outcome {
        let deadline = Instant::now() + SOON;
        loop {
            let counted = self.inspector.count(tool).await?;
            if counted == expected {
                println!("{}: the provider counts {counted} of `{}`", self.name, tool.name());
                return Ok(());
            }
            check(Instant::now() < deadline, || format!("the provider counts {counted} of `{}`, not {expected}", tool.name()))?;
            tokio::time::sleep(POLL).await;
        }
    }

    /// Says what was done.
    pub fn say(&self, what: &str) {
        println!("{}: {what}", self.name);
    }

    /// Keeps what helps to understand a failure, and gives the folder.
    fn keep(&self) -> PathBuf {
        let kept = failures().join(self.name);
        // What cannot be kept must not hide the failure itself.
        let _ = std::fs::remove_dir_all(&kept);
        let _ = std::fs::create_dir_all(&kept);
        let _ = self.desktop.screenshot(&kept.join("screen.png"));
        for folder in [self.desktop.logs(), self.folder.path().join("gate")] {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.path().is_file()) {
                let _ = std::fs::copy(entry.path(), kept.join(entry.file_name()));
            }
        }
        kept
    }
}

/// Plays a scene; where it fails, keeps a picture and the logs and says where.
pub async fn play(scene: Outcome<Scene>, act: impl AsyncFnOnce(&mut Scene) -> Outcome) {
    let mut scene = scene.expect("a scene");
    let began = Instant::now();
    if let Err(failure) = act(&mut scene).await {
        let kept = scene.keep();
        panic!("{}: {failure}\nits picture is {}, its logs are beside it", scene.name, kept.join("screen.png").display());
    }
    println!("{}: done in {:.1} s", scene.name, began.elapsed().as_secs_f64());
}

/// Where pictures and logs of failures go: beside the programs of the build.
fn failures() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors().nth(3).map_or_else(std::env::temp_dir, Path::to_owned).join("desktop")
}

/// Where pictures go that somebody wants to look at.
pub fn pictures() -> PathBuf {
    failures().join("pictures")
}

/// The themes of the first and of the second person's windows: one run in each, and the other way round in the longer tests.
pub fn themes() -> &'static [(&'static str, &'static str)] {
    const BOTH: &[(&str, &str)] = &[("light", "dark"), ("dark", "light")];
    if is_long() { BOTH } else { &BOTH[..1] }
}

/// Whether the longer tests are asked for too.
pub fn is_long() -> bool {
    std::env::var_os("VIDIMUS_LONG").is_some()
}

/// A call under a call key of its own.
pub fn call(tool: &str, args: &str, key: &str) -> Outcome<CallRequest> {
    Ok(CallRequest::new(tool, vidimus_api::raw_json(args.to_owned())?).with_call_key(format!("{key:0>16}")))
}

/// Makes a money call and gives its answer and the request that it became.
pub async fn ask(agent: &AgentClient, tool: &str, args: &str, key: &str) -> Outcome<(CallAnswer, RequestId)> {
    let answer = agent.call(&call(tool, args, key)?, 0).await?;
    let request = answer.request.ok_or_else(|| format!("`{tool}` became no request: {} {}", answer.status.as_str(), answer.words))?;
    Ok((answer, request))
}

/// Waits until the call has this status.
pub async fn until_status(agent: &AgentClient, call: &CallAnswer, status: &str) -> Outcome<CallAnswer> {
    let deadline = Instant::now() + SOON;
    loop {
        let answer = agent.outcome(&call.call, 1).await?;
        if answer.status.as_str() == status {
            return Ok(answer);
        }
        check(Instant::now() < deadline, || format!("the call is `{}`, not `{status}`: {}", answer.status.as_str(), answer.words))?;
    }
}

/// The console of a further person, admitted by the founder at the API.
pub async fn admit_console(scene: &Scene, founder: &Approver, name: &str, roles: &[&str]) -> Outcome<Arc<Console>> {
    admit_console_in(scene, founder, name, roles, "light").await
}

/// The same in a theme.
pub async fn admit_console_in(scene: &Scene, founder: &Approver, name: &str, roles: &[&str], theme: &str) -> Outcome<Arc<Console>> {
    let console = scene.open_console_in(theme).await?;
    admit_by(scene, founder, &console, name, roles).await?;
    Ok(console)
}

/// Enrols a further person at a console that is open, admitted by the founder at the API.
pub async fn admit_by(scene: &Scene, founder: &Approver, console: &Console, name: &str, roles: &[&str]) -> Outcome {
    console.enrol_waiting(&scene.home.invite(name, roles)?, PIN).await?;
    let admission = founder.client()?.requests(None).await?.requests.into_iter().find(|listed| listed.tool == "gate.roster.change");
    founder.approve(admission.ok_or("no admission waits")?.request, "admin").await?;
    console.key_says("active").await?;
    Ok(())
}

/// A further person at the API, admitted by the founder.
pub async fn admit_person(scene: &Scene, founder: &Approver, name: &str, roles: &[&str], seed: u8) -> Outcome<Approver> {
    let mut person = Approver::enrol(&scene.home.url(), &scene.home.invite(name, roles)?, seed).await?;
    founder.approve(person.admission.ok_or("the enrolment made no request")?, "admin").await?;
    let deadline = Instant::now() + SOON;
    while person.open_session().await.is_err() {
        check(Instant::now() < deadline, || format!("{name} was not admitted"))?;
        tokio::time::sleep(POLL).await;
    }
    Ok(person)
}

/// The request of a tool that waits in the inbox, as soon as it is there.
pub async fn waiting_in(console: &Console, tool: &str) -> Outcome<RequestId> {
    const FIND: &str = "return [...document.querySelectorAll('[data-request]:not([data-edge=ended])')]\
        .find((row) => row.textContent.includes(arguments[0]))?.dataset.request ?? ''";
    console.main().await?;
    let deadline = Instant::now() + SOON;
    loop {
        console.driver.keys("n").await?;
        let found = console.driver.execute(FIND, vec![tool.into()]).await?;
        if let Some(found) = found.as_str().filter(|found| !found.is_empty()) {
            return Ok(found.parse()?);
        }
        check(Instant::now() < deadline, || format!("the inbox shows no `{tool}` that waits"))?;
        tokio::time::sleep(POLL).await;
    }
}

/// Whatever the open review window still offers, it approves nothing.
pub async fn approves_nothing(console: &Console) -> Outcome {
    if console.shows("#hold").await? {
        console.driver.hold("#hold", crate::second_person::HELD).await?;
    }
    if console.shows("#approve-commit").await? {
        console.driver.click("#approve-commit").await?;
    }
    let open = "return ['#start-approving', '#approve-commit', '#hold'].some((css) => {\
        const found = document.querySelector(css); return found !== null && found.checkVisibility() && found.ariaDisabled !== 'true' })";
    check(console.driver.execute(open, vec![]).await? == false, || "approving is open".to_owned())?;
    console.settled().await?;
    check(!console.shows("#receipt").await?, || "it was approved all the same".to_owned())
}

/// Opens a request, reads it whole and opens the approve panel.
pub async fn read_and_start(console: &Console, request: &RequestId) -> Outcome {
    console.review(&request.to_string()).await?;
    console.read_all().await?;
    console.open_panel(Panel::Approve).await?;
    Ok(())
}
