//! SIGKILL under load: no acknowledged result is lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdfast_client::{Client, HoldStatus, NewRoomType, ReservationStatus, RoomType};
use jiff::civil::Date;
use uuid::Uuid;

use crate::support::{NIGHT, Process, new_hold, verify};

const ROUNDS: u32 = 20;
const CLIENTS: u64 = 16;
const ROOMS: u32 = 40;
const NIGHTS: u64 = 5;

/// Results that were answered to clients, and must persist.
#[derive(Default)]
struct Told {
    holds: Vec<(u64, Uuid, HoldStatus)>,
    reservations: Vec<(u64, u64, ReservationStatus)>,
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_results_survive_kills() {
    let directory = tempfile::tempdir().unwrap();
    let (people, told) = (Arc::new(AtomicU64::new(1)), Arc::new(Mutex::new(Told::default())));
    let room_type = {
        let process = Process::start(directory.path(), &[]);
        process.client().create_room_type(&NewRoomType::new("객실", ROOMS, 1)).await.unwrap()
    };
    for round in 0..ROUNDS {
        let process = Process::start(directory.path(), &[]);
        check_everything_told_is_still_so(&process.client(), &told).await;
        let stop = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let work = Work {
                    server: process.client(),
                    room_type: room_type.clone(),
                    people: people.clone(),
                    told: told.clone(),
                    stop: stop.clone(),
                };
                tokio::spawn(work.until_the_server_is_gone())
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(120 + u64::from(round) * 7)).await;
        process.kill_9();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.await.unwrap();
        }
        let (code, findings) = verify(directory.path());
        assert_eq!(code, 0, "after round {round}: {findings}");
    }
    let told = told.lock().unwrap();
    let (holds, reservations) = (told.holds.len(), told.reservations.len());
    println!("{ROUNDS} rounds: {holds} holds and {reservations} reservations were acknowledged");
    assert!(holds > 100 && reservations > 10, "there was load: {holds} holds, {reservations} reservations");
}

struct Work {
    server: Client,
    room_type: RoomType,
    people: Arc<AtomicU64>,
    told: Arc<Mutex<Told>>,
    stop: Arc<AtomicBool>,
}

impl Work {
    /// Holds, then confirms, cancels or leaves; records answered results only.
    async fn until_the_server_is_gone(self) {
        while !self.stop.load(Ordering::Relaxed) {
            let user = self.people.fetch_add(1, Ordering::Relaxed);
            let server = self.server.as_user(user);
            let night = night(user);
            let hold = match server.place_hold(&new_hold(&self.room_type, night)).await {
                Ok(hold) => hold,
                Err(error) if error.code() == Some("ROOM_NOT_AVAILABLE") => continue,
                Err(_) => return,
            };
            // The outcome of a request without an answer is unknown, so it is not checked.
            match user % 4 {
                0 => {
                    let Ok(reservation) = server.confirm_hold(hold.hold_id).await else { return };
                    let number = reservation.reservation_id;
                    if user.is_multiple_of(8) {
                        let Ok(_) = server.cancel_reservation(number).await else { return };
                        self.told.lock().unwrap().reservations.push((user, number, ReservationStatus::Cancelled));
                    } else {
                        self.told.lock().unwrap().reservations.push((user, number, ReservationStatus::Confirmed));
                    }
                    self.told.lock().unwrap().holds.push((user, hold.hold_id, HoldStatus::Confirmed));
                }
                1 | 2 => {
                    let Ok(()) = server.cancel_hold(hold.hold_id).await else { return };
                    self.told.lock().unwrap().holds.push((user, hold.hold_id, HoldStatus::Cancelled));
                }
                _ => self.told.lock().unwrap().holds.push((user, hold.hold_id, HoldStatus::Held)),
            }
        }
    }
}

fn night(user: u64) -> Date {
    NIGHT.saturating_add(jiff::Span::new().days(i64::try_from(user % NIGHTS).unwrap()))
}

async fn check_everything_told_is_still_so(server: &Client, told: &Mutex<Told>) {
    let (holds, reservations) = {
        let told = told.lock().unwrap();
        (told.holds.clone(), told.reservations.clone())
    };
    // All new holds, and a sample of older ones.
    for (user, id, status) in holds.iter().rev().take(400) {
        assert_eq!(server.as_user(*user).hold(*id).await.unwrap().status, *status, "hold {id}");
    }
    for (user, number, status) in reservations.iter().rev().take(200) {
        let found = server.as_user(*user).reservation(*number).await.unwrap();
        assert_eq!((found.status, found.user_id), (*status, (*user).into()), "reservation {number}");
    }
}
