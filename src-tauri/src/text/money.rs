//! Amounts: from an integer in minor units and an ISO 4217 code to words, and from what a person
//! types back to minor units. Digits are moved, never calculated with.

/// Decimal places of a currency, or nothing when the code is not one this console knows.
///
/// *Source*: ISO 4217, list one.
pub fn minor_units(currency: &str) -> Option<usize> {
    const TWO: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC \
        CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR \
        KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK \
        PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH \
        USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG";
    const NONE: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
    const THREE: &str = "BHD IQD JOD KWD LYD OMR TND";
    let listed = |list: &str| list.split_whitespace().any(|code| code == currency);
    if listed(TWO) {
        Some(2)
    } else if listed(NONE) {
        Some(0)
    } else if listed(THREE) {
        Some(3)
    } else {
        None
    }
}

/// `420000`, `EUR` → `EUR 4,200.00`. Nothing when the amount is not a plain integer or the currency
/// is unknown: then only the literal is shown.
pub fn reading(minor: &str, currency: &str) -> Option<String> {
    Some(format!("{currency} {}", amount(minor, currency)?))
}

/// `420000`, `EUR` → `4,200.00`.
pub fn amount(minor: &str, currency: &str) -> Option<String> {
    let places = minor_units(currency)?;
    let (sign, digits) = match minor.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", minor),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let point = if places == 0 { "" } else { "." };
    Some(format!("{sign}{}{point}{fraction}", grouped(whole)))
}

/// Digits in groups of three from the right.
pub fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// What a person typed as an amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// Minor units, without leading zeros.
    Minor(String),
    /// It could mean two amounts, such as `4.200`.
    Ambiguous,
    /// It is no amount.
    NotAnAmount,
}

/// Reads an amount as a person writes it: `4200`, `4200.00`, `4.200,00`, `4,200.00`.
pub fn typed(text: &str, currency: &str) -> Typed {
    let Some(places) = minor_units(currency) else {
        return Typed::NotAnAmount;
    };
    let text: String = text.trim().chars().filter(|c| !matches!(c, ' ' | '\u{A0}' | '\u{202F}' | '\'')).collect();
    let text = text.strip_prefix(currency).or_else(|| text.strip_suffix(currency)).unwrap_or(&text);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',') {
        return Typed::NotAnAmount;
    }
    let separators: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| !c.is_ascii_digit()).collect();
    match separators.last() {
        None => with_fraction(text, "", places),
        Some(&(at, last)) => {
            let (whole, fraction) = (&text[..at], &text[at + 1..]);
            let other = if last == '.' { ',' } else { '.' };
            let repeated = separators.iter().filter(|(_, c)| *c == last).count() > 1;
            if repeated {
                return if text.contains(other) { Typed::NotAnAmount } else { grouped_whole(text, last, places) };
            }
            if separators.len() > 1 {
                return match ungroup(whole, other) {
                    Some(whole) if fraction.len() == places && places > 0 => with_fraction(&whole, fraction, places),
                    _ => Typed::NotAnAmount,
                };
            }
            // `4.200`: thousands in one country, decimals in another.
            if fraction.len() == 3 && !whole.is_empty() && whole.len() <= 3 {
                return if places == 0 { grouped_whole(text, last, places) } else { Typed::Ambiguous };
            }
            if fraction.is_empty() || whole.is_empty() || fraction.len() > places {
                return Typed::NotAnAmount;
            }
            with_fraction(whole, fraction, places)
        }
    }
}

fn grouped_whole(text: &str, separator: char, places: usize) -> Typed {
    ungroup(text, separator).map_or(Typed::NotAnAmount, |whole| with_fraction(&whole, "", places))
}

fn ungroup(text: &str, separator: char) -> Option<String> {
    let mut groups = text.split(separator);
    let first = groups.next()?;
    let well_formed = (1..=3).contains(&first.len()) && text.split(separator).skip(1).all(|group| group.len() == 3);
    well_formed.then(|| text.replace(separator, ""))
}

fn with_fraction(whole: &str, fraction: &str, places: usize) -> Typed {
    let minor = format!("{whole}{fraction:0<places$}");
    let trimmed = minor.trim_start_matches('0');
    Typed::Minor(if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_with_the_currencys_own_places() {
        let cases = [
            ("420000", "EUR", Some("EUR 4,200.00")),
            ("5", "EUR", Some("EUR 0.05")),
            ("0", "EUR", Some("EUR 0.00")),
            ("-1500", "EUR", Some("EUR -15.00")),
            ("420000", "JPY", Some("JPY 420,000")),
            ("420000", "KWD", Some("KWD 420.000")),
            ("123456789012345678901234567890", "USD", Some("USD 1,234,567,890,123,456,789,012,345,678.90")),
            ("420000", "XXX", None),
            ("420000", "eur", None),
            ("4200.5", "EUR", None),
            ("4e2", "EUR", None),
            ("", "EUR", None),
        ];
        for (minor, currency, expected) in cases {
            assert_eq!(reading(minor, currency).as_deref(), expected, "{minor} {currency}");
        }
    }

    #[test]
    fn typed_amounts_are_accepted_only_when_they_mean_one_thing() {
        let minor = |text: &str| Typed::Minor(text.to_owned());
        let cases = [
            ("4200", "EUR", minor("420000")),
            ("4200.00", "EUR", minor("420000")),
            ("4.200,00", "EUR", minor("420000")),
            ("4,200.00", "EUR", minor("420000")),
            ("EUR 4,200.00", "EUR", minor("420000")),
            ("4 200,00", "EUR", minor("420000")),
            ("4200,5", "EUR", minor("420050")),
            ("1.234.567", "EUR", minor("123456700")),
            ("0", "EUR", minor("0")),
            ("4.200", "EUR", Typed::Ambiguous),
            ("4,200", "EUR", Typed::Ambiguous),
            ("4,200", "JPY", minor("4200")),
            ("4200.000", "EUR", Typed::NotAnAmount),
            ("4,20,000.00", "EUR", Typed::NotAnAmount),
            ("42.00.00", "EUR", Typed::NotAnAmount),
            ("-4200", "EUR", Typed::NotAnAmount),
            ("4e3", "EUR", Typed::NotAnAmount),
            ("", "EUR", Typed::NotAnAmount),
            ("4200", "XXX", Typed::NotAnAmount),
        ];
        for (text, currency, expected) in cases {
            assert_eq!(typed(text, currency), expected, "{text} {currency}");
        }
    }
}
