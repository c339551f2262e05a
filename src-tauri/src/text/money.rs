//! Amounts as a person types them, back to minor units. Digits are moved, never calculated with.

use vidimus_core::money::minor_units;

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
    let Some(places) = minor_units(currency).map(usize::from) else {
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
