//! Why people are told that something waits for them. A page holds no argument of any call.

use crate::ids::words;

words!(
    /// Why a page is sent.
    PageReason {
        /// Only people can tell what became of an operation.
        NeedsReconciliation = "needs_reconciliation",
        /// A write may have happened, and nobody but its owner can tell.
        WriteUnknown = "write_unknown",
        /// A request has waited so long that others may decide it.
        RequestEscalated = "request_escalated",
        /// A request waits for persons whom the roster does not have any more.
        RequestUnanswerable = "request_unanswerable",
        /// The recovery key announced a change of the roster.
        RecoveryAnnounced = "recovery_announced",
    }
);

words!(
    /// How a page reaches people.
    PageChannel {
        /// By the record itself, which every console follows.
        Console = "console",
        /// By a signed request to a configured address.
        Webhook = "webhook",
        /// By a configured program.
        Command = "command",
    }
);

words!(
    /// What became of a page on its way.
    PageOutcome {
        /// It was taken.
        Delivered = "delivered",
        /// It was not taken; the next repetition tries again.
        Failed = "failed",
    }
);
