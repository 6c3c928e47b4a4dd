//! Where a test can make something go wrong: at every wait between the two stores.

use async_trait::async_trait;
use holdfast_engine::StoreError;

/// A moment between two effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Live rows are read, durable ones not yet.
    LiveLoaded,
    /// Both are read, nothing is decided yet.
    DurableRead,
    /// Live rows are decided and about to be written.
    LiveDecided,
    /// Live rows are written, nobody has been told yet.
    LiveCommitted,
    /// Durable rows are read under their versions.
    RecordLoaded,
    /// Durable rows are decided and about to be written.
    RecordDecided,
    /// Durable rows are written, nobody has been told yet.
    RecordCommitted,
    /// Unfinished tries are known, how they end is not.
    AbandonedListed,
    /// How a try ends is decided, nobody has been told yet.
    AbandonedDecided,
}

impl Point {
    pub const ALL: [Self; 9] = [
        Self::LiveLoaded,
        Self::DurableRead,
        Self::LiveDecided,
        Self::LiveCommitted,
        Self::RecordLoaded,
        Self::RecordDecided,
        Self::RecordCommitted,
        Self::AbandonedListed,
        Self::AbandonedDecided,
    ];
}

/// Makes something go wrong, or does not.
#[async_trait]
pub trait Faults: Send + Sync + 'static {
    async fn at(&self, point: Point) -> Result<(), StoreError>;
}
