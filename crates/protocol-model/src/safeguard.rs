//! Rules of the protocol. Each can be switched off to show that it is necessary.

/// A rule. Its comment describes the behaviour without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Safeguard {
    /// Off: placing reads the durable counts before the live rows.
    LiveReadBeforeDurable,
    /// Off: a row that is absent (deleted, or all of it ended) restarts at version zero.
    VersionsNeverReused,
    /// Off: each server uses its own clock.
    OneClock,
    /// Off: the clock of the live tier may be set back, instead of standing still until it has caught up.
    ClockNeverBack,
    /// Off: the line of a prepared hold still ends by time.
    PreparedDoesNotExpire,
    /// Off: a hold may be prepared after its end, if it was read before.
    PrepareBeforeEnd,
    /// Off: a prepared hold can be cancelled.
    NoCancelWhilePrepared,
    /// Off: a confirm finishes in the live tier before it is recorded in the durable tier.
    RecordBeforeFinish,
    /// Off: recovery only reads the outcome, and takes a missing one as aborted.
    AbortIsRecorded,
    /// Off: abandoned attempts are never recovered.
    AttemptsAreRecovered,
    /// Off: finishing does not check whether the hold is in a later attempt.
    AttemptCompared,
    /// Off: the reserved count is incremented without a check of the total.
    CountIsGuarded,
    /// Off: the transaction commits although the guarded update matched no row.
    GuardRowsChecked,
    /// Off: a confirm is recorded although its attempt was aborted.
    DecisionUnique,
    /// Off: a server that sent its transaction twice trusts the second reply, although the first copy may still commit.
    UnknownOutcomeIsRecovered,
    /// Off: a hold may have several reservations.
    ReservationUnique,
    /// Off: lowering checks the reserved quantity only.
    LoweringCountsHeld,
    /// Off: lowering changes the durable total without a capacity fence.
    CapacityFence,
    /// Off: the transaction of a lowering still commits after its fence has ended.
    OldLoweringRejected,
    /// Off: the compare-and-set checks only the rows that it writes.
    ReadRowsCompared,
    /// Off: the compare-and-set does not detect that the live tier lost its state meanwhile.
    EpochCompared,
}

/// The set of rules in effect.
#[derive(Clone, Copy, Debug)]
pub struct Safeguards {
    off: u32,
}

impl Safeguards {
    /// The complete protocol.
    pub const ALL: Self = Self { off: 0 };

    #[must_use]
    pub const fn without(self, safeguard: Safeguard) -> Self {
        Self { off: self.off | (1 << safeguard as u32) }
    }

    pub const fn keep(self, safeguard: Safeguard) -> bool {
        self.off & (1 << safeguard as u32) == 0
    }
}
