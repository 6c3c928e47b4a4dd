//! In which order a batch can have been carried out.
//!
//! The engine promises that a batch is as good as its calls done one after another, but not in which order: a call that
//! has to wait for rows lets others pass. So the model is asked to find an order that gives every answer that was heard
//! and ends in the state that was found. If there is none, somebody was told something that is not so.

use holdfast_core::Timestamp;

use crate::call::{Call, Reply};
use crate::model::Model;

/// An order that explains everything, and what the model says happened.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Indexes of the calls.
    pub order: Vec<usize>,
    /// What each call must have been told, in the order of the calls.
    pub replies: Vec<Reply>,
    pub model: Model,
}

/// `heard` is `None` where no answer came. `is_found` says whether the state in which the model ends is the one found.
pub fn explain(
    model: &Model,
    calls: &[Call],
    heard: &[Option<Reply>],
    now: Timestamp,
    is_found: &mut dyn FnMut(&Model) -> bool,
) -> Option<Explanation> {
    assert_eq!(calls.len(), heard.len());
    let mut path = Vec::with_capacity(calls.len());
    let model = search(model, calls, heard, now, is_found, &mut path)?;
    let mut replies: Vec<(usize, Reply)> = path.clone();
    replies.sort_by_key(|(index, _)| *index);
    Some(Explanation {
        order: path.into_iter().map(|(index, _)| index).collect(),
        replies: replies.into_iter().map(|(_, reply)| reply).collect(),
        model,
    })
}

/// Tries what has not been done yet in the order in which it was sent: usually the first try is right.
fn search(
    model: &Model,
    calls: &[Call],
    heard: &[Option<Reply>],
    now: Timestamp,
    is_found: &mut dyn FnMut(&Model) -> bool,
    path: &mut Vec<(usize, Reply)>,
) -> Option<Model> {
    if path.len() == calls.len() {
        return is_found(model).then(|| model.clone());
    }
    for index in 0..calls.len() {
        if path.iter().any(|(done, _)| *done == index) {
            continue;
        }
        let mut next = model.clone();
        let reply = next.apply(&calls[index], now);
        if heard[index].as_ref().is_some_and(|heard| *heard != reply) {
            continue;
        }
        path.push((index, reply));
        if let Some(end) = search(&next, calls, heard, now, is_found, path) {
            return Some(end);
        }
        path.pop();
    }
    None
}
