//! What each system accepts as a body, as strictly as a bank does: exact members, integers, known currencies.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::answer::Answer;
use super::limits::{AMOUNT_MINOR_MAX, MAIL_BODY_CHARACTERS_MAX, TEXT_CHARACTERS_MAX};

/// Currencies that the billing provider settles: with two, none and three minor digits.
pub const CURRENCIES: &[&str] = &["EUR", "USD", "GBP", "CHF", "JPY", "BHD"];

/// States that the customer system knows.
pub const CRM_STATUSES: &[&str] = &["lead", "customer", "churned", "contract_sent"];

/// Checks after the shape is known to be right.
pub trait Checked {
    /// # Errors
    /// A clause that names the member and what it may be.
    fn check(&self) -> Result<(), String>;
}

/// Reads a body. Unknown, missing and repeated members are refused.
pub fn read<T: DeserializeOwned + Checked>(body: &[u8]) -> Result<T, Answer> {
    let arguments: T = serde_json::from_slice(body).map_err(|error| Answer::invalid(&error.to_string()))?;
    arguments.check().map_err(|message| Answer::invalid(&message))?;
    Ok(arguments)
}

/// True for a name such as `invoice_842`: the prefix, then 1 to 32 of `a-z 0-9 _ -`.
pub fn is_id(prefix: &str, id: &str) -> bool {
    id.strip_prefix(prefix).is_some_and(|rest| {
        (1..=32).contains(&rest.len())
            && rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
    })
}

fn id(member: &str, prefix: &str, value: &str) -> Result<(), String> {
    if is_id(prefix, value) { Ok(()) } else { Err(format!("`{member}` must be `{prefix}` and a short name, not `{value}`")) }
}

fn text(member: &str, value: &str, characters_max: usize) -> Result<(), String> {
    if (1..=characters_max).contains(&value.chars().count()) {
        Ok(())
    } else {
        Err(format!("`{member}` must have 1 to {characters_max} characters"))
    }
}

fn payment(amount_minor: u64, currency: &str) -> Result<(), String> {
    if !(1..=AMOUNT_MINOR_MAX).contains(&amount_minor) {
        return Err(format!("`amount_minor` must be 1 to {AMOUNT_MINOR_MAX}, not `{amount_minor}`"));
    }
    if !CURRENCIES.contains(&currency) {
        return Err(format!("`currency` must be one of {CURRENCIES:?}, not `{currency}`"));
    }
    Ok(())
}

fn email(member: &str, value: &str) -> Result<(), String> {
    let plain = value.len() <= 254 && value.bytes().all(|byte| byte.is_ascii_graphic());
    match value.split_once('@') {
        Some((local, domain)) if plain && !local.is_empty() && domain.contains('.') && !domain.contains('@') => Ok(()),
        Some(_) | None => Err(format!("`{member}` must be one mail address, not `{value}`")),
    }
}

fn date(member: &str, value: &str) -> Result<(), String> {
    let shape = value.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if shape && value.len() == 10 { Ok(()) } else { Err(format!("`{member}` must be a date YYYY-MM-DD, not `{value}`")) }
}

macro_rules! arguments {
    ($($name:ident { $($member:ident: $type:ty,)* } |$this:ident| $check:expr;)*) => {
        $(
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name { $(pub $member: $type,)* }

            impl Checked for $name {
                fn check(&self) -> Result<(), String> {
                    let $this = self;
                    $check
                }
            }
        )*
    };
}

arguments! {
    UpdateTicketTags { ticket: String, tags: Vec<String>, } |this| {
        id("ticket", "ticket_", &this.ticket)?;
        if this.tags.len() > 20 {
            return Err("`tags` must have at most 20 entries".to_owned());
        }
        this.tags.iter().try_for_each(|tag| text("tags", tag, 40))
    };
    CreateTicket { customer: String, subject: String, body: String, } |this| {
        id("customer", "customer_", &this.customer)?;
        text("subject", &this.subject, 200)?;
        text("body", &this.body, TEXT_CHARACTERS_MAX)
    };
    CloseTicket { ticket: String, resolution: String, } |this| {
        id("ticket", "ticket_", &this.ticket)?;
        text("resolution", &this.resolution, TEXT_CHARACTERS_MAX)
    };
    UpsertCustomer { customer: String, name: String, email: String, } |this| {
        id("customer", "customer_", &this.customer)?;
        text("name", &this.name, 200)?;
        email("email", &this.email)
    };
    CrmSetStatus { customer: String, status: String, } |this| {
        id("customer", "customer_", &this.customer)?;
        if CRM_STATUSES.contains(&this.status.as_str()) {
            Ok(())
        } else {
            Err(format!("`status` must be one of {CRM_STATUSES:?}, not `{}`", this.status))
        }
    };
    StartWorkflow { customer: String, } |this| id("customer", "customer_", &this.customer);
    SendEmail { to: String, subject: String, body: String, } |this| {
        email("to", &this.to)?;
        text("subject", &this.subject, 200)?;
        text("body", &this.body, MAIL_BODY_CHARACTERS_MAX)
    };
    Refund { invoice: String, amount_minor: u64, currency: String, reason: String, } |this| {
        id("invoice", "invoice_", &this.invoice)?;
        payment(this.amount_minor, &this.currency)?;
        text("reason", &this.reason, TEXT_CHARACTERS_MAX)
    };
    CancelSubscription { subscription: String, effective: String, reason: String, } |this| {
        id("subscription", "sub_", &this.subscription)?;
        date("effective", &this.effective)?;
        text("reason", &this.reason, TEXT_CHARACTERS_MAX)
    };
    WireTransfer { payee: String, amount_minor: u64, currency: String, reference: String, } |this| {
        id("payee", "payee_", &this.payee)?;
        payment(this.amount_minor, &this.currency)?;
        text("reference", &this.reference, 140)
    };
    IssueCredit { customer: String, amount_minor: u64, currency: String, reason: String, } |this| {
        id("customer", "customer_", &this.customer)?;
        payment(this.amount_minor, &this.currency)?;
        text("reason", &this.reason, TEXT_CHARACTERS_MAX)
    };
}
