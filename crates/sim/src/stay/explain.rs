//! Search for the serial order of a batch.
//!
//! The engine guarantees that a batch is equivalent to its calls in some serial order: a call that waits for rows lets
//! others pass. The model searches an order that gives every reply and ends in the stored state. If there is none, a
//! reply was wrong.

use holdfast_core::Timestamp;

use super::call::{Call, Reply};
use super::model::Model;

/// An order that explains the batch, and its effects in the model.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Indexes of the calls.
    pub order: Vec<usize>,
    /// Expected reply of each call, in the order of the calls.
    pub replies: Vec<Reply>,
    pub model: Model,
}

/// Searches an order. `received` is `None` where no reply came. `is_found` compares the state of a model with the
/// stored one.
pub fn explain(
    model: &Model,
    calls: &[Call],
    received: &[Option<Reply>],
    now: Timestamp,
    is_found: &mut dyn FnMut(&Model) -> bool,
) -> Option<Explanation> {
    assert_eq!(calls.len(), received.len());
    let mut path = Vec::with_capacity(calls.len());
    let model = search(model, calls, received, now, is_found, &mut path)?;
    let mut replies: Vec<(usize, Reply)> = path.clone();
    replies.sort_by_key(|(index, _)| *index);
    Some(Explanation {
        order: path.into_iter().map(|(index, _)| index).collect(),
        replies: replies.into_iter().map(|(_, reply)| reply).collect(),
        model,
    })
}

/// Tries the remaining calls in the order in which they were sent, which is usually the right one.
fn search(
    model: &Model,
    calls: &[Call],
    received: &[Option<Reply>],
    now: Timestamp,
    is_found: &mut dyn FnMut(&Model) -> bool,
    path: &mut Vec<(usize, Reply)>,
) -> Option<Model> {
    if path.len() == calls.len() {
        return is_found(model).then(|| model.clone());
    }
    for index in 0..calls.len() {
        if path.iter().any(|(executed, _)| *executed == index) {
            continue;
        }
        let mut next = model.clone();
        let reply = next.apply(&calls[index], now);
        if received[index].as_ref().is_some_and(|received| *received != reply) {
            continue;
        }
        path.push((index, reply));
        if let Some(end) = search(&next, calls, received, now, is_found, path) {
            return Some(end);
        }
        path.pop();
    }
    None
}
