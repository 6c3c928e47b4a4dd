//! Live holds of an owner with lines of one kind: for the limit of live holds, and for lists.
//!
//! The first row of an owner lists up to [`HOLDS_PER_ROW_MAX`] holds. Further holds are listed in overflow rows, which a
//! hash of their id chooses, and counted in the first row, so that the limit needs one row.

use crate::command::Decision;
use crate::hold::Hold;
use crate::id::{HoldId, UserId};
use crate::table::{Count, Row};
use crate::time::Timestamp;
use crate::unit::{Kind, Tally};
use crate::working_set::WorkingSet;

/// Maximum number of holds in the first row of an owner.
pub const HOLDS_PER_ROW_MAX: usize = 64;

/// Number of overflow rows of an owner. At the highest limit of live holds each lists about 50.
const OVERFLOW_ROWS: u16 = 2_048;

/// Key of a row of live holds; `page` is 0 for the first row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerPage {
    pub kind: Kind,
    pub user: UserId,
    pub page: u16,
}

/// Live holds of an owner. A hold stops counting at its end, without a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerHolds {
    /// Ascending by id.
    listed: Vec<OwnedHold>,
    /// Counts of the holds in overflow rows; in the first row only.
    overflow: Tally,
}

/// Live hold of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedHold {
    pub id: HoldId,
    pub ends_at: Timestamp,
}

impl OwnerPage {
    /// Returns the key of an owner's first row.
    pub fn first(kind: Kind, user: &UserId) -> Self {
        Self { kind, user: user.clone(), page: 0 }
    }

    /// Returns the key of the overflow row of a hold.
    fn overflow(&self, hold: HoldId) -> Self {
        Self { page: 1 + (hold.0.as_u128() % u128::from(OVERFLOW_ROWS)) as u16, ..self.clone() }
    }
}

impl OwnerHolds {
    /// Returns the stored row; `None` if holds are not ascending.
    pub fn from_parts(listed: Vec<OwnedHold>, overflow: Tally) -> Option<Self> {
        listed.is_sorted_by(|a, b| a.id < b.id).then_some(Self { listed, overflow })
    }

    /// Returns the number of holds that count at `now`, in all rows of the owner.
    pub fn live(&self, now: Timestamp) -> u32 {
        self.live_listed(now) as u32 + self.overflow.live(now)
    }

    /// Returns the listed holds, ended or not.
    pub fn listed(&self) -> &[OwnedHold] {
        &self.listed
    }

    /// Returns the counts of holds in overflow rows.
    pub fn overflow(&self) -> &Tally {
        &self.overflow
    }

    fn live_listed(&self, now: Timestamp) -> usize {
        self.listed.iter().filter(|hold| now < hold.ends_at).count()
    }

    fn position(&self, id: HoldId) -> Result<usize, usize> {
        self.listed.binary_search_by_key(&id, |hold| hold.id)
    }

    fn insert(&mut self, hold: OwnedHold, now: Timestamp) {
        self.listed.retain(|hold| now < hold.ends_at);
        match self.position(hold.id) {
            Ok(position) => self.listed[position] = hold,
            Err(position) => self.listed.insert(position, hold),
        }
    }

    /// Deletes a hold. One that has ended may be purged already.
    fn delete(&mut self, hold: OwnedHold, now: Timestamp) {
        match self.position(hold.id) {
            Ok(position) => drop(self.listed.remove(position)),
            Err(_) => assert!(hold.ends_at <= now, "a live hold is listed"),
        }
    }
}

impl Row for OwnerHolds {
    fn ends_at(&self) -> Option<Timestamp> {
        self.listed.iter().map(|hold| hold.ends_at).chain(self.overflow.ends_at()).max()
    }

    fn is_void(&self) -> bool {
        self.listed.is_empty() && self.overflow.is_empty()
    }

    fn apply_count(&mut self, count: Count) {
        let Some(id) = count.hold else { return self.overflow.apply_count(count) };
        let hold = OwnedHold { id, ends_at: count.ends_at.expect("a hold counts for its owner until its end") };
        if count.quantity > 0 { self.insert(hold, count.now) } else { self.delete(hold, count.now) }
    }
}

/// Requests the number of live holds.
pub fn request(rows: &mut WorkingSet, kind: Kind, user: &UserId) {
    rows.owner_holds.request(&OwnerPage::first(kind, user));
}

/// Requests the overflow rows of a hold.
pub(super) fn request_overflow(rows: &mut WorkingSet, hold: &Hold) {
    for kind in hold.kinds() {
        rows.owner_holds.request(&OwnerPage::first(kind, &hold.owner).overflow(hold.id));
    }
}

/// Returns the number of live holds.
pub fn live(rows: &mut WorkingSet, kind: Kind, user: &UserId, now: Timestamp) -> Decision<u32> {
    Ok(rows.owner_holds.get(&OwnerPage::first(kind, user))?.map_or(0, |row| row.live(now)))
}

/// Returns the ids of the live holds, ascending.
pub fn ids(rows: &mut WorkingSet, kind: Kind, user: &UserId, now: Timestamp) -> Decision<Vec<HoldId>> {
    let first = OwnerPage::first(kind, user);
    let Some(row) = rows.owner_holds.get(&first)?.cloned() else { return Ok(Vec::new()) };
    let mut listed = row.listed;
    if row.overflow.live(now) > 0 {
        let pages: Vec<_> = (1..=OVERFLOW_ROWS).map(|page| OwnerPage { page, ..first.clone() }).collect();
        for page in &pages {
            rows.owner_holds.request(page);
        }
        for page in &pages {
            listed.extend(rows.owner_holds.get(page)?.into_iter().flat_map(|row| row.listed.iter().copied()));
        }
    }
    let mut ids: Vec<_> = listed.into_iter().filter(|hold| now < hold.ends_at).map(|hold| hold.id).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Adds a live hold to the rows of its owner.
pub(crate) fn add(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    let ends_at = Some(hold.ends_at());
    for kind in hold.kinds() {
        let first = OwnerPage::first(kind, &hold.owner);
        let listed = rows.owner_holds.get(&first)?.map_or(0, |row| row.live_listed(now));
        let listing = Count { quantity: 1, ends_at, now, hold: Some(hold.id) };
        if listed < HOLDS_PER_ROW_MAX {
            rows.owner_holds.count(&first, listing)?;
        } else {
            rows.owner_holds.count(&first.overflow(hold.id), listing)?;
            rows.owner_holds.count(&first, Count { hold: None, ..listing })?;
        }
    }
    Ok(())
}

/// Reverts [`add`].
pub(crate) fn remove(rows: &mut WorkingSet, hold: &Hold, now: Timestamp) -> Decision<()> {
    let ends_at = Some(hold.ends_at());
    for kind in hold.kinds() {
        let first = OwnerPage::first(kind, &hold.owner);
        let row = rows.owner_holds.get(&first)?;
        let is_listed = row.is_none_or(|row| row.position(hold.id).is_ok() || row.overflow.is_empty());
        let listing = Count { quantity: -1, ends_at, now, hold: Some(hold.id) };
        if is_listed {
            rows.owner_holds.count(&first, listing)?;
        } else {
            rows.owner_holds.count(&first.overflow(hold.id), listing)?;
            rows.owner_holds.count(&first, Count { hold: None, ..listing })?;
        }
    }
    Ok(())
}
