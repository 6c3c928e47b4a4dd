//! Random histories of stays: placing, replacing, extending, confirming, cancelling, batches, changes of room types,
//! closed nights and expiry, in any order and concurrently. A naive model predicts every reply and every count.
//!
//! | module | contents |
//! | --- | --- |
//! | [`call`] | commands and replies |
//! | [`workload`] | planning of the steps |
//! | [`model`] | naive, independent implementation of the rules |
//! | [`explain`] | search for the serial order of a batch |
//! | [`view`] | the readable state of a store, the pure core or the model, to be compared |
//! | [`auditor`] | invariants of any history |
//! | [`pure`] | core without engine and store |
//! | [`runner`] | execution of one history |

pub mod auditor;
pub mod call;
pub mod explain;
pub mod model;
pub mod pure;
pub mod runner;
pub mod view;
pub mod workload;
