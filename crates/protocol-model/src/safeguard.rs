//! The rules of the protocol, each of which can be switched off to see what it is for.

/// One rule. The comment says what happens instead when it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Safeguard {
    /// Off: placing reads the durable counts first, then the live rows.
    LiveReadBeforeDurable,
    /// Off: a row that is gone (deleted, or all of it ended) starts again at version zero.
    VersionsNeverReused,
    /// Off: each server asks its own clock.
    OneClock,
    /// Off: the clock of the live tier may be set back; else time stands still until it has caught up.
    ClockNeverBack,
    /// Off: the line of a hold that is being confirmed still ends by time.
    PinWhileConfirming,
    /// Off: a hold may be pinned after its end, if it was read before.
    PinBeforeEnd,
    /// Off: a hold that is being confirmed can be cancelled.
    NoCancelWhileConfirming,
    /// Off: a confirm tells the live tier first and the durable tier second.
    RecordBeforeFinish,
    /// Off: the resolver looks for a decision, and takes finding none for an abort.
    AbortIsWritten,
    /// Off: nobody looks for confirms that were left behind.
    SomebodyResolves,
    /// Off: whoever finishes or resolves does not ask whether the hold is in a later attempt by now.
    AttemptCompared,
    /// Off: the count of what is reserved is raised without looking at the total.
    CountIsGuarded,
    /// Off: the transaction commits although the guarded count matched no row.
    GuardRowsChecked,
    /// Off: a confirm is recorded although its attempt was aborted.
    DecisionUnique,
    /// Off: a server that sent its transaction twice believes the second answer, although the first may still commit.
    DoubtIsResolved,
    /// Off: a hold may have several reservations.
    ReservationUnique,
    /// Off: lowering looks at what is reserved only.
    LoweringCountsHeld,
    /// Off: lowering changes the durable total without announcing it in the live tier.
    LimitRow,
    /// Off: the transaction of a lowering still commits when its limit row has ended.
    OldLoweringRefused,
    /// Off: the compare-and-set compares only the rows that it writes.
    ReadRowsCompared,
    /// Off: the compare-and-set does not notice that the live tier lost everything in between.
    IncarnationCompared,
}

/// A set of rules that are kept.
#[derive(Clone, Copy, Debug)]
pub struct Safeguards {
    off: u32,
}

impl Safeguards {
    /// The protocol as it is meant.
    pub const ALL: Self = Self { off: 0 };

    #[must_use]
    pub const fn without(self, safeguard: Safeguard) -> Self {
        Self { off: self.off | (1 << safeguard as u32) }
    }

    pub const fn keep(self, safeguard: Safeguard) -> bool {
        self.off & (1 << safeguard as u32) == 0
    }
}
