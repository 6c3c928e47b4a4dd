//! All tables in a fixed order: referenced tables first. Servers that share a database lock in this order.

use crate::table::{Scan, Table};
use crate::working_set::Tables;
use crate::{calendar, relay, shop, stay, tee, ticket, webhook};

use crate::schema::record::Record;
use crate::schema::table::TableSchema;

/// Visits tables of records.
pub trait Visitor<'a> {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &'a Table<R::Key, R, S>);
}

/// Visits tables of records mutably.
pub trait VisitorMut {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, table: &mut Table<R::Key, R, S>);
}

macro_rules! visit {
    (durable: $($own:ident),+; $($set:ident.$table:ident),+; live: holds $(, $live_set:ident.$live:ident)*; $(;)?) => {
        /// Visits all durable tables.
        pub fn durable<'a>(tables: &'a Tables, visitor: &mut impl Visitor<'a>) {
            $(visitor.visit(&tables.$own);)+
            $(visitor.visit(&tables.$set.$table);)+
        }

        pub fn durable_mut(tables: &mut Tables, visitor: &mut impl VisitorMut) {
            $(visitor.visit(&mut tables.$own);)+
            $(visitor.visit(&mut tables.$set.$table);)+
        }

        /// Visits the live tables that SQL stores keep.
        pub fn live<'a>(tables: &'a Tables, visitor: &mut impl Visitor<'a>) {
            visitor.visit(&tables.holds);
            $(visitor.visit(&tables.$live_set.$live);)*
        }

        pub fn live_mut(tables: &mut Tables, visitor: &mut impl VisitorMut) {
            visitor.visit(&mut tables.holds);
            $(visitor.visit(&mut tables.$live_set.$live);)*
        }
    };
}

visit!(
    durable: confirmed_holds; relay.relays, relay.failed_publications,
        stay.room_types, stay.nights, stay.reservations,
        shop.users, shop.products, shop.options, shop.inventory, shop.cart, shop.orders, shop.coupons, shop.user_coupons,
        // Rooms and reservations before slots: a trigger reads them to check changes of reserved slots.
        calendar.rooms, calendar.hours, calendar.holidays, calendar.reservations, calendar.slots, calendar.generations,
        ticket.events, ticket.plans, ticket.sales, ticket.reservations, ticket.seats, ticket.buyers,
        tee.courses, tee.slots, tee.slot_times, tee.slot_bookings, tee.slot_replicas, tee.bookings, tee.booking_keys,
        tee.history, tee.by_slot, tee.notifications, tee.notices, tee.inbox, tee.imported,
        webhook.webhooks, webhook.events, webhook.deliveries, webhook.due;
    live: holds, shop.last_holds;
);

/// Fails to compile until a new table is listed here: decide about it, and add it to `visit!` above.
#[expect(dead_code, reason = "it exists to be compiled")]
fn check_tables_are_listed(tables: Tables) {
    // Numbers and receipts are no records. The remaining tables are secondary indexes, or used only where live and durable rows
    // lie in two stores.
    let Tables {
        ids: _,
        idempotency_records: _,
        held: _,
        holders: _,
        fences: _,
        decisions: _,
        holds: _,
        confirmed_holds: _,
        relay,
        stay,
        shop,
        calendar,
        ticket,
        tee,
        webhook,
    } = tables;
    let webhook::Tables { webhooks: _, events: _, deliveries: _, due: _ } = webhook;
    let tee::Tables {
        courses: _,
        slots: _,
        slot_times: _,
        slot_bookings: _,
        bookings: _,
        booking_keys: _,
        history: _,
        slot_replicas: _,
        by_slot: _,
        notifications: _,
        notices: _,
        inbox: _,
        imported: _,
    } = tee;
    let relay::Tables { relays: _, failed_publications: _ } = relay;
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

/// Returns the schemas of all durable tables.
pub fn durable_schemas() -> Vec<&'static TableSchema> {
    schemas(durable)
}

/// Returns the schemas of the live tables that SQL stores keep.
pub fn live_schemas() -> Vec<&'static TableSchema> {
    schemas(live)
}

/// Returns tables without rows, for visitors that need only the schemas.
pub fn empty() -> &'static Tables {
    static EMPTY: std::sync::LazyLock<Tables> = std::sync::LazyLock::new(Tables::default);
    &EMPTY
}

fn schemas(walk: fn(&'static Tables, &mut Collect)) -> Vec<&'static TableSchema> {
    let mut collect = Collect(Vec::new());
    walk(empty(), &mut collect);
    collect.0
}

struct Collect(Vec<&'static TableSchema>);

impl Visitor<'static> for Collect {
    fn visit<R: Record, S: Scan<R::Key>>(&mut self, _table: &'static Table<R::Key, R, S>) {
        self.0.push(R::SCHEMA);
    }
}
