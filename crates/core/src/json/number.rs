//! Numbers as their documents wrote them, their canonical form, and whether the two say the same.

use crate::code::{Code, Refusal};
use crate::limits::JSON_INTEGER_MAX;

/// Digits of an integer that any double holds exactly. *Source*: 10¹⁵ < 2⁵³.
const PLAIN_DIGITS_MAX: usize = 15;

/// A number of JSON. It keeps its text; nothing is rounded by keeping it.
///
/// *Invariant*: the text follows the grammar of RFC 8259 section 6. Equality is that of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    lexeme: Box<str>,
}

impl Number {
    /// The number of a text that the parser has checked against the grammar.
    pub(super) fn from_checked(lexeme: &str) -> Number {
        Number { lexeme: lexeme.into() }
    }

    /// An integer of our own.
    ///
    /// *Errors*: `json_number_out_of_range` above 2⁵³−1.
    pub fn from_u64(value: u64) -> Result<Number, Refusal> {
        if value > JSON_INTEGER_MAX {
            return Err(out_of_range(&value.to_string()));
        }
        Ok(Number { lexeme: value.to_string().into() })
    }

    /// An integer of our own.
    ///
    /// *Errors*: `json_number_out_of_range` beyond ±(2⁵³−1).
    pub fn from_i64(value: i64) -> Result<Number, Refusal> {
        if value.unsigned_abs() > JSON_INTEGER_MAX {
            return Err(out_of_range(&value.to_string()));
        }
        Ok(Number { lexeme: value.to_string().into() })
    }

    /// The text as the document wrote it.
    pub fn lexeme(&self) -> &str {
        &self.lexeme
    }

    /// The shortest decimal that reads as the same double, as ECMAScript writes it.
    ///
    /// *Errors*: `json_number_out_of_range` where the nearest double is infinite.
    /// *Source*: RFC 8785 section 3.2.2.3; ECMA-262 Number::toString.
    pub fn canonical(&self) -> Result<String, Refusal> {
        self.shortest().ok_or_else(|| out_of_range(&self.lexeme))
    }

    /// Whether this is an integer as canonical form writes it too. The shortest text of an integer that a double holds
    /// exactly is its digits; other numbers have to be computed.
    pub(super) fn is_plain(&self) -> bool {
        match self.lexeme.as_bytes() {
            [digit] => digit.is_ascii_digit(),
            [b'1'..=b'9', rest @ ..] => rest.len() < PLAIN_DIGITS_MAX && rest.iter().all(u8::is_ascii_digit),
            _ => false,
        }
    }

    /// Whether canonical form keeps the decimal value: `19.99`, `1.0`, `1e2` do, `9007199254740993` does not.
    pub fn is_exact(&self) -> bool {
        if self.is_plain() {
            return true;
        }
        let canonical = self.shortest();
        match (Decimal::read(&self.lexeme), canonical.as_deref().and_then(Decimal::read)) {
            (Some(written), Some(canonical)) => written == canonical,
            _ => false,
        }
    }

    /// Whether canonical form can write it at all, rounded or not.
    pub fn is_in_range(&self) -> bool {
        self.shortest().is_some()
    }

    /// The value, where it is exactly a non-negative integer of 64 bits (`1.0` and `1e2` are).
    pub fn as_u64(&self) -> Option<u64> {
        if self.is_plain() {
            return self.lexeme.parse().ok();
        }
        Decimal::read(&self.lexeme)?.to_integer()?.try_into().ok()
    }

    /// The value, where it is exactly an integer of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        Decimal::read(&self.lexeme)?.to_integer()?.try_into().ok()
    }

    pub(super) fn to_schema_value(&self) -> serde_json::Value {
        if let Some(value) = self.as_u64() {
            return value.into();
        }
        if let Some(value) = self.as_i64() {
            return value.into();
        }
        self.nearest().clamp(f64::MIN, f64::MAX).into()
    }

    /// The nearest double; infinite beyond the largest.
    fn nearest(&self) -> f64 {
        // The grammar of JSON numbers is a part of Rust's, so parsing cannot fail; NaN would be refused like infinity.
        self.lexeme.parse().unwrap_or(f64::NAN)
    }

    /// The shortest text that reads as the nearest double. Not Rust's own: between two that are as short and as near, that
    /// takes the upper one, ECMAScript the even one.
    fn shortest(&self) -> Option<String> {
        let nearest = self.nearest();
        nearest.is_finite().then(|| ryu_js::Buffer::new().format_finite(nearest).to_owned())
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Number {
        Number { lexeme: value.to_string().into() }
    }
}

fn out_of_range(lexeme: &str) -> Refusal {
    Refusal::new(Code::JsonNumberOutOfRange, format!("the number `{}` has no canonical form; send it as a string", excerpt(lexeme)))
}

pub(super) fn inexact(lexeme: &str) -> Refusal {
    Refusal::new(
        Code::JsonNumberInexact,
        format!("the number `{}` would change its value in canonical form; send it as a string", excerpt(lexeme)),
    )
}

