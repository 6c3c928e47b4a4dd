//! Fault injection for tests: at every wait between the two stores.

use async_trait::async_trait;
use holdfast_engine::StoreError;

/// Moment between two effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Live rows are read, durable ones not yet.
    LiveLoaded,
    /// Both are read, and no command is decided yet.
    DurableRead,
    /// Live rows are decided, not yet written.
    LiveDecided,
    /// Live rows are written, not yet answered.
    LiveCommitted,
    /// Durable rows are read with their versions.
    RecordLoaded,
    /// Durable rows are decided, not yet written.
    RecordDecided,
    /// Durable rows are written, not yet answered.
    RecordCommitted,
    /// Unfinished attempts are listed, not yet decided.
    AbandonedListed,
    /// The outcome of an attempt is decided, not yet answered.
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

/// Fault injector.
#[async_trait]
pub trait Faults: Send + Sync + 'static {
    async fn at(&self, point: Point) -> Result<(), StoreError>;
}
