//! Reads how many tests ran from the closing lines of the runners.

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that did not run.
    pub skipped: u64,
}

impl Counts {
    /// Adds what a line of a runner's output says; other lines say nothing.
    pub fn add_line(&mut self, line: &str) {
        let plain = without_colours(line);
        let trimmed = plain.trim();
        if let Some(rest) = trimmed.strip_prefix("test result: ") {
            // `ok. 3 passed; 0 failed; 1 ignored; …`
            self.add_parts(rest.split_once(". ").map_or(rest, |(_, parts)| parts).split(';'));
        } else if let Some(rest) = trimmed.strip_prefix("Tests ") {
            // Vitest: `Tests  1 failed | 11 passed (12)`
            self.add_parts(rest.split_once('(').map_or(rest, |(parts, _)| parts).split('|'));
        }
    }

    fn add_parts<'a>(&mut self, parts: impl Iterator<Item = &'a str>) {
        for part in parts {
            let mut words = part.split_whitespace();
            let (Some(Ok(number)), Some(word)) = (words.next().map(str::parse::<u64>), words.next()) else { continue };
            match word {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" | "skipped" | "todo" => self.skipped += number,
                _ => {}
            }
        }
    }

    /// The closing line.
    pub fn line(&self) -> String {
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        format!("{} passed, {} failed{skipped}", self.passed, self.failed)
    }
}

/// A line without the escape sequences that colour it.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // To the letter that ends the sequence.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn the_runners_closing_lines_are_summed() {
        let cases = [
            ("test result: ok. 9 passed; 0 failed; 2 ignored; 0 measured; 3 filtered out; finished in 2.96s", (9, 0, 2)),
            ("test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 14.71s", (7, 2, 0)),
            ("      Tests  12 passed (12)", (12, 0, 0)),
            ("\u{1b}[2m      Tests \u{1b}[22m \u{1b}[31m1 failed\u{1b}[39m | \u{1b}[32m11 passed\u{1b}[39m | 1 skipped (13)", (11, 1, 1)),
            (" Test Files  4 passed (4)", (0, 0, 0)),
            ("test counts::tests ... ok", (0, 0, 0)),
            ("100 passed", (0, 0, 0)),
        ];
        for (line, (passed, failed, skipped)) in cases {
            let mut counts = Counts::default();
            counts.add_line(line);
            assert_eq!(counts, Counts { passed, failed, skipped }, "{line}");
        }
    }

    #[test]
    fn the_closing_line_names_skipped_tests_only_where_there_are_some() {
        assert_eq!(Counts { passed: 3, failed: 0, skipped: 0 }.line(), "3 passed, 0 failed");
        assert_eq!(Counts { passed: 3, failed: 1, skipped: 2 }.line(), "3 passed, 1 failed, 2 skipped");
    }
}
