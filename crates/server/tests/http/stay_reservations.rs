//! Reservations: lists and cancellation.

use holdfast_client::ReservationStatus;
use holdfast_core::time::Span;
use holdfast_testkit::{Profile, profiles};

use crate::support::{code, day, placed, refused, with_app};

profiles!(reservation_cancel_frees_nights);
async fn reservation_cancel_frees_nights(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1).await;
        let hold = placed(app, 1, &room_type, day(1), day(3)).await;
        let number = app.guest(1).confirm_hold(hold.hold_id).await.unwrap().reservation_id;
        assert_eq!(code(app.guest(2).cancel_reservation(number).await), refused(403, "FORBIDDEN"));
        assert_eq!(code(app.guest(2).reservation(number).await), refused(403, "FORBIDDEN"));
        let cancelled = app.guest(1).cancel_reservation(number).await.unwrap();
        assert_eq!((cancelled.status, cancelled.cancelled_at.is_some()), (ReservationStatus::Cancelled, true));
        assert_eq!(code(app.guest(1).cancel_reservation(number).await), refused(409, "RESERVATION_ALREADY_CANCELLED"));
        assert_eq!(code(app.guest(1).cancel_reservation(999).await), refused(404, "RESERVATION_NOT_FOUND"));

        let hold = placed(app, 2, &room_type, day(1), day(3)).await;
        let number = app.guest(2).confirm_hold(hold.hold_id).await.unwrap().reservation_id;
        app.pass(Span::from_hours(12));
        assert_eq!(code(app.guest(2).cancel_reservation(number).await), refused(409, "RESERVATION_NOT_CANCELLABLE"));
    })
    .await;
}

profiles!(reservations_are_filtered_and_paged);
async fn reservations_are_filtered_and_paged(profile: Profile) {
    with_app(profile, async |app| {
        let (first, second) = (app.room_type(9).await, app.room_type(9).await);
        let mut numbers = Vec::new();
        for (user, room_type) in [(1, &first), (1, &second), (2, &first), (1, &first)] {
            let offset = i32::try_from(numbers.len()).unwrap();
            let hold = placed(app, user, room_type, day(offset + 1), day(offset + 2)).await;
            numbers.push(app.guest(user).confirm_hold(hold.hold_id).await.unwrap().reservation_id);
        }
        app.guest(1).cancel_reservation(numbers[3]).await.unwrap();
        let list = async |user: Option<u64>, query: &[(&str, String)]| -> Vec<u64> {
            let client = user.map_or(app.admin(), |user| app.guest(user));
            client.reservations(query).await.unwrap().items.iter().map(|it| it.reservation_id).collect()
        };
        let text = |value: u64| value.to_string();
        assert_eq!(list(Some(1), &[]).await, [numbers[0], numbers[1], numbers[3]], "a user's own");
        assert_eq!(list(None, &[("userId", text(2))]).await, [numbers[2]]);
        assert_eq!(list(None, &[("roomTypeId", text(first.id))]).await, [numbers[0], numbers[2], numbers[3]]);
        assert_eq!(list(None, &[("status", "CANCELLED".into())]).await, [numbers[3]]);
        let narrow = [("userId", text(1)), ("roomTypeId", text(first.id)), ("status", "CONFIRMED".into())];
        assert_eq!(list(None, &narrow).await, [numbers[0]]);
        let theirs = app.guest(1).reservations(&[("userId", text(2))]).await;
        assert_eq!(code(theirs.map(|_| ())), refused(403, "FORBIDDEN"));

        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let mut query = vec![("limit", "3".to_owned())];
            query.extend(cursor.map(|cursor| ("cursor", cursor)));
            let page = app.admin().reservations(&query).await.unwrap();
            seen.extend(page.items.iter().map(|it| it.reservation_id));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, numbers);
    })
    .await;
}
