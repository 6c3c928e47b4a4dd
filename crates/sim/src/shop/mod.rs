//! Random histories of the shop: deposits, carts, coupons, reserving, paying, cancelling, stock changes and expiry, in
//! any order and concurrently. A naive model predicts every reply, balance and count. Money and pieces must be
//! conserved.
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
