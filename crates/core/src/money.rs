//! Amounts and accounts as people read them: minor units, digit groups, check digits.
//!
//! Owns the list of currencies. Works on digits as text and never on floating point, so that a reading has every digit of
//! the value beside it. Knows no locale: the grouping here is the one that the console shows next to the raw value.

use crate::json::Json;

/// The active currency codes and their minor units, sorted by code.
///
/// *Source*: ISO 4217 list one, as of February 2026. Codes without a minor unit (metals, funds of account,
/// `XTS`, `XXX`) and withdrawn codes are absent: no amount can be stated in them.
const MINOR_UNITS: &[(u8, &[&str])] = &[
    (0, &["BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"]),
    (
        2,
        &[
            "AED", "AFN", "ALL", "AMD", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BMD", "BND", "BOB", "BOV", "BRL", "BSD",
            "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHE", "CHF", "CHW", "CNY", "COP", "COU", "CRC", "CUP", "CVE", "CZK", "DKK", "DOP",
            "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF",
            "IDR", "ILS", "INR", "IRR", "JMD", "KES", "KGS", "KHR", "KPW", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "MAD", "MDL",
            "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR", "MWK", "MXN", "MXV", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR",
            "NZD", "PAB", "PEN", "PGK", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD", "SHP",
            "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "USD",
            "USN", "UYU", "UZS", "VED", "VES", "WST", "XAD", "XCD", "XCG", "YER", "ZAR", "ZMW", "ZWG",
        ],
    ),
    (3, &["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]),
    (4, &["CLF", "UYW"]),
];

/// The digits after the decimal point of a currency; `None` for withdrawn and unknown codes, and for any other spelling.
///
/// *Source*: ISO 4217.
pub fn minor_units(code: &str) -> Option<u8> {
    MINOR_UNITS.iter().find(|(_, codes)| codes.binary_search(&code).is_ok()).map(|(units, _)| *units)
}

/// An amount in minor units as `EUR 4,200.00`, by moving digits only.
///
/// `None` where the lexeme is not an integer in canonical form, or the currency is not one that [`minor_units`] knows.
pub fn format_minor(amount: &str, code: &str) -> Option<String> {
    let units = usize::from(minor_units(code)?);
    let (sign, digits) = match amount.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", amount),
    };
    let canonical =
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    if !canonical || amount == "-0" {
        return None;
    }
    let padded = format!("{digits:0>width$}", width = units + 1);
    let (whole, fraction) = padded.split_at(padded.len() - units);
    let point = if units == 0 { "" } else { "." };
    Some(format!("{code} {sign}{}{point}{fraction}", group3(whole)))
}

/// The reading of an amount that stands in arguments; `None` where amount or currency are of another type or form.
pub fn format_amount(amount: &Json, currency: &Json) -> Option<String> {
    format_minor(&amount.as_number()?.canonical().ok()?, currency.as_str()?)
}

/// Decimal digits in groups of three from the right.
fn group3(digits: &str) -> String {
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Characters in groups of four from the left, as account numbers are printed.
pub fn group4(account: &str) -> String {
    let mut grouped = String::with_capacity(account.len() + account.len() / 4);
    for (index, character) in account.chars().enumerate() {
        if index > 0 && index.is_multiple_of(4) {
            grouped.push(' ');
        }
        grouped.push(character);
    }
    grouped
}

/// Whether the check digits of an IBAN are right; `None` where the text has not the shape of one.
///
/// The shape is the electronic form, in capitals and without spaces, of 15 to 34 characters.
///
/// *Source*: ISO 13616-1 clause 5 and annex A, with the MOD 97-10 of ISO/IEC 7064.
pub fn iban_check(account: &str) -> Option<bool> {
    let bytes = account.as_bytes();
    let shaped = (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes[4..].iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if !shaped {
        return None;
    }
    let remainder = bytes[4..].iter().chain(&bytes[..4]).fold(0_u32, |remainder, byte| match byte {
        b'A'..=b'Z' => (remainder * 100 + u32::from(byte - b'A') + 10) % 97,
        _ => (remainder * 10 + u32::from(byte - b'0')) % 97,
    });
    // Check digits 00, 01 and 99 give the remainder too, and no bank issues them.
    Some(remainder == 1 && (b"02".as_slice()..=b"98".as_slice()).contains(&&bytes[2..4]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn amounts_keep_every_digit() {
        let cases = [
            ("1500", "EUR", "EUR 15.00"),
            ("4200", "EUR", "EUR 42.00"),
            ("420000", "EUR", "EUR 4,200.00"),
            ("1500", "JPY", "JPY 1,500"),
            ("1500", "BHD", "BHD 1.500"),
            ("1", "EUR", "EUR 0.01"),
            ("0", "EUR", "EUR 0.00"),
            ("0", "JPY", "JPY 0"),
            ("-1", "EUR", "EUR -0.01"),
            ("-123456", "USD", "USD -1,234.56"),
            ("12345", "CLF", "CLF 1.2345"),
            ("99999999999999999", "EUR", "EUR 999,999,999,999,999.99"),
            ("100", "USD", "USD 1.00"),
            ("100000", "USD", "USD 1,000.00"),
        ];
        for (amount, code, text) in cases {
            assert_eq!(format_minor(amount, code).as_deref(), Some(text));
        }
    }

    #[test]
    fn no_amount_is_guessed() {
        let refused = [
            ("1500", "eur"),
            ("1500", "XXX"),
            ("1500", "XAU"),
            ("1500", "DEM"),
            ("1500", "BGN"),
            ("1500", "EUR "),
            ("1500", ""),
            ("15.00", "EUR"),
            ("1e3", "EUR"),
            ("1e+21", "EUR"),
            ("-0", "EUR"),
            ("007", "EUR"),
            ("+7", "EUR"),
            ("", "EUR"),
            ("-", "EUR"),
            ("\u{663}", "EUR"),
        ];
        for (amount, code) in refused {
            assert_eq!(format_minor(amount, code), None, "`{amount}` `{code}`");
        }
    }

    #[test]
    fn check_digits_of_accounts() {
        let cases = [
            ("DE89370400440532013000", Some(true)),
            ("GB82WEST12345698765432", Some(true)),
            ("FR1420041010050500013M02606", Some(true)),
            ("NO9386011117947", Some(true)),
            ("MT84MALT011000012345MTLCAST001S", Some(true)),
            ("DE89370400440532013001", Some(false)),
            ("DE98370400440532013000", Some(false)),
            ("GB82WEST12345698765423", Some(false)),
            ("de89370400440532013000", None),
            ("DE89 3704 0044 0532 0130 00", None),
            ("ACC-7", None),
            ("", None),
            ("D\u{415}89370400440532013000", None),
        ];
        for (account, verdict) in cases {
            assert_eq!(iban_check(account), verdict, "`{account}`");
        }
        assert_eq!(group4("DE89370400440532013000"), "DE89 3704 0044 0532 0130 00");
        assert_eq!(group4("äöü€5"), "äöü€ 5");
        assert_eq!(group4(""), "");
    }

    #[test]
    fn each_list_is_sorted_for_the_search() {
        for (_, codes) in MINOR_UNITS {
            assert!(codes.is_sorted(), "{codes:?}");
        }
    }

    /// Compares the list with the one of the maintenance agency, where that stands beside the repository.
    #[test]
    fn the_list_is_that_of_iso_4217() {
        let folder = std::env::var_os("VIDIMUS_VECTORS")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"), PathBuf::from);
        let Ok(text) = std::fs::read_to_string(folder.join("iso4217/codes-all.csv")) else {
            assert!(std::env::var_os("CI").is_none(), "iso4217 is required with CI set, and is absent");
            println!("vectors not run: iso4217 (folder absent)");
            return;
        };
        let mut expected = BTreeMap::new();
        let mut withdrawn = Vec::new();
        for line in text.lines().skip(1) {
            // An entity's name may hold commas; the last four columns never do.
            let columns: Vec<&str> = line.rsplitn(5, ',').collect();
            let [withdrawal, minor, _, code, _] = columns[..] else { panic!("a line has other columns: `{line}`") };
            if withdrawal.is_empty() && !code.is_empty() {
                expected.insert(code.to_owned(), minor.parse::<u8>().ok());
            } else if !code.is_empty() {
                withdrawn.push(code.to_owned());
            }
        }
        for (code, units) in &expected {
            assert_eq!(minor_units(code), *units, "`{code}`");
        }
        for code in withdrawn.iter().filter(|code| !expected.contains_key(*code)) {
            assert_eq!(minor_units(code), None, "`{code}` is withdrawn");
        }
        let known = MINOR_UNITS.iter().map(|(_, codes)| codes.len()).sum::<usize>();
        assert_eq!(known, expected.values().flatten().count());
    }
}
