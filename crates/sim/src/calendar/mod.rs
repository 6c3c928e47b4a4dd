//! Random histories of a room by the hour: generating slots, locking, confirming, releasing, cancelling, blocking,
//! unblocking and expiry, in any order and concurrently, in a process that is killed at times. A naive model predicts
//! every reply and every slot. No slot may be sold twice, or be separated from those it was requested with.
//!
//! | module | contents |
//! | --- | --- |
//! | [`call`] | commands and replies |
//! | [`workload`] | planning of the steps |
//! | [`model`] | naive, independent implementation of the rules |
//! | [`view`] | the readable state, to be compared |
//! | [`runner`] | execution of one history |

pub mod call;
pub mod model;
pub mod runner;
pub mod view;
pub mod workload;
