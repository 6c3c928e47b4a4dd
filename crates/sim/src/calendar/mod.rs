//! Random histories of a room by the hour: making slots, locking, confirming, releasing, cancelling, taking off sale, putting back
//! and running out of time, in any order and several at once, in a process that is killed now and then. A naive model predicts
//! every answer and every slot; whatever was answered, no slot may be sold twice or be split from those it was asked for with.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`call`] | a command as callers send it, and what they hear back |
//! | [`workload`] | plans what happens next |
//! | [`model`] | the rules once more, naive and independent |
//! | [`look`] | everything that can be read, to be compared |
//! | [`runner`] | runs one history |

pub mod call;
pub mod look;
pub mod model;
pub mod runner;
pub mod workload;
