//! What a single character is to somebody who reads: drawn as itself, or named because it cannot be seen.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

/// `U+202E`.
pub fn code_point(character: char) -> String {
    format!("U+{:04X}", u32::from(character))
}

/// Whether it stands over, under or around the character before it.
pub fn is_mark(character: char) -> bool {
    matches!(character.general_category(), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark | GeneralCategory::SpacingMark)
}

/// Whether it is read from right to left.
pub fn is_right_to_left(character: char) -> bool {
    matches!(
        u32::from(character),
        0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC | 0x10800..=0x10FFF | 0x1E800..=0x1EFFF
    )
}

/// Why a character is not drawn as itself, or nothing if it is.
pub fn unseen(character: char) -> Option<&'static str> {
    Some(match character {
        ' ' => return None,
        '\t' => "tab",
        '\r' => "CR",
        '\u{A0}' => "no-break space",
        '\u{AD}' => "soft hyphen",
        '\u{34F}' => "grapheme joiner",
        '\u{61C}' | '\u{200E}' | '\u{200F}' => "direction mark",
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => "blank letter",
        '\u{17B4}' | '\u{17B5}' => "invisible vowel",
        '\u{180B}'..='\u{180F}' | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => "variation selector",
        '\u{200B}' => "zero-width space",
        '\u{200C}' | '\u{200D}' => "zero-width joiner",
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => "direction override",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{2060}'..='\u{2064}' | '\u{206A}'..='\u{206F}' => "invisible",
        '\u{2800}' => "blank braille",
        '\u{FEFF}' => "zero-width no-break space",
        '\u{FFF9}'..='\u{FFFB}' => "annotation",
        '\u{FFFC}' => "object replacement",
        '\u{FFFD}' => "replacement character",
        '\u{1D159}' => "blank notehead",
        '\u{E0000}'..='\u{E007F}' => "tag character",
        _ => return by_category(character),
    })
}

fn by_category(character: char) -> Option<&'static str> {
    match character.general_category() {
        GeneralCategory::Control => Some("control"),
        GeneralCategory::Format => Some("format"),
        GeneralCategory::PrivateUse => Some("private use"),
        GeneralCategory::Unassigned => Some("unassigned"),
        GeneralCategory::Surrogate => Some("surrogate"),
        GeneralCategory::SpaceSeparator => Some("unusual space"),
        GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => Some("line separator"),
        _ => None,
    }
}
