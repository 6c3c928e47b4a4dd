//! Concurrent clients.

use std::collections::HashSet;

use futures_util::future::join_all;
use holdfast_client::Error;
use holdfast_testkit::{Profile, profiles};

use crate::support::{day, new_hold, with_app};

profiles!(concurrent_holds_fill_rooms_exactly);
async fn concurrent_holds_fill_rooms_exactly(profile: Profile) {
    with_app(profile, async |app| {
        const ROOMS: u32 = 37;
        let room_type = app.room_type(ROOMS).await;
        let room_type = &room_type;
        let stays = join_all((1..=200).map(|user| async move {
            let guest = app.guest(user);
            let hold = guest.place_hold(&new_hold(room_type, day(1), day(4))).await?;
            let reservation = guest.confirm_hold(hold.hold_id).await?;
            Ok::<_, Error>((user, reservation.reservation_id))
        }))
        .await;
        let (won, lost): (Vec<_>, Vec<_>) = stays.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), ROOMS as usize);
        assert!(lost.into_iter().all(|stay| stay.unwrap_err().code() == Some("ROOM_NOT_AVAILABLE")));
        let numbers: HashSet<_> = won.into_iter().map(|stay| stay.unwrap().1).collect();
        assert_eq!(numbers.len(), ROOMS as usize);
        let shown = app.admin().availability(room_type.id, day(1), day(4)).await.unwrap();
        assert!(shown.nights.iter().all(|night| (night.reserved_count, night.hold_count) == (ROOMS, 0)));
    })
    .await;
}

profiles!(overlapping_stays_never_oversell_or_leak);
async fn overlapping_stays_never_oversell_or_leak(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(3).await;
        let room_type = &room_type;
        join_all((1..=64_u64).map(|user| async move {
            let guest = app.guest(user);
            for round in 0..6 {
                let first = i32::try_from((user * 7 + round * 3) % 10).unwrap();
                let Ok(hold) = guest.place_hold(&new_hold(room_type, day(1 + first), day(4 + first))).await else {
                    continue;
                };
                match (user + round) % 3 {
                    0 => drop(guest.confirm_hold(hold.hold_id).await.expect("a live hold can always be confirmed")),
                    1 => guest.cancel_hold(hold.hold_id).await.unwrap(),
                    _ => {}
                }
            }
        }))
        .await;
        app.pass(holdfast_core::time::Span::from_secs(601));
        let shown = app.admin().availability(room_type.id, day(1), day(15)).await.unwrap();
        for night in shown.nights {
            assert!(night.reserved_count <= 3, "{night:?}");
            assert_eq!((night.hold_count, night.available), (0, 3 - night.reserved_count), "{}", night.date);
        }
    })
    .await;
}

profiles!(concurrent_confirms_have_one_winner);
async fn concurrent_confirms_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let hold = app.guest(1).place_hold(&new_hold(&room_type, day(1), day(2))).await.unwrap();
        let tries = join_all((0..50).map(|_| async { app.guest(1).confirm_hold(hold.hold_id).await })).await;
        let won: Vec<_> = tries.iter().filter_map(|attempt| attempt.as_ref().ok()).collect();
        assert_eq!(won.len(), 1);
        for lost in tries.iter().filter_map(|attempt| attempt.as_ref().err()) {
            let Error::Problem(problem) = lost else { panic!("{lost}") };
            assert_eq!(problem.extra["reservationId"], won[0].reservation_id);
        }
    })
    .await;
}

profiles!(caller_reads_its_own_writes);
async fn caller_reads_its_own_writes(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1_000).await;
        let room_type = &room_type;
        join_all((1..=32).map(|user| async move {
            let guest = app.guest(user);
            for days in 0..10 {
                let hold = guest.place_hold(&new_hold(room_type, day(days), day(days + 1))).await.unwrap();
                assert_eq!(guest.hold(hold.hold_id).await.unwrap(), hold);
                let reservation = guest.confirm_hold(hold.hold_id).await.unwrap();
                assert_eq!(guest.reservation(reservation.reservation_id).await.unwrap(), reservation);
                let listed = guest.reservations(&[]).await.unwrap().items;
                assert_eq!(listed.last(), Some(&reservation));
                let night = &guest.availability(room_type.id, day(days), day(days + 1)).await.unwrap().nights[0];
                assert!(night.reserved_count >= 1 && night.available <= 999);
                assert_eq!(night.available, 1_000 - night.reserved_count - night.hold_count, "never half of a batch");
            }
        }))
        .await;
    })
    .await;
}