/// The beginning of a text whose length only the document bounds.
fn excerpt(lexeme: &str) -> &str {
    lexeme.get(..40).unwrap_or(lexeme)
}

/// A decimal value: `0.DIGITS × 10^point`, with a sign.
///
/// *Invariant*: neither the first nor the last digit is zero; the value zero has no digits, no sign and point 0. So equal
/// values are equal in every part.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    point: i64,
}

impl Decimal {
    const ZERO: Decimal = Decimal { negative: false, digits: String::new(), point: 0 };

    /// Reads a number of the JSON grammar; `None` where the exponent is beyond 64 bits, which no double reaches.
    fn read(lexeme: &str) -> Option<Decimal> {
        let (negative, unsigned) = match lexeme.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, lexeme),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let leading_zeros = all.len() - significant.len();
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Decimal::ZERO);
        }
        let shift = i64::try_from(whole.len()).ok()? - i64::try_from(leading_zeros).ok()?;
        let point = exponent.parse::<i64>().ok()?.checked_add(shift)?;
        Some(Decimal { negative, digits: digits.to_owned(), point })
    }

    /// The value as an integer, where it is one of at most 20 digits (which holds every 64-bit integer).
    fn to_integer(&self) -> Option<i128> {
        let point = usize::try_from(self.point).ok()?;
        if point > 20 || self.digits.len() > point {
            return None;
        }
        let magnitude: i128 = format!("{:0<point$}", self.digits).parse().unwrap_or(0);
        Some(if self.negative { -magnitude } else { magnitude })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_keep_their_decimal_value() {
        let exact = [
            "0",
            "-0",
            "0.0",
            "0e999999999999999999999",
            "1.0",
            "1e2",
            "1E+2",
            "19.99",
            "0.1",
            "-12.50",
            "1e21",
            "1e-7",
            "5e-324",
            "9007199254740991",
            "9007199254740992",
            "123456789012345680000",
        ];
        for lexeme in exact {
            assert!(Number::from_checked(lexeme).is_exact(), "`{lexeme}`");
        }
        let inexact = [
            "9007199254740993",
            "0.1000000000000000055511151231257827",
            "1e-400",
            "1e400",
            "-1e400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "1.00000000000000001",
            "1152921504606846976",
        ];
        for lexeme in inexact {
            assert!(!Number::from_checked(lexeme).is_exact(), "`{lexeme}`");
        }
    }

    #[test]
    fn canonical_form_switches_notation_where_ecmascript_does() {
        let cases = [
            ("-0", "0"),
            ("100000000000000000000", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("123456789e15", "1.23456789e+23"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("-0.00000123", "-0.00000123"),
            ("1.5e300", "1.5e+300"),
            ("4.50", "4.5"),
            ("1424953923781206.25", "1424953923781206.2"),
            ("9007199254740993", "9007199254740992"),
        ];
        for (lexeme, canonical) in cases {
            assert_eq!(Number::from_checked(lexeme).canonical().as_deref(), Ok(canonical), "`{lexeme}`");
        }
        assert_eq!(Number::from_checked("1e400").canonical().expect_err("infinite").code, Code::JsonNumberOutOfRange);
    }

    #[test]
    fn a_plain_integer_is_what_is_computed_for_it() {
        for lexeme in ["0", "7", "10", "1500", "999999999999999", "100000000000000"] {
            let number = Number::from_checked(lexeme);
            assert!(number.is_plain(), "`{lexeme}`");
            assert_eq!(number.canonical().as_deref(), Ok(lexeme));
            assert_eq!(Decimal::read(lexeme), number.shortest().as_deref().and_then(Decimal::read));
        }
        for lexeme in ["-0", "-1", "1.0", "1e2", "0.5", "1000000000000000", "9007199254740993"] {
            assert!(!Number::from_checked(lexeme).is_plain(), "`{lexeme}`");
        }
    }

    #[test]
    fn integers_are_read_only_where_exact() {
        let cases = [
            ("0", Some(0), Some(0)),
            ("-0", Some(0), Some(0)),
            ("1.0", Some(1), Some(1)),
            ("1.20e2", Some(120), Some(120)),
            ("18446744073709551615", Some(u64::MAX), None),
            ("18446744073709551616", None, None),
            ("-9223372036854775808", None, Some(i64::MIN)),
            ("-9223372036854775809", None, None),
            ("0.5", None, None),
            ("1e-1", None, None),
            ("1e99", None, None),
        ];
        for (lexeme, unsigned, signed) in cases {
            let number = Number::from_checked(lexeme);
            assert_eq!((number.as_u64(), number.as_i64()), (unsigned, signed), "`{lexeme}`");
        }
        assert_eq!(Number::from_i64(-9_007_199_254_740_991).map(|n| n.lexeme().to_owned()), Ok("-9007199254740991".to_owned()));
        assert!(Number::from_i64(-9_007_199_254_740_992).is_err());
    }
}
