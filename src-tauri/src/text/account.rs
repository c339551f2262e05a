//! Account numbers: groups of four for reading, and the checksum in words.

/// How an account number is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountReading {
    /// The characters in groups of four.
    pub grouped: String,
    pub checksum: Checksum,
}

/// What the check digits say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    Right,
    Wrong,
    /// Not the form of an IBAN, so there is nothing to check.
    NotAnIban,
}

/// Reads an account number as an IBAN where it has that form.
///
/// *Source*: ISO 13616, ISO 7064 mod 97-10.
pub fn reading(value: &str) -> AccountReading {
    let characters: Vec<char> = value.chars().collect();
    let grouped = characters.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ");
    AccountReading { grouped, checksum: checksum(value) }
}

fn checksum(value: &str) -> Checksum {
    let bytes = value.as_bytes();
    let has_form = (15..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes[4..].iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    if !has_form {
        return Checksum::NotAnIban;
    }
    let rest = bytes[4..].iter().chain(&bytes[..4]).fold(0_u32, |rest, byte| {
        if byte.is_ascii_digit() { (rest * 10 + u32::from(byte - b'0')) % 97 } else { (rest * 100 + u32::from(byte - b'A') + 10) % 97 }
    });
    if rest == 1 { Checksum::Right } else { Checksum::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums() {
        let cases = [
            ("DE89370400440532013000", Checksum::Right),
            ("GB29NWBK60161331926819", Checksum::Right),
            ("DE89370400440532013001", Checksum::Wrong),
            ("DE98370400440532013000", Checksum::Wrong),
            ("alias:acme", Checksum::NotAnIban),
            ("de89370400440532013000", Checksum::NotAnIban),
            ("", Checksum::NotAnIban),
        ];
        for (value, expected) in cases {
            assert_eq!(reading(value).checksum, expected, "{value}");
        }
    }

    #[test]
    fn every_character_is_kept() {
        assert_eq!(reading("DE89370400440532013000").grouped, "DE89 3704 0044 0532 0130 00");
    }
}
