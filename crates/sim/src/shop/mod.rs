//! Random histories of the shop: charging, carts, coupons, reserving, paying, cancelling, changing stock and running out of
//! time, in any order and several at once. A naive model predicts every answer and every balance and count; whatever was
//! answered, no money and no piece may be lost or made.
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
