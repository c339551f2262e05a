//! Names that look like other names: words of mixed scripts, and UTS 39 skeletons.

use std::collections::BTreeSet;
use std::ops::Range;

use unicode_script::{Script, UnicodeScript as _};
use unicode_security::confusable_detection::skeleton;
use unicode_security::mixed_script::AugmentedScriptSet;

/// Indices, in characters, of the letters that make a word one of mixed scripts: those that are not
/// of the script most of its letters have. On a tie the letters that are not Latin.
pub fn foreign_letters(value: &str) -> BTreeSet<usize> {
    let characters: Vec<char> = value.chars().collect();
    let mut found = BTreeSet::new();
    for range in words(&characters) {
        let word = &characters[range.clone()];
        if is_mixed(word) {
            let main = main_script(word);
            found.extend((0..word.len()).filter(|at| is_foreign(word[*at], main)).map(|at| range.start + at));
        }
    }
    found
}

/// Where the words stand: runs of letters and digits, with what cannot be seen between them.
pub fn words(characters: &[char]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < characters.len() {
        if !characters[start].is_alphanumeric() {
            start += 1;
            continue;
        }
        let length = characters[start..].iter().take_while(|c| c.is_alphanumeric() || is_joined(**c)).count();
        found.push(start..start + length);
        start += length;
    }
    found
}

/// Whether a word of the value mixes scripts that no single language mixes.
pub fn has_mixed_script(value: &str) -> bool {
    !foreign_letters(value).is_empty()
}

/// The form under which two values that look alike are equal.
pub fn look_alike_key(value: &str) -> String {
    let visible: String = value.chars().filter(|c| !c.is_control() && !is_joined(*c)).collect();
    // Small letters look like others than capital ones do: `m` like `rn`, `I` like `l`.
    let first: String = skeleton(&visible).collect();
    let second: String = skeleton(&first.to_lowercase()).collect();
    second.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether two different values look alike.
pub fn look_alike(one: &str, other: &str) -> bool {
    one != other && look_alike_key(one) == look_alike_key(other)
}

fn is_joined(character: char) -> bool {
    matches!(character, '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{AD}' | '\u{300}'..='\u{36F}')
}

fn is_mixed(word: &[char]) -> bool {
    let mut set = AugmentedScriptSet::default();
    for character in word {
        set.intersect_with((*character).into());
    }
    set.is_empty()
}

fn main_script(word: &[char]) -> Script {
    let mut counts: Vec<(Script, usize)> = Vec::new();
    for character in word {
        let script = character.script();
        if matches!(script, Script::Common | Script::Inherited | Script::Unknown) {
            continue;
        }
        match counts.iter_mut().find(|(known, _)| *known == script) {
            Some((_, count)) => *count += 1,
            None => counts.push((script, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let latin = counts.iter().find(|(script, count)| *script == Script::Latin && *count == most);
    latin.or_else(|| counts.iter().find(|(_, count)| *count == most)).map_or(Script::Latin, |(script, _)| *script)
}

fn is_foreign(character: char, main: Script) -> bool {
    let extension = character.script_extension();
    !extension.is_common() && !extension.is_inherited() && !extension.contains_script(main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixed_words_are_found_and_plain_ones_are_not() {
        assert_eq!(foreign_letters("A\u{421}ME GmbH").into_iter().collect::<Vec<_>>(), vec![1]);
        assert_eq!(foreign_letters("\u{410}cme").into_iter().collect::<Vec<_>>(), vec![0]);
        for plain in ["ACME GmbH", "\u{41F}\u{440}\u{438}\u{432}\u{435}\u{442} world", "東京タワー", "İstanbul", "a-1_2", ""] {
            assert!(!has_mixed_script(plain), "{plain}");
        }
    }

    #[test]
    fn look_alikes_are_recognised() {
        assert!(look_alike("ACME GmbH", "A\u{421}ME GmbH"));
        assert!(look_alike("ACME", "Acme") && look_alike("modern", "MODERN") && look_alike("modern", "rnodern"));
        assert!(look_alike("paypal", "\u{440}aypal"));
        assert!(look_alike("ACME", "AC\u{200b}ME"));
        assert!(!look_alike("ACME GmbH", "ACME GmbH"));
        assert!(!look_alike("ACME GmbH", "Fictional Fixtures GmbH"));
    }
}
