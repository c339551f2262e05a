//! Caps: how often a tool may be called and how much it may move, as its row says.
//!
//! Owns the rule and what is left under it. Counts nothing itself: the ledger says what was used, in the transaction that asks.

use std::collections::BTreeMap;

use crate::code::{Code, Refusal};
use crate::json::Json;
use crate::money;
use crate::template::ArgPath;

/// Amounts by currency, in minor units.
pub type Amounts = BTreeMap<String, u64>;

/// The limits of a row. One of them at least is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caps {
    /// Calls of one run of an agent.
    pub calls_per_run: Option<u64>,
    /// Calls of one agent within an hour.
    pub calls_per_hour: Option<u64>,
    /// Limits of what is moved.
    pub amounts: Option<AmountCaps>,
}

/// Limits of the amounts that a tool moves. A currency that a limit does not name has a limit of nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmountCaps {
    /// Where the amount is, an integer of minor units.
    pub amount: ArgPath,
    /// Where its currency is.
    pub currency: ArgPath,
    /// One call.
    pub per_call: Option<Amounts>,
    /// All calls of one run of an agent.
    pub per_run: Option<Amounts>,
    /// All calls of the tool on one day in UTC, whoever makes them.
    pub per_day: Option<Amounts>,
}

/// What a call would move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// The currency.
    pub currency: String,
    /// Minor units.
    pub amount_minor: u64,
}

/// What counts already, without the call that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Used {
    /// Calls of the agent's run.
    pub calls_in_run: u64,
    /// Calls of the agent in the last hour.
    pub calls_in_hour: u64,
    /// Moved by the agent's run, in the charge's currency.
    pub amount_in_run: u64,
    /// Moved today by the tool, in the charge's currency.
    pub amount_today: u64,
}

impl Caps {
    /// What a call moves, where amounts are capped.
    ///
    /// *Errors*: `cap_reached` for an amount that cannot be counted: what is not understood is never let through.
    pub fn charge(&self, args: &Json) -> Result<Option<Charge>, Refusal> {
        let Some(amounts) = &self.amounts else { return Ok(None) };
        let amount = amounts.amount.find(args).and_then(Json::as_number).and_then(|number| number.canonical().ok()?.parse().ok());
        let currency = amounts.currency.find(args).and_then(Json::as_str);
        match (amount, currency) {
            (Some(amount_minor), Some(currency)) => Ok(Some(Charge { currency: currency.to_owned(), amount_minor })),
            (_, _) => {
                Err(Refusal::new(Code::CapReached, "the amount is capped and cannot be counted; give it as a whole number of minor units")
                    .at(amounts.amount.pointer()))
            }
        }
    }

    /// Whether one more call stays within the limits.
    ///
    /// *Errors*: `cap_reached`, with the limit and what is used of it.
    pub fn admit(&self, charge: Option<&Charge>, used: &Used) -> Result<(), Refusal> {
        let calls = [(self.calls_per_run, used.calls_in_run, "run"), (self.calls_per_hour, used.calls_in_hour, "hour")];
        for (limit, made, span) in calls {
            if let Some(limit) = limit.filter(|limit| made >= *limit) {
                return Err(reached(format!(
                    "the limit of `{limit}` calls for one {span} is reached ({made} made); wait or ask the owner"
                )));
            }
        }
        let (Some(amounts), Some(charge)) = (&self.amounts, charge) else { return Ok(()) };
        let spans = [
            (&amounts.per_call, 0, "limit of one call"),
            (&amounts.per_run, used.amount_in_run, "limit of one run"),
            (&amounts.per_day, used.amount_today, "daily limit"),
        ];
        for (limits, moved, span) in spans {
            let Some(limits) = limits else { continue };
            let limit = limits.get(&charge.currency).copied().unwrap_or(0);
            if moved.checked_add(charge.amount_minor).is_none_or(|sum| sum > limit) {
                let (limit_text, used_text) = (written(limit, &charge.currency), written(moved, &charge.currency));
                let left = written(limit.saturating_sub(moved), &charge.currency);
                return Err(reached(format!("the {span} of `{limit_text}` is reached (`{used_text}` used, `{left}` left)"))
                    .at(amounts.amount.pointer()));
            }
        }
        Ok(())
    }
}

