//! Live tables in visiting order: names of their rows, and times to live.

use holdfast_core::Timestamp;
use holdfast_core::calendar::SlotId;
use holdfast_core::hold::{ENDED_HOLD_KEPT, Hold, HoldState};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::{IdempotencyRecord, IdempotencyRecordId};
use holdfast_core::stay::{self, ClientKey, DatesKey};
use holdfast_core::table::{Key, Row, Scan, Table};
use holdfast_core::ticket::{self, BuyerId, SeatId};
use holdfast_core::unit::{CapacityFence, Holder, Resource, Tally, Unit};
use holdfast_core::working_set::Tables;
use holdfast_core::{calendar, shop};

use crate::codec::Stored;
use crate::keys::Keys;

/// Row of a live table.
pub(crate) trait Live<K>: Row + Stored + 'static {
    fn name(keys: &Keys, key: &K) -> String;

    /// Time until which the row is needed; `None` if it does not expire.
    fn kept_until(&self, _now: Timestamp) -> Option<Timestamp> {
        self.ends_at()
    }
}

/// Visitor of live tables.
pub(crate) trait Visitor {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &Table<K, V, S>);
}

/// Mutable visitor of live tables.
pub(crate) trait VisitorMut {
    fn visit<K: Key + Send + 'static, V: Live<K>, S: Scan<K>>(&mut self, table: &mut Table<K, V, S>);
}

/// Idempotency records are apart: those not found here may be in the other store.
macro_rules! visit_all {
    ($($table:ident),+; $($set:ident.$of_set:ident),+ $(;)?) => {
        pub(crate) fn visit_all(tables: &Tables, visitor: &mut impl Visitor) {
            $(visitor.visit(&tables.$table);)+
            $(visitor.visit(&tables.$set.$of_set);)+
        }

        pub(crate) fn visit_all_mut(tables: &mut Tables, visitor: &mut impl VisitorMut) {
            $(visitor.visit(&mut tables.$table);)+
            $(visitor.visit(&mut tables.$set.$of_set);)+
        }
    };
}
visit_all!(holds, held, holders, fences; stay.by_dates, stay.by_client_key, shop.last_holds, calendar.by_slot,
    ticket.by_seat, ticket.buyers_held);

/// Fails to compile for a new table until it is listed here: if it is live, add it to `visit_all!` above.
#[expect(dead_code, reason = "it is there to be compiled")]
fn check_tables_are_listed(tables: Tables) {
    let Tables {
        ids: _,
        idempotency_records: _,
        held: _,
        holders: _,
        fences: _,
        decisions: _,
        holds: _,
        confirmed_holds: _,
        relay: _,
        stay,
        shop,
        calendar,
        ticket,
        tee: _,
        webhook: _,
    } = tables;
    let stay::Tables { room_types: _, nights: _, by_dates: _, by_client_key: _, reservations: _ } = stay;
    let shop::Tables {
        users: _,
        products: _,
        options: _,
        inventory: _,
        cart: _,
        coupons: _,
        user_coupons: _,
        last_holds: _,
        orders: _,
    } = shop;
    let calendar::Tables { rooms: _, hours: _, holidays: _, slots: _, generations: _, by_slot: _, reservations: _ } =
        calendar;
    let ticket::Tables {
        events: _,
        plans: _,
        sales: _,
        seats: _,
        buyers: _,
        by_seat: _,
        buyers_held: _,
        reservations: _,
    } = ticket;
}

impl Live<Unit> for Tally {
    fn name(keys: &Keys, key: &Unit) -> String {
        keys.held(key)
    }
}

impl Live<Holder> for Tally {
    fn name(keys: &Keys, key: &Holder) -> String {
        keys.holder(key)
    }
}

impl Live<Resource> for CapacityFence {
    fn name(keys: &Keys, key: &Resource) -> String {
        keys.limit(*key)
    }
}

impl Live<IdempotencyRecordId> for IdempotencyRecord {
    fn name(keys: &Keys, key: &IdempotencyRecordId) -> String {
        keys.idempotency_record(key)
    }

    fn kept_until(&self, _now: Timestamp) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl Live<HoldId> for Hold {
    fn name(keys: &Keys, key: &HoldId) -> String {
        keys.hold(key)
    }

    fn kept_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            HoldState::Prepared => None,
            HoldState::Held => Some(self.ends_at() + ENDED_HOLD_KEPT),
            HoldState::Confirmed | HoldState::Cancelled | HoldState::Replaced { .. } => Some(now + ENDED_HOLD_KEPT),
        }
    }
}

impl Live<DatesKey> for stay::LiveHold {
    fn name(keys: &Keys, key: &DatesKey) -> String {
        keys.stay_by_dates(key)
    }
}

impl Live<ClientKey> for stay::LiveHold {
    fn name(keys: &Keys, key: &ClientKey) -> String {
        keys.stay_by_client_key(key)
    }
}

impl Live<UserId> for shop::LastHold {
    fn name(keys: &Keys, key: &UserId) -> String {
        keys.order_by_user(key)
    }
}

impl Live<SlotId> for calendar::LiveLock {
    fn name(keys: &Keys, key: &SlotId) -> String {
        keys.lock_by_slot(*key)
    }
}

impl Live<SeatId> for ticket::SeatPointer {
    fn name(keys: &Keys, key: &SeatId) -> String {
        keys.seat(*key)
    }
}

impl Live<BuyerId> for Tally {
    fn name(keys: &Keys, key: &BuyerId) -> String {
        keys.buyer(key)
    }
}
