//! Time that passed and was seen to pass. What protects people, as the time to object to a recovery or to stop a payment, counts only that:
//! a clock that is set forward, or a gate that was down, would take it from them. What only ends something counts all time.

use crate::code::{Code, Refusal};
use crate::json::{Json, Number};
use crate::record::{AuditRecord, RecordType};
use crate::time::Timestamp;

/// A stretch of time that nobody saw pass, as a `time_skipped` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// The last moment before it.
    pub from: Timestamp,
    /// How long it was. *Unit*: milliseconds.
    pub ms: u64,
}

impl Skipped {
    /// The claims of its record.
    ///
    /// *Errors*: `json_number_inexact` for a stretch that no clock has.
    pub fn claims(&self) -> Result<Json, Refusal> {
        Ok(Json::object([("from", self.from.to_string().into()), ("skipped_ms", Json::integer(self.ms)?)]))
    }

    /// Reads a `time_skipped`.
    ///
    /// *Errors*: `field_malformed`.
    pub fn of(record: &AuditRecord) -> Result<Skipped, Refusal> {
        let malformed =
            || Refusal::new(Code::FieldMalformed, "a record of skipped time does not say when or how long; it is not of this version");
        if record.record_type != RecordType::TimeSkipped {
            return Err(malformed());
        }
        let from = record.claim("from").and_then(|from| from.parse().ok());
        let ms = record.claims.member("skipped_ms").and_then(Json::as_number).and_then(Number::as_u64);
        from.zip(ms).map(|(from, ms)| Skipped { from, ms }).ok_or_else(malformed)
    }

    /// The end of a delay that began at `began` and would have ended at `ends` without this stretch.
    pub fn put_off(&self, began: Timestamp, ends: Timestamp) -> Timestamp {
        if began <= self.from && self.from < ends { ends.plus_ms(self.ms) } else { ends }
    }
}

/// When a delay is over, by all stretches on record, in their order.
pub fn ends_at(began: Timestamp, delay_s: u64, skipped: &[Skipped]) -> Timestamp {
    skipped.iter().fold(began.plus_s(delay_s), |ends, stretch| stretch.put_off(began, ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_put_off_by_what_was_skipped_while_it_lasted_and_by_nothing_else() {
        let at = |seconds| Timestamp::MIN.plus_s(seconds);
        let skip = |from_s, ms| Skipped { from: at(from_s), ms };
        assert_eq!(ends_at(at(100), 60, &[]), at(160));
        // Before it began; from its first moment on; in its last millisecond; at its end.
        assert_eq!(ends_at(at(100), 60, &[skip(99, 5_000)]), at(160));
        assert_eq!(ends_at(at(100), 60, &[skip(100, 5_000)]), at(165));
        assert_eq!(ends_at(at(100), 60, &[Skipped { from: at(159).plus_ms(999), ms: 5_000 }]), at(165));
        assert_eq!(ends_at(at(100), 60, &[skip(160, 5_000)]), at(160));
        // Each that falls into what the ones before it left.
        assert_eq!(ends_at(at(100), 60, &[skip(110, 86_400_000), skip(100 + 86_400 + 20, 10_000)]), at(170 + 86_400));
        assert_eq!(ends_at(at(100), 60, &[skip(150, 30_000), skip(189, 1)]), at(190).plus_ms(1));
    }

    #[test]
    fn no_stretch_is_so_long_that_a_delay_is_over() {
        let skip = Skipped { from: Timestamp::MIN, ms: u64::MAX };
        assert_eq!(skip.put_off(Timestamp::MIN, Timestamp::MIN.plus_s(1)), Timestamp::MAX);
    }
}
