//! `holdfast verify`: every kind of damage is found and reported.

use holdfast_client::NewRoomType;

use crate::support::{NIGHT, Process, new_hold, run, verify};

/// Creates a store with a held, a confirmed and a cancelled stay.
async fn store() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut process = Process::start(directory.path(), &[]);
    let room_type = process.client().create_room_type(&NewRoomType::new("객실", 3, 1)).await.unwrap();
    for user in 1..=3 {
        let guest = process.client().as_user(user);
        let hold = guest.place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
        if user > 1 {
            let reservation = guest.confirm_hold(hold.hold_id).await.unwrap();
            if user > 2 {
                guest.cancel_reservation(reservation.reservation_id).await.unwrap();
            }
        }
    }
    process.terminate();
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn sound_store_passes() {
    let directory = store().await;
    let (code, text) = verify(directory.path());
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("all is well, 7 records checked"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_counts_are_found() {
    let cases = [
        ("UPDATE room_type_stock SET reserved_count = 2", "2 counted as reserved, but 1 reservations found"),
        ("UPDATE room_type_stock SET reserved_count = 0", "0 counted as reserved, but 1 reservations found"),
        ("UPDATE room_type SET total_quantity = 1", "oversold: 1 reserved + 1 held of 1"),
        ("DELETE FROM stay_reservation WHERE cancelled_at IS NULL", "confirmed, but stay reservation 1 is not its own"),
        (
            "UPDATE stay_reservation SET hold_id = (SELECT hold_id FROM stay_reservation WHERE id = 1)",
            "confirmed twice",
        ),
        ("PRAGMA foreign_keys = OFF; DELETE FROM room_type", "the room type does not exist"),
        ("UPDATE hold SET expires_at = created_at, ends_at = created_at", "ends before it begins"),
    ];
    for (damage, expected) in cases {
        let directory = store().await;
        let connection = rusqlite::Connection::open(directory.path().join("holdfast.db")).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let (code, text) = verify(directory.path());
        assert_eq!(code, 1, "{damage}: {text}");
        assert!(text.contains(expected), "{damage}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn database_constraint_rejects_overselling() {
    let directory = store().await;
    let connection = rusqlite::Connection::open(directory.path().join("holdfast.db")).unwrap();
    let error = connection.execute("UPDATE room_type_stock SET reserved_count = 4", []).unwrap_err().to_string();
    assert!(error.contains("room_type_stock_not_oversold"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_files_are_rejected() {
    let directory = store().await;
    let file = directory.path().join("holdfast.db");
    let serve = || run(&["serve", "--listen", "127.0.0.1:0", "--data", directory.path().to_str().unwrap()]);
    let sound = std::fs::read(&file).unwrap();

    let mut torn = sound.clone();
    for byte in torn.iter_mut().skip(4_096 * 3).take(4_096 * 4) {
        *byte = 0x5a;
    }
    std::fs::write(&file, &torn).unwrap();
    let (code, text) = serve();
    assert!(code == 2 && text.contains("is damaged") && text.contains("restore it from a backup"), "{text}");
    let (code, text) = verify(directory.path());
    assert!(code == 1 && text.contains("is damaged"), "{text}");

    std::fs::write(&file, b"this is not a database, however long it may go on and on").unwrap();
    let (code, text) = serve();
    assert!(code == 2 && text.contains("is not a Holdfast store"), "{text}");

    std::fs::write(&file, &sound).unwrap();
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let (code, text) = serve();
    assert!(code == 2 && text.contains("was written by a newer Holdfast (schema 99"), "{text}");

    std::fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
    let (code, text) = serve();
    assert!(code == 2 && text.contains("is not a Holdfast store"), "{text}");
}

#[test]
fn verify_creates_no_store() {
    let directory = tempfile::tempdir().unwrap();
    let (code, text) = verify(directory.path());
    assert!(code == 2 && text.contains("there is no store in"), "{text}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
