//! The fixture company as a process of its own: `COMPANY_TOKEN=… vidimus-company [ADDRESS]`.

use std::net::SocketAddr;
use std::process::ExitCode;

use vidimus_tests::company::{Company, Options};

#[tokio::main]
async fn main() -> ExitCode {
    let Ok(credential) = std::env::var("COMPANY_TOKEN") else {
        eprintln!("COMPANY_TOKEN is not set; set it to the credential that callers must show");
        return ExitCode::from(2);
    };
    let mut options = Options::new(&credential);
    if let Some(argument) = std::env::args().nth(1) {
        let Ok(address) = argument.parse::<SocketAddr>() else {
            eprintln!("`{argument}` is not an address; give one such as 127.0.0.1:0, or none");
            return ExitCode::from(2);
        };
        options.address = address;
    }
    let company = match Company::start(options).await {
        Ok(company) => company,
        Err(error) => {
            eprintln!("the company cannot open: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("listening {}", company.url);
    // It serves until it is ended; there is nothing to save.
    std::future::pending().await
}