fn reached(message: String) -> Refusal {
    Refusal::new(Code::CapReached, message)
}

/// An amount as people read it; in minor units where the currency is none that is known.
fn written(amount_minor: u64, currency: &str) -> String {
    money::format_minor(&amount_minor.to_string(), currency).unwrap_or_else(|| format!("{amount_minor} {currency}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Limits, parse};

    fn caps() -> Caps {
        let amounts = |eur: u64| Some(Amounts::from([("EUR".to_owned(), eur)]));
        let path = |text: &str| ArgPath::parse(text).expect(text);
        Caps {
            calls_per_run: Some(3),
            calls_per_hour: Some(5),
            amounts: Some(AmountCaps {
                amount: path("amount_minor"),
                currency: path("currency"),
                per_call: amounts(100_000),
                per_run: amounts(150_000),
                per_day: amounts(1_000_000),
            }),
        }
    }

    fn charge(args: &str) -> Result<Option<Charge>, Code> {
        let args = parse(args.as_bytes(), &Limits::MONEY).expect(args);
        caps().charge(&args).map_err(|refusal| refusal.code)
    }

    #[test]
    fn each_limit_is_kept_and_told() {
        let call = |amount_minor, currency: &str| Charge { amount_minor, currency: currency.to_owned() };
        let cases = [
            ("within all", call(100_000, "EUR"), Used::default(), None),
            ("exactly the rest of the day", call(900, "EUR"), Used { amount_today: 999_100, ..Used::default() }, None),
            ("a fourth call of the run", call(1, "EUR"), Used { calls_in_run: 3, ..Used::default() }, Some("3` calls for one run")),
            ("a sixth call in the hour", call(1, "EUR"), Used { calls_in_hour: 5, ..Used::default() }, Some("5` calls for one hour")),
            ("one call too large", call(100_001, "EUR"), Used::default(), Some("limit of one call of `EUR 1,000.00`")),
            (
                "one run too large",
                call(60_000, "EUR"),
                Used { amount_in_run: 100_000, ..Used::default() },
                Some("limit of one run of `EUR 1,500.00` is reached (`EUR 1,000.00` used, `EUR 500.00` left)"),
            ),
            (
                "the day",
                call(100_000, "EUR"),
                Used { amount_today: 910_000, ..Used::default() },
                Some("daily limit of `EUR 10,000.00` is reached (`EUR 9,100.00` used, `EUR 900.00` left)"),
            ),
            ("a currency without a limit", call(1, "USD"), Used::default(), Some("`USD 0.00` left")),
            ("beyond every sum", call(u64::MAX, "EUR"), Used { amount_in_run: 1, ..Used::default() }, Some("limit of one call")),
        ];
        for (case, charge, used, words) in cases {
            match (caps().admit(Some(&charge), &used), words) {
                (Ok(()), None) => {}
                (Err(refusal), Some(words)) => {
                    assert_eq!(refusal.code, Code::CapReached, "{case}");
                    assert!(refusal.message.contains(words), "{case}: {}", refusal.message);
                }
                (found, _) => panic!("{case}: {found:?}"),
            }
        }
    }

    #[test]
    fn an_amount_that_cannot_be_counted_is_refused() {
        assert_eq!(
            charge(r#"{"amount_minor":1500,"currency":"EUR"}"#),
            Ok(Some(Charge { currency: "EUR".to_owned(), amount_minor: 1500 }))
        );
        assert_eq!(
            charge(r#"{"amount_minor":1500.0,"currency":"EUR"}"#).map(|charge| charge.map(|charge| charge.amount_minor)),
            Ok(Some(1500))
        );
        for args in [
            r#"{"amount_minor":-1,"currency":"EUR"}"#,
            r#"{"amount_minor":1.5,"currency":"EUR"}"#,
            r#"{"amount_minor":"1500","currency":"EUR"}"#,
            r#"{"amount_minor":1500}"#,
            r#"{"currency":"EUR"}"#,
        ] {
            assert_eq!(charge(args), Err(Code::CapReached), "{args}");
        }
    }
}
