//! Third-party vectors for documents: JSONTestSuite and those of RFC 8785's author.

use crate::vectors::{bytes, files, folder, name_of, text};
use vidimus_core::bytes::hex_decode;
use vidimus_core::code::Code;
use vidimus_core::json::{Limits, parse, parse_canonical};

#[test]
fn json_test_suite_parsing() {
    let Some(folder) = folder("nst-jsontestsuite") else { return };
    let (mut accepted, mut refused) = (0, 0);
    for path in files(&folder.join("test_parsing"), ".json") {
        let name = name_of(&path);
        let text = bytes(&path);
        // The suite accepts duplicate names; two readers may keep different ones, so no limit here does.
        // One of the great integers that it leaves open is exact: 10^20.
        let open_and_exact = name == "i_number_too_big_pos_int.json";
        let wanted = (name.starts_with("y_") && !name.starts_with("y_object_duplicated_key")) || open_and_exact;
        for limits in [Limits::MONEY, Limits::CALL] {
            // What the suite leaves open is out-of-range numbers, broken strings and great depth: a call that is only
            // forwarded may hold the first, nothing may hold the others.
            let wanted = wanted || (limits == Limits::CALL && name.starts_with("i_number_"));
            assert_eq!(parse(&text, &limits).is_ok(), wanted, "{name} under {:?}", limits.numbers);
        }
        if wanted { accepted += 1 } else { refused += 1 }
    }
    println!("JSONTestSuite: {accepted} accepted, {refused} refused");
    assert!(accepted >= 93 && refused >= 220, "{accepted} accepted, {refused} refused");
}

#[test]
fn json_test_suite_names_the_rule() {
    let Some(folder) = folder("nst-jsontestsuite") else { return };
    let cases = [
        ("test_parsing/y_object_duplicated_key.json", Code::JsonDuplicateKey),
        ("test_parsing/y_object_duplicated_key_and_value.json", Code::JsonDuplicateKey),
        ("test_parsing/n_structure_100000_opening_arrays.json", Code::JsonTooDeep),
        ("test_parsing/n_structure_open_array_object.json", Code::JsonTooDeep),
        ("test_parsing/i_structure_500_nested_arrays.json", Code::JsonTooDeep),
        ("test_parsing/i_number_huge_exp.json", Code::JsonNumberOutOfRange),
        ("test_parsing/i_number_real_underflow.json", Code::JsonNumberInexact),
        ("test_parsing/i_string_lone_second_surrogate.json", Code::JsonLoneSurrogate),
        ("test_parsing/i_string_UTF8_surrogate_U+D800.json", Code::JsonInvalidUtf8),
        ("test_parsing/n_structure_double_array.json", Code::JsonTrailingBytes),
        ("test_transform/object_same_key_different_values.json", Code::JsonDuplicateKey),
        ("test_transform/object_same_key_unclear_values.json", Code::JsonDuplicateKey),
        ("test_transform/object_same_key_same_value.json", Code::JsonDuplicateKey),
        ("test_transform/string_1_escaped_invalid_codepoint.json", Code::JsonLoneSurrogate),
        ("test_transform/string_2_escaped_invalid_codepoints.json", Code::JsonLoneSurrogate),
        ("test_transform/string_3_escaped_invalid_codepoints.json", Code::JsonLoneSurrogate),
        ("test_transform/string_1_invalid_codepoint.json", Code::JsonInvalidUtf8),
        ("test_transform/string_2_invalid_codepoints.json", Code::JsonInvalidUtf8),
        ("test_transform/string_3_invalid_codepoints.json", Code::JsonInvalidUtf8),
        ("test_transform/number_1e-999.json", Code::JsonNumberInexact),
        ("test_transform/number_10000000000000000999.json", Code::JsonNumberInexact),
        ("test_transform/number_1.000000000000000005.json", Code::JsonNumberInexact),
        ("test_transform/number_9223372036854775807.json", Code::JsonNumberInexact),
    ];
    for (name, code) in cases {
        assert_eq!(parse(&bytes(&folder.join(name)), &Limits::MONEY).expect_err(name).code, code, "{name}");
    }
    // Names that differ in normalisation only are two names, and stay as they came.
    for name in ["object_key_nfc_nfd.json", "object_key_nfd_nfc.json"] {
        let json = parse(&bytes(&folder.join("test_transform").join(name)), &Limits::MONEY).expect(name);
        assert_eq!(json.as_object().map(<[_]>::len), Some(2), "{name}");
    }
    // A number that is only forwarded is not rounded by having been read.
    let name = "number_10000000000000000999.json";
    let json = parse(&bytes(&folder.join("test_transform").join(name)), &Limits::CALL).expect(name);
    let number = json.pointer("/0").and_then(|value| value.as_number());
    assert_eq!(number.and_then(|number| number.as_u64()), Some(10_000_000_000_000_000_999));
}

#[test]
fn rfc_8785_documents() {
    let Some(folder) = folder("jcs-rfc8785") else { return };
    let inputs = files(&folder.join("input"), ".json");
    assert_eq!(inputs.len(), 6);
    for path in inputs {
        let name = name_of(&path);
        let canonical = parse(&bytes(&path), &Limits::CALL).and_then(|json| json.canonical()).expect(&name);
        assert_eq!(canonical, bytes(&folder.join("output").join(&name)), "{name}");
        let hex: String = text(&folder.join("outhex").join(name.replace(".json", ".txt"))).split_whitespace().collect();
        assert_eq!(Some(&canonical), hex_decode(&hex).as_ref(), "{name}");
        assert!(parse_canonical(&canonical, &Limits::MONEY).is_ok(), "{name}");
    }
}

/// What canonical form makes of a double, written in two ways: with the fewest digits, and with all that matter.
fn canonical_of(double: f64) -> [String; 2] {
    [format!("{double:e}"), format!("{double:.17e}")].map(|lexeme| {
        let json = parse(lexeme.as_bytes(), &Limits::CALL).expect(&lexeme);
        json.as_number().expect("a number").canonical().expect(&lexeme)
    })
}

fn double(hex: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(hex, 16).expect(hex))
}

#[test]
fn ecmascript_numbers() {
    let Some(folder) = folder("jcs-rfc8785") else { return };
    let text = text(&folder.join("es6numbers-10000.csv"));
    assert_eq!(text.lines().count(), 10_000);
    for line in text.lines() {
        let (hex, expected) = line.split_once(',').expect(line);
        assert_eq!(canonical_of(double(hex)), [expected, expected], "{line}");
        assert!(parse(expected.as_bytes(), &Limits::MONEY).is_ok(), "canonical form is exact: {line}");
    }
}

#[test]
fn rfc_8785_appendix_b() {
    let Some(folder) = folder("jcs-rfc8785") else { return };
    let text = text(&folder.join("rfc8785-appendix-b.csv"));
    let mut without_form = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let double = double(fields[0]);
        if fields[1].is_empty() {
            // JSON has no text for these doubles; what their common spellings and an overflow do is refused.
            for lexeme in ["NaN".to_owned(), double.to_string(), "Infinity".to_owned()] {
                assert!(parse(lexeme.as_bytes(), &Limits::CALL).is_err(), "{lexeme}");
            }
            without_form += 1;
        } else {
            assert_eq!(canonical_of(double), [fields[1], fields[1]], "{line}");
        }
    }
    assert_eq!(without_form, 2);
    assert!(parse(b"1e309", &Limits::CALL).and_then(|json| json.canonical()).is_err());
}
