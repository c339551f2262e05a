//! What else stood on the screen of a decision: its digest is signed, its text is kept in the log.

use vidimus_core::json::Json;
use vidimus_core::render::Reading;

use crate::review::Review;

/// The context as canonical JSON text.
pub fn of(review: &Review, held_ms: u64, two_presses: bool) -> String {
    let card = &review.card;
    let warnings: Vec<Json> = card.warnings.iter().map(|warning| warning.text.as_str().into()).collect();
    let readings: Vec<Json> = card
        .values
        .iter()
        .filter_map(|value| {
            let text = match value.reading.as_ref()? {
                Reading::Money(text) => text.clone(),
                Reading::Account { grouped, .. } => grouped.clone(),
            };
            Some(Json::object([("path", value.node.path.as_str().into()), ("reading", text.into())]))
        })
        .collect();
    let hidden: Vec<Json> =
        card.values.iter().filter(|value| value.hidden.is_some()).map(|value| value.node.path.as_str().into()).collect();
    let count = |number: usize| Json::integer(u64::try_from(number).unwrap_or(0)).unwrap_or(Json::Null);
    let asked = review.question.as_ref().filter(|asked| asked.answered).map(|asked| asked.path().to_owned());
    let context = Json::object([
        ("v", 1_u32.into()),
        ("headline", card.headline().into()),
        ("warnings", warnings.into()),
        ("readings", readings.into()),
        ("hidden", hidden.into()),
        ("friction", card.friction().as_str().into()),
        ("parts", count(review.parts.count())),
        ("parts_seen", count(review.seen.len())),
        ("asked", asked.into()),
        ("wrong_answers", review.wrong_answers.into()),
        ("held_ms", Json::integer(held_ms).unwrap_or(Json::Null)),
        ("two_presses", two_presses.into()),
    ]);
    // Strings and small integers always have a canonical form.
    context.canonical().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
