//! Two servers on one PostgreSQL and one Redis: mutual visibility, death of a server between two steps, loss of Redis'
//! data, number of round trips.
#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod calendar;
mod calendar_faults;
mod compare;
mod faults;
mod keys;
mod loss;
mod near_term_slots;
mod shop;
mod shop_faults;
mod support;
mod tickets;
mod tickets_faults;
mod torn_reads;
mod trips;
mod two_servers;
