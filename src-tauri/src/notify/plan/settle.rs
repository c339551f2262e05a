//! What is due after an input: popups that may appear now, and those that have to change.

use std::collections::BTreeSet;

use vidimus_core::ids::RequestId;

use super::{
    CRITICAL_WITHIN_MS, Command, Ended, GAP_MS, Plan, Popup, Shown, Slot, Stay, Target, Text, Urgency, View, Waiting, class,
    is_irreversible, text,
};

impl Plan {
    pub(super) fn settle(&mut self, now_ms: i64, commands: &mut Vec<Command>) {
        if self.view == View::Inbox {
            self.leave_to_the_inbox(now_ms, commands);
        } else if self.paused_until_ms(now_ms).is_none() {
            self.notified.pause_until_ms = None;
            self.pop_urgent(now_ms, commands);
            self.pop_waiting(now_ms, commands);
        }
        if self.paused_until_ms(now_ms).is_none() {
            self.outcomes.settle(&mut self.notified.outcomes, self.privacy, now_ms, commands);
        }
    }

    /// The window tells what arrives, so that is told; what the popup said stands before the person's eyes.
    fn leave_to_the_inbox(&mut self, now_ms: i64, commands: &mut Vec<Command>) {
        let seen: Vec<RequestId> = self.tellable(now_ms).map(|waiting| waiting.request).collect();
        for request in seen {
            self.told_mut(request).popped = true;
        }
        if !self.waiting_popup.about.is_empty() {
            self.waiting_popup = Shown::default();
            commands.push(Command::Close(Slot::Waiting));
        }
    }

    fn pop_urgent(&mut self, now_ms: i64, commands: &mut Vec<Command>) {
        let urgent: Vec<RequestId> = self.tellable(now_ms).filter(|waiting| self.is_urgent(waiting, now_ms)).map(|w| w.request).collect();
        let is_news = urgent.iter().any(|request| !self.told(request).critical);
        if !is_news || !gap_is_over(self.urgent_at_ms, now_ms) {
            return;
        }
        for request in &urgent {
            let told = self.told_mut(*request);
            told.critical = true;
            told.popped = true;
            told.later_until_ms = None;
        }
        self.urgent_at_ms = Some(now_ms);
        let lead = if let [only] = urgent.as_slice() { Some(*only) } else { None };
        self.urgent_popup = Shown { about: urgent.into_iter().collect(), lead };
        self.push(Slot::Urgent, Urgency::Critical, commands);
        // The same request is not named on the screen twice.
        if !self.waiting_popup.about.is_empty() && self.waiting_popup.about.is_subset(&self.urgent_popup.about) {
            self.waiting_popup = Shown::default();
            commands.push(Command::Close(Slot::Waiting));
        }
    }

    fn pop_waiting(&mut self, now_ms: i64, commands: &mut Vec<Command>) {
        let about: Vec<RequestId> = self.tellable(now_ms).map(|waiting| waiting.request).collect();
        let news: Vec<&Waiting> = self.tellable(now_ms).filter(|waiting| !self.told(&waiting.request).popped).collect();
        let first = news.iter().any(|waiting| self.is_first_of_its_class(waiting, now_ms));
        if news.is_empty() || !(first || gap_is_over(self.popped_at_ms, now_ms)) {
            return;
        }
        let lead = match news.as_slice() {
            [only] if first || about.len() == 1 => Some(only.request),
            _ => None,
        };
        let told: Vec<_> = news.iter().map(|waiting| (waiting.request, class(waiting))).collect();
        for (request, class) in told {
            self.class_popped_at_ms.insert(class, now_ms);
            let told = self.told_mut(request);
            told.popped = true;
            told.later_until_ms = None;
        }
        self.popped_at_ms = Some(now_ms);
        self.waiting_popup = Shown { about: about.into_iter().collect(), lead };
        self.push(Slot::Waiting, Urgency::Normal, commands);
    }

