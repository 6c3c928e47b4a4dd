//! Concurrent clients on the same slots.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use holdfast_client::{Error, SlotStatus};
use holdfast_testkit::{Profile, profiles};

use crate::support::{day, with_app};

profiles!(concurrent_locks_have_one_winner);
async fn concurrent_locks_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let tries = join_all((1..=200).map(|user| async move {
            let guest = app.guest(user);
            let lock = guest.lock_slots(room, day(1), &["09:00"]).await?;
            guest.confirm_lock(lock.lock_id).await
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = tries.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        assert!(lost.into_iter().all(|lost| lost.unwrap_err().code() == Some("SLOT_NOT_AVAILABLE")));
        let slot = &app.slots_on(room, day(1)).await[0];
        assert_eq!(slot.reservation_id, Some(won.into_iter().next().unwrap().unwrap().reservation_id));
    })
    .await;
}

profiles!(overlapping_slot_sets_are_never_split);
async fn overlapping_slot_sets_are_never_split(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room_with(&serde_json::json!({}), &crate::calendar_support::every_day("08:00", "20:00")).await;
        let times: Vec<String> = (8..20).map(|hour| format!("{hour:02}:00")).collect();
        let times = &times;
        let won = join_all((1..=64_usize).map(|user| async move {
            let guest = app.guest(user as u64);
            let mut mine = Vec::new();
            for round in 0..4 {
                let first = (user * 5 + round * 3) % 10;
                let asked: Vec<&str> = times[first..first + 3].iter().map(String::as_str).collect();
                let Ok(lock) = guest.lock_slots(room, day(1), &asked).await else { continue };
                assert_eq!(lock.slots.len(), 3, "all or none");
                match (user + round) % 3 {
                    0 => mine.push(guest.confirm_lock(lock.lock_id).await.expect("a live lock can be confirmed")),
                    1 => guest.release_lock(lock.lock_id).await.unwrap(),
                    _ => {}
                }
            }
            mine
        }))
        .await;
        let reserved: Vec<String> = won.into_iter().flatten().flat_map(|it| it.slots).map(|slot| slot.time).collect();
        assert_eq!(reserved.iter().collect::<BTreeSet<_>>().len(), reserved.len(), "nothing is sold twice");
        let shown = app.slots_on(room, day(1)).await;
        let sold = shown.iter().filter(|slot| slot.status == SlotStatus::Reserved).count();
        assert_eq!(sold, reserved.len());
    })
    .await;
}

profiles!(slot_is_blocked_or_sold_never_both);
async fn slot_is_blocked_or_sold_never_both(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        for days in 1..=8 {
            let selling = async {
                let lock = app.guest(1).lock_slots(room, day(days), &["09:00"]).await?;
                app.guest(1).confirm_lock(lock.lock_id).await?;
                Ok::<_, Error>(())
            };
            let body = serde_json::json!({"date": day(days), "times": ["09:00"], "status": "BLOCKED"});
            let path = format!("/v1/rooms/{room}/block");
            let (sold, blocked) = tokio::join!(selling, app.json("POST", &path, &body));
            assert_ne!(sold.is_ok(), blocked.status == 200, "{sold:?} {}", blocked.text);
        }
    })
    .await;
}

profiles!(concurrent_generation_creates_slots_once);
async fn concurrent_generation_creates_slots_once(profile: Profile) {
    with_app(profile, async |app| {
        let room = app.room().await;
        let made =
            join_all((0..8).map(|_| async move { app.admin().generate_slots(Some(room), Some(day(90))).await })).await;
        let made: u64 = made.into_iter().map(|made| made.unwrap().slots_created).sum();
        assert_eq!(made, 30 * 3);
        assert_eq!(app.admin().slots(room, day(0), day(90)).await.unwrap().len(), 91 * 3);
    })
    .await;
}
