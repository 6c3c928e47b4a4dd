//! Holds to place: users, room types, nights.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, ensure};
use jiff::civil::{Date, date};

use super::http::{Connection, Scenario};

pub(crate) const ROOM_TYPES: u64 = 1_000;
/// Nights of one room type over which holds are spread.
pub(crate) const DAYS: u64 = 60;
/// Capacity of every room type: more than a run can hold.
pub(crate) const QUANTITY: u64 = 1_000_000;

pub(crate) const FIRST_DATE: Date = date(2_099, 1, 1);
pub(crate) const HOT_DATE: Date = date(2_099, 12, 24);

/// A room type and a date.
pub(crate) type Night = (u64, Date);

/// The one night of the contention scenarios.
pub(crate) fn hot_night(_person: u64) -> Night {
    (1, HOT_DATE)
}

/// Scattered like a hash, the same in every run.
pub(crate) fn spread_night(user: u64) -> Night {
    let scattered = user.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let day = FIRST_DATE.saturating_add(jiff::Span::new().days((scattered / ROOM_TYPES % DAYS) as i64));
    (1 + scattered % ROOM_TYPES, day)
}

pub(crate) fn hold_json(user: u64, (room_type, night): Night, into: &mut Vec<u8>) {
    use std::io::Write as _;
    let (key, morning) = (client_key(user), night.tomorrow().expect("a next day"));
    write!(
        into,
        r#"{{"roomTypeId":{room_type},"checkIn":"{night}","checkOut":"{morning}","userId":{user},"clientHoldKey":"{key}"}}"#
    )
    .expect("writing to memory");
}

/// Client key of a user's hold.
pub(crate) fn client_key(user: u64) -> uuid::Uuid {
    uuid::Uuid::from_u64_pair(0x4000, (1 << 63) | user)
}

/// Clients that each place one hold.
pub(crate) struct PlaceHold {
    /// Last user number; no two requests come from the same user.
    pub users: Arc<AtomicU64>,
    pub night: fn(u64) -> Night,
    /// Also confirms the hold.
    pub confirm: bool,
}

impl Scenario for PlaceHold {
    async fn round(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let user = self.users.fetch_add(1, Ordering::Relaxed) + 1;
        let mut body = Vec::with_capacity(256);
        hold_json(user, (self.night)(user), &mut body);
        let status = connection.post("/v1/holds", Some(user), &body).await?;
        ensure!(status == 201, "a hold was answered with {status}: {}", String::from_utf8_lossy(connection.body()));
        if self.confirm {
            // The id is the first member of the response.
            let id = connection.body().get(11..47).context("an answer without an id")?;
            let path = format!("/v1/holds/{}/confirm", std::str::from_utf8(id)?);
            let status = connection.post(&path, Some(user), b"").await?;
            ensure!(status == 201, "a confirm was answered with {status}");
        }
        Ok(())
    }
}

/// Creates the room types 1 to [`ROOM_TYPES`], in an empty store.
pub(crate) async fn create_room_types(address: std::net::SocketAddr) -> anyhow::Result<()> {
    let mut connection = Connection::open(address).await?;
    let body = format!(r#"{{"name":"room","totalQuantity":{QUANTITY},"basePrice":90000}}"#);
    for _ in 0..ROOM_TYPES {
        let status = connection.post("/v1/room-types", None, body.as_bytes()).await?;
        ensure!(status == 201, "a room type was answered with {status}");
    }
    Ok(())
}
