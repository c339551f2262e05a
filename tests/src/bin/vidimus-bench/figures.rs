//! Figures: their arithmetic, the table for people, the JSON for programs.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// One measured value under its stable id.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    pub id: String,
    pub value: f64,
    pub unit: &'static str,
    /// Measurements behind the value.
    pub n: usize,
}

impl Figure {
    /// A figure, to four significant digits: no measurement here is more exact.
    pub fn new(id: &str, value: f64, unit: &'static str, n: usize) -> Figure {
        Figure { id: id.to_owned(), value: significant(value), unit, n }
    }
}

/// What a run leaves.
#[derive(Serialize)]
pub struct Report {
    pub machine: BTreeMap<&'static str, String>,
    pub figures: Vec<Figure>,
}

impl Report {
    /// The whole report as JSON, with a last line end.
    pub fn json(&self) -> Result<String, std::io::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.machine {
            writeln!(f, "{name:<12} {value}")?;
        }
        writeln!(f)?;
        let width = self.figures.iter().map(|figure| figure.id.len()).max().unwrap_or(0);
        for figure in &self.figures {
            writeln!(f, "{:<width$}  {:>10}  {:<5}  n = {}", figure.id, figure.value, figure.unit, figure.n)?;
        }
        Ok(())
    }
}

/// The middle value; of an even number, the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match (sorted.len() / 2, sorted.len() % 2) {
        (_, _) if sorted.is_empty() => f64::NAN,
        (middle, 1) => sorted[middle],
        (middle, _) => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The smallest value that at least 95 of 100 do not exceed (nearest rank).
pub fn p95(values: &[f64]) -> f64 {
    percentile(values, 95)
}

/// The smallest value that at least 99 of 100 do not exceed (nearest rank).
pub fn p99(values: &[f64]) -> f64 {
    percentile(values, 99)
}

fn percentile(values: &[f64], of_hundred: usize) -> f64 {
    let sorted = sorted(values);
    let rank = (sorted.len() * of_hundred).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn significant(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::{Figure, Report, median, p95, p99};

    #[test]
    fn medians_and_ranks() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!((p95(&hundred), p99(&hundred)), (95.0, 99.0));
        assert_eq!(p95(&[7.0]), 7.0);
    }

    #[test]
    fn the_report_has_the_members_that_readers_rely_on() {
        let report = Report { machine: [("cores", "2".to_owned())].into(), figures: vec![Figure::new("a.b_ms", 1.234_56, "ms", 3)] };
        let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
        let expected = serde_json::json!({
            "machine": { "cores": "2" },
            "figures": [{ "id": "a.b_ms", "value": 1.235, "unit": "ms", "n": 3 }]
        });
        assert_eq!(json, expected);
    }
}
