//! Lists of claims: live ones from the rows of their owner, others from the store.

use crate::command::{Context, Decision};
use crate::hold::{Hold, Origin, owner};
use crate::id::{HoldId, UserId};
use crate::schema::list::{Filter, List, Order};
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Returns the live claims of a user, newest first.
pub fn live_of(rows: &mut WorkingSet, at: &Context<'_>, user: &UserId) -> Decision<Vec<Hold>> {
    for kind in Kind::ALL {
        owner::request(rows, kind, user);
    }
    let mut ids: Vec<HoldId> = Vec::new();
    for kind in Kind::ALL {
        ids.extend(owner::ids(rows, kind, user, at.now)?);
    }
    ids.sort_unstable_by(|a, b| b.cmp(a));
    ids.dedup();
    for id in &ids {
        rows.holds.request(id);
    }
    let mut holds = Vec::with_capacity(ids.len());
    for id in ids {
        holds.extend(rows.holds.get(&id)?.filter(|hold| hold.origin != Origin::System).cloned());
    }
    Ok(holds)
}

/// Lists stored claims in order of their ids: those of a user or with a reference through an index, else all. Live claims
/// of a user are not among them.
pub fn claims(
    user: Option<&UserId>,
    reference: Option<&str>,
    after: Option<HoldId>,
    limit: usize,
    order: Order,
) -> List {
    let list = List::of::<Hold>(after.as_ref(), limit).ordered(order);
    match (reference, user) {
        (Some(reference), _) => list.by("reference", reference.to_owned()),
        (None, Some(user)) => list.by("user_id", user.to_string()).filter(Filter::IsNot("state", "HELD")),
        (None, None) => list,
    }
}
