//! Concurrent clients on the same seats.

use std::collections::HashSet;

use futures_util::future::join_all;
use holdfast_client::{Error, NewEvent, NewSeat, SeatStatus};
use holdfast_testkit::{Profile, profiles};

use crate::support::{code, refused, with_app};
use crate::tickets::{map, open_event, seat};

profiles!(concurrent_seat_holds_have_one_winner);
async fn concurrent_seat_holds_have_one_winner(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 2).await;
        let one = [seat(&event, 1)];
        let (event_id, one) = (event.id, &one);
        let held = join_all((1..=200).map(|user| async move { app.guest(user).hold_seats(event_id, one).await })).await;
        assert_eq!(held.iter().filter(|tried| tried.is_ok()).count(), 1);
        for lost in held.into_iter().filter(Result::is_err) {
            assert_eq!(code(lost), refused(409, "SEAT_HELD_BY_ANOTHER"));
        }
        let two = [seat(&event, 2)];
        let two = &two;
        let sold = join_all((1..=200).map(|user| async move { app.guest(user).reserve_seats(event_id, two).await }));
        assert_eq!(sold.await.iter().filter(|tried| tried.is_ok()).count(), 1);
        assert_eq!(map(app, &event).await, "hR");
    })
    .await;
}

profiles!(overlapping_seats_never_split_or_deadlock);
async fn overlapping_seats_never_split_or_deadlock(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 12).await;
        let (event_id, event) = (event.id, &event);
        for round in 0..4_u64 {
            let tries = join_all((1..=24_u64).map(|user| async move {
                // Three seats per user, overlapping those of the neighbours, half of them in reverse order.
                let first = (user + round) % 10 + 1;
                let mut seats: Vec<u64> = (first..first + 3).map(|position| seat(event, position)).collect();
                if user % 2 == 0 {
                    seats.reverse();
                }
                app.guest(100 * round + user).hold_seats(event_id, &seats).await
            }));
            let mut taken = HashSet::new();
            let mut holds = Vec::new();
            for tried in tries.await {
                match tried {
                    Ok(hold) => {
                        assert_eq!(hold.seats.len(), 3, "all or none");
                        assert!(hold.seats.iter().all(|seat| taken.insert(seat.id)), "no seat twice");
                        holds.push((hold.user_id, hold.hold_id));
                    }
                    Err(Error::Problem(problem)) => assert_eq!(problem.code, "SEAT_HELD_BY_ANOTHER"),
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(!holds.is_empty());
            let held = map(app, event).await.chars().filter(|delivery_request| *delivery_request == 'h').count();
            assert_eq!(held, taken.len());
            for (user, hold) in holds {
                app.guest(user).cancel_seat_hold(hold).await.unwrap();
            }
        }
        assert_eq!(map(app, event).await, "............");
    })
    .await;
}

profiles!(sale_sells_each_seat_once);
async fn sale_sells_each_seat_once(profile: Profile) {
    with_app(profile, async |app| {
        let event = open_event(app, 60).await;
        let (event_id, event) = (event.id, &event);
        join_all((1..=90_u64).map(|user| async move {
            let guest = app.guest(user);
            match user % 3 {
                0 => drop(guest.reserve_seats(event_id, &[seat(event, user % 60 + 1)]).await),
                1 => {
                    if let Ok(hold) = guest.hold_seats(event_id, &[seat(event, user % 60 + 1)]).await {
                        guest.confirm_seat_hold(hold.hold_id).await.expect("a live hold can always be confirmed");
                    }
                }
                _ => {
                    if let Ok(hold) = guest.hold_best(event_id, 2, None).await {
                        guest.confirm_seat_hold(hold.hold_id).await.expect("a live hold can always be confirmed");
                    }
                }
            }
        }))
        .await;
        // A request answered with 503 may still be carried out: the counts must agree once all requests have ended.
        let mut last = String::new();
        for _ in 0..50 {
            let seats = app.admin().seats(event_id).await.unwrap();
            let count = |status| seats.iter().filter(|seat| seat.status == status).count();
            let (reserved, held) = (count(SeatStatus::Reserved), count(SeatStatus::Held));
            let listed = app.admin().seat_reservations(&[("limit", "500".into())]).await.unwrap().items;
            let listed: usize = listed.iter().map(|reservation| reservation.seats.len()).sum();
            let remaining = app.admin().event(event_id).await.unwrap().remaining_seats as usize;
            if (listed, remaining) == (reserved, 60 - reserved - held) {
                return;
            }
            last = format!("{reserved} reserved, {held} held, {listed} listed, {remaining} remaining");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        panic!("the remaining count does not agree: {last}");
    })
    .await;
}

profiles!(event_may_have_50000_seats);
async fn event_may_have_50000_seats(profile: Profile) {
    with_app(profile, async |app| {
        let seat = |number: u32| NewSeat {
            label: format!("{}-{}", number / 50, number % 50),
            section: Some(format!("구역 {}", number / 1_000)),
            price: 50_000,
        };
        let new = NewEvent { name: "대공연".into(), seats: (0..50_000).map(seat).collect(), ..NewEvent::default() };
        let event = app.admin().create_event(&new.without_queue()).await.unwrap();
        assert_eq!(event.seat_count, 50_000);
        let hold = app.guest(1).hold_best(event.id, 4, Some("구역 7")).await.unwrap();
        assert_eq!(hold.seats[0].label, "140-0");
        let last = event.id * 1_000_000 + 50_000;
        app.guest(1).reserve_seats(event.id, &[last]).await.unwrap();
        let began = std::time::Instant::now();
        let seats = app.admin().seats(event.id).await.unwrap();
        eprintln!("{:?}: 50,000 seats shown in {:?}", app.profile, began.elapsed());
        assert_eq!(seats.len(), 50_000);
        assert_eq!(seats[49_999].status, SeatStatus::Reserved);
        assert_eq!(seats.iter().filter(|seat| seat.status == SeatStatus::Held).count(), 4);
        assert_eq!(app.admin().event(event.id).await.unwrap().remaining_seats, 49_995);
    })
    .await;
}