    /// Takes a request out of what a slot shows; the rest is shown without a new interruption.
    pub(super) fn take_out(
        &mut self,
        slot: Slot,
        request: &RequestId,
        ended: Option<(&Waiting, &Ended)>,
        now_ms: i64,
        commands: &mut Vec<Command>,
    ) {
        let shown = self.popup(slot);
        if !shown.about.remove(request) {
            return;
        }
        let was_lead = shown.lead.take_if(|lead| lead == request).is_some();
        if !shown.about.is_empty() {
            self.show_again(slot, now_ms, commands);
            return;
        }
        *shown = Shown::default();
        commands.push(match ended {
            Some((gone, Ended::DecidedBy(name))) if was_lead => Command::Show(Popup {
                slot,
                text: text::decided(&gone.subject, name, self.privacy),
                urgency: Urgency::Low,
                stay: Stay::Transient,
                target: Target::Request(*request),
            }),
            Some((_, Ended::DecidedBy(_) | Ended::DecidedHere | Ended::Otherwise)) | None => Command::Close(slot),
        });
    }

    /// Shows what is left in a slot, if anything is on the screen.
    pub(super) fn show_again(&mut self, slot: Slot, now_ms: i64, commands: &mut Vec<Command>) {
        let waiting: BTreeSet<RequestId> = self.waiting.values().filter(|w| w.expires_at_ms > now_ms).map(|w| w.request).collect();
        let shown = self.popup(slot);
        if shown.about.is_empty() {
            return;
        }
        shown.about.retain(|request| waiting.contains(request));
        if shown.about.is_empty() {
            *shown = Shown::default();
            commands.push(Command::Close(slot));
            return;
        }
        if shown.about.len() == 1 {
            shown.lead = shown.about.first().copied();
        }
        // Critical is used once per request; low does not pop up again.
        self.push(slot, Urgency::Low, commands);
    }

    fn push(&mut self, slot: Slot, urgency: Urgency, commands: &mut Vec<Command>) {
        let shown = self.popup(slot).clone();
        let Some(text) = self.text(slot, &shown) else { return };
        let target = shown.lead.map_or(Target::Inbox, Target::Request);
        commands.push(Command::Show(Popup { slot, text, urgency, stay: Stay::Listed, target }));
    }

    /// Nothing only when a slot holds no request that waits.
    fn text(&self, slot: Slot, shown: &Shown) -> Option<Text> {
        let count = shown.about.len();
        if let Some(lead) = shown.lead.and_then(|lead| self.waiting.get(&lead)) {
            return Some(text::one(&lead.subject, count, self.privacy));
        }
        let next = shown.about.iter().filter_map(|request| self.waiting.get(request)).min_by_key(|waiting| waiting.expires_at_ms)?;
        Some(match slot {
            Slot::Waiting | Slot::Outcome => text::several(count, &next.subject.expires, self.privacy),
            Slot::Urgent => text::several_urgent(count, &next.subject.expires, self.privacy),
        })
    }

    /// What may be told now: not expired, and not put off until later.
    fn tellable(&self, now_ms: i64) -> impl Iterator<Item = &Waiting> {
        self.waiting.values().filter(move |waiting| {
            waiting.expires_at_ms > now_ms && self.told(&waiting.request).later_until_ms.is_none_or(|until_ms| until_ms <= now_ms)
        })
    }

    fn is_urgent(&self, waiting: &Waiting, now_ms: i64) -> bool {
        is_irreversible(waiting) && waiting.expires_at_ms - now_ms < CRITICAL_WITHIN_MS && !self.told(&waiting.request).opened
    }

    /// Whether nothing of its class waits that was told already, and none popped a moment ago.
    fn is_first_of_its_class(&self, waiting: &Waiting, now_ms: i64) -> bool {
        let class = class(waiting);
        let has_told = self.waiting.values().any(|other| super::class(other) == class && self.told(&other.request).popped);
        !has_told && gap_is_over(self.class_popped_at_ms.get(&class).copied(), now_ms)
    }
}

pub(super) fn gap_is_over(last_ms: Option<i64>, now_ms: i64) -> bool {
    last_ms.is_none_or(|last_ms| now_ms - last_ms >= GAP_MS)
}
