//! A store that rejects writes: another process locks the file.

use std::time::Duration;

use holdfast_client::HoldStatus;
use holdfast_testkit::Profile;

use crate::readiness::until_ready_is;
use crate::support::{TestApp, code, day, new_hold, placed, refused, with_app};

#[tokio::test(flavor = "multi_thread")]
async fn failed_commit_fails_its_batch_only() {
    with_app(Profile::Embedded, async |app: &TestApp| {
        let room_type = app.room_type(3).await;
        let before = placed(app, 1, &room_type, day(1), day(2)).await;
        let blocker = rusqlite::Connection::open(app.file()).unwrap();
        blocker.execute_batch("BEGIN IMMEDIATE").unwrap();

        let first = async { code(app.guest(2).place_hold(&new_hold(&room_type, day(1), day(2))).await) };
        let second = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            code(app.guest(3).place_hold(&new_hold(&room_type, day(1), day(2))).await)
        };
        let reading = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            app.guest(1).hold(before.hold_id).await.expect("reads succeed meanwhile").status
        };
        let (first, second, status) = tokio::join!(first, second, reading);
        assert_eq!(first, refused(503, "STORE_UNAVAILABLE"));
        assert_eq!(second, refused(409, "LOCK_TIMEOUT"), "the second command was never decided");
        assert_eq!(status, HoldStatus::Held);
        until_ready_is(app, 503).await;

        blocker.execute_batch("ROLLBACK").unwrap();
        placed(app, 4, &room_type, day(1), day(2)).await;
        until_ready_is(app, 200).await;
        let night = &app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0];
        assert_eq!(night.hold_count, 2, "rejected requests hold nothing");
    })
    .await;
}
