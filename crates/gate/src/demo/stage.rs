//! Where the demo plays: the fixture company, a gate of its own, the agents' credentials.

use serde_json::Value;
use tempfile::TempDir;
use vidimus_tests::company::{Company, Inspector, Options, Tool, effect_table};
use vidimus_tests::gate::{COMPANY_TOKEN, Gate, GateHome};

use super::DemoError;

/// The name that the demo's only person has.
pub const PERSON: &str = "Robin Example";

/// Roles of the demo's only person, beside `admin`.
const ROLES: &[&str] = &["billing-approver", "support-lead"];

/// The stage. Dropping it ends the gate and removes its folder.
pub struct Stage {
    /// Counts the effects.
    pub inspector: Inspector,
    /// The gate's folder and program.
    pub home: GateHome,
    /// The gate that serves now.
    pub gate: Option<Gate>,
    /// The first admin's invitation.
    pub invite: String,
    /// Credential of the agent `support`.
    pub support: String,
    /// Credential of the agent `billing`.
    pub billing: String,
    /// Where the seams leave the tokens that were minted.
    pub tokens: std::path::PathBuf,
    http: reqwest::Client,
    _company: Company,
    folder: TempDir,
}

impl Stage {
    /// Opens the company, makes the gate and serves it.
    ///
    /// *Errors*: a part did not start.
    pub async fn set() -> Result<Stage, DemoError> {
        let folder = tempfile::Builder::new().prefix("vidimus-demo-").tempdir()?;
        let company = Company::start(Options::new(COMPANY_TOKEN)).await?;
        let inspector = company.inspector()?;
        let program = std::env::current_exe()?;
        let table = effect_table(&company.url);
        let (home, invite) = GateHome::init(&program, &folder.path().join("gate"), &table, "test", PERSON, ROLES)?;
        let support = home.add_agent("support", None)?;
        let billing = home.add_agent("billing", None)?;
        let tokens = folder.path().join("tokens");
        let http =
            reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).retry(reqwest::retry::never()).build()?;
        let mut stage = Stage { inspector, home, gate: None, invite, support, billing, tokens, http, _company: company, folder };
        stage.serve(None)?;
        Ok(stage)
    }

    /// Serves the gate, to die at this seam if one is named.
    ///
    /// *Errors*: it did not start.
    pub fn serve(&mut self, seam: Option<&str>) -> Result<(), DemoError> {
        self.gate = None;
        let tokens = self.tokens.to_string_lossy().into_owned();
        let mut variables = vec![("VIDIMUS_SEAM_TOKENS", tokens.as_str())];
        variables.extend(seam.map(|seam| ("VIDIMUS_SEAM", seam)));
        self.gate = Some(self.home.serve(&variables)?);
        Ok(())
    }

    /// Makes a call as the agent with this credential.
    ///
    /// *Errors*: the gate does not answer, or refuses.
    pub async fn call(&self, credential: &str, body: &Value) -> Result<Value, DemoError> {
        let request = self.http.post(format!("{}/v1/calls?wait_s=0", self.home.url())).body(body.to_string());
        self.answer(request, credential).await
    }

    /// Asks what became of a call.
    ///
    /// *Errors*: the gate does not answer, or refuses.
    pub async fn ask_call(&self, credential: &str, call: &str) -> Result<Value, DemoError> {
        self.answer(self.http.get(format!("{}/v1/calls/{call}?wait_s=1", self.home.url())), credential).await
    }

    /// The tools that the agent with this credential may use.
    ///
    /// *Errors*: the gate does not answer, or refuses.
    pub async fn tools(&self, credential: &str) -> Result<Value, DemoError> {
        self.answer(self.http.get(format!("{}/v1/tools", self.home.url())), credential).await
    }

    /// Takes a call back.
    ///
    /// *Errors*: the gate does not answer, or refuses.
    pub async fn withdraw(&self, credential: &str, call: &str) -> Result<Value, DemoError> {
        self.answer(self.http.post(format!("{}/v1/calls/{call}/withdraw", self.home.url())), credential).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder, credential: &str) -> Result<Value, DemoError> {
        let response = request.bearer_auth(credential).header("content-type", "application/json").send().await?;
        Ok(response.error_for_status()?.json().await?)
    }

    /// A folder of the stage, made if it is not there.
    ///
    /// *Errors*: it cannot be made.
    pub fn folder(&self, name: &str) -> Result<std::path::PathBuf, DemoError> {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    }

    /// How many effects of this tool the provider has counted.
    ///
    /// *Errors*: the company does not answer.
    pub async fn count(&self, tool: Tool) -> Result<usize, DemoError> {
        Ok(self.inspector.count(tool).await?)
    }
}
