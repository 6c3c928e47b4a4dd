//! Query plans: every statement of a batch finds its rows by key, on tables without statistics, at any size of table
//! and batch.

use holdfast_core::id::UserId;
use holdfast_core::schema::Order;
use holdfast_core::schema::stay::StayReservationFilter;
use holdfast_core::stay::{RoomTypeId, StayReservationId};
use holdfast_testkit::postgres;
use tokio_postgres::{Client, NoTls};

use crate::connection::{Purpose, session_settings};
use crate::readers::CONTROL;
use crate::{PostgresOptions, PostgresStore, records, shared};

const ROWS: usize = 100_000;

/// Connects with the session settings of this purpose.
async fn connect(url: &str, purpose: Purpose) -> Client {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(&session_settings(purpose)).await.unwrap();
    client
}

/// Creates large tables without statistics.
async fn fill(client: &Client) {
    client
        .batch_execute(&format!(
            "BEGIN READ WRITE;
             SET LOCAL statement_timeout = 0;
             INSERT INTO room_type SELECT n, 'twin', NULL, 10, 1, 'KRW', 'UTC' FROM generate_series(1, {ROWS}) n;
             INSERT INTO room_type_stock SELECT n, '2030-01-01', 10, 0, false FROM generate_series(1, {ROWS}) n;
             INSERT INTO stay_reservation SELECT n, gen_random_uuid(), 0, n % 1000, 1 + n % 50, '2030-01-01', '2030-01-02',
                 1, 1, 'KRW', now(), CASE WHEN n % 100 = 0 THEN now() END FROM generate_series(1, {ROWS}) n;
             INSERT INTO room SELECT n, 'room', 'UTC', 'KR', 'KRW', 60, 1, '', 0, true, NULL, NULL
                 FROM generate_series(1, {ROWS}) n;
             INSERT INTO operating_hours SELECT n, '', '', NULL, NULL, NULL, false FROM generate_series(1, {ROWS}) n;
             INSERT INTO holiday SELECT 'KR', '2030-01-01'::date + n FROM generate_series(1, {ROWS}) n;
             INSERT INTO room_reservation SELECT n, gen_random_uuid(), 0, 1 + n % 50, n % 1000, 1, 'KRW', '2030-01-01',
                 '2030-01-02', now(), NULL FROM generate_series(1, {ROWS}) n;
             INSERT INTO room_reservation_slot SELECT n, 0, '2030-01-01', 540, 60, 1 FROM generate_series(1, {ROWS}) n;
             SELECT make_months('time_slots', ARRAY['2030-01-01', '2030-02-01', '2030-03-01', '2030-04-01']::date[]);
             INSERT INTO time_slots SELECT n, '2030-01-01'::date + n % 120, 540, 60, 'AVAILABLE', NULL, 1, 1, false, false,
                 false FROM generate_series(1, {ROWS}) n;
             INSERT INTO hold SELECT gen_random_uuid(), 'STAY', now(), 'KRW', n, ends_at, NULL, ends_at,
                 CASE WHEN n % 2 = 1 THEN 'CONFIRMED' ELSE 'HELD' END, NULL, 0, 0, 0, '', NULL, NULL
                 FROM (SELECT n, '2026-01-01'::timestamptz + n * interval '1 s' + (n % 100 = 0)::int * interval '90 years'
                     AS ends_at FROM generate_series(1, {ROWS}) n) AS hold_ends;
             INSERT INTO slot_generation_log SELECT n, n, '2030-01-01', 1, '2030-01-01', now()
                 FROM generate_series(1, {ROWS}) n;
             INSERT INTO ticket_event SELECT n, 'KRW', 1, 'concert', NULL, NULL, 800, true, 10, false, 1
                 FROM generate_series(1, {ROWS}) n;
             INSERT INTO seat_plan SELECT n, 1 FROM generate_series(1, {ROWS}) n;
             INSERT INTO seat SELECT n, 0, 'A1', NULL, 1 FROM generate_series(1, {ROWS}) n;
             INSERT INTO event_sales SELECT n, 1 FROM generate_series(1, {ROWS}) n;
             INSERT INTO seat_reservation SELECT n, gen_random_uuid(), 0, n, n % 1000, 1, 'KRW', now(), NULL
                 FROM generate_series(1, {ROWS}) n;
             INSERT INTO seat_reservation_seat SELECT n, 0, n::bigint * 1000000 + 1, 'A1', NULL, 1
                 FROM generate_series(1, {ROWS}) n;
             INSERT INTO sold_seat SELECT n::bigint * 1000000 + 1, n FROM generate_series(1, {ROWS}) n;
             INSERT INTO event_buyer SELECT n, 1, 1 FROM generate_series(1, {ROWS}) n;
             INSERT INTO idempotency_key SELECT 'c', n::text, '', '', now() FROM generate_series(1, {ROWS}) n;
             INSERT INTO hold_decision SELECT gen_random_uuid(), 1, true, now() FROM generate_series(1, {ROWS}) n;
             INSERT INTO outbox SELECT n, 't', NULL, now(), NULL, NULL, false FROM generate_series(1, {ROWS}) n;
             COMMIT"
        ))
        .await
        .unwrap();
}

async fn plan(client: &Client, sql: &str) -> String {
    let statement = client.prepare(sql).await.unwrap();
    let types: Vec<_> = statement.params().iter().map(|kind| format!("NULL::{}", sql_name(kind.name()))).collect();
    client.batch_execute(&format!("PREPARE asked AS {sql}")).await.unwrap();
    let arguments = if types.is_empty() { String::new() } else { format!("({})", types.join(", ")) };
    let lines = client.query(&format!("EXPLAIN EXECUTE asked{arguments}"), &[]).await.unwrap();
    client.batch_execute("DEALLOCATE asked").await.unwrap();
    lines.iter().map(|line| line.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// `_int8` is PostgreSQL's name of an array type.
fn sql_name(name: &str) -> String {
    name.strip_prefix('_').map_or_else(|| name.to_owned(), |element| format!("{element}[]"))
}

#[tokio::test]
async fn batch_statements_use_indexes() {
    let database = postgres().database();
    drop(PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap());
    let client = connect(database.url(), Purpose::ByKey).await;
    fill(&client).await;
    let all = [&crate::tier::statements()[..], shared::PURGES, &records::purges()].concat();
    // A COPY has no plan. The installation is a table of one row.
    let has_plan = |sql: &&str| !CONTROL.contains(sql) && !sql.starts_with("COPY ") && *sql != shared::INSTALLATION;
    for sql in all.into_iter().filter(has_plan) {
        let plan = plan(&client, sql).await;
        assert!(!plan.contains("Seq Scan"), "{sql}\n{plan}");
        assert!(!plan.contains("Hash Join") && !plan.contains("Merge Join"), "{sql}\n{plan}");
    }
}

/// One hold in a hundred is live, among ended and confirmed ones.
#[tokio::test]
async fn purge_finds_holds_by_their_end() {
    let database = postgres().database();
    drop(PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap());
    let client = connect(database.url(), Purpose::ByKey).await;
    fill(&client).await;
    for analyse in ["", "BEGIN READ WRITE; SET LOCAL statement_timeout = 0; ANALYZE hold; COMMIT"] {
        client.batch_execute(analyse).await.unwrap();
        let plan = plan(&client, records::PURGE_HOLDS).await;
        assert!(plan.contains("hold_by_end") && !plan.contains("Seq Scan"), "{analyse}\n{plan}");
    }
}

/// A range of slots reads the partitions of its months only.
#[tokio::test]
async fn slot_range_prunes_partitions() {
    let database = postgres().database();
    drop(PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap());
    let client = connect(database.url(), Purpose::ByKey).await;
    fill(&client).await;
    let sql = records::reads().into_iter().find(|sql| sql.contains("FROM time_slots WHERE")).unwrap();
    client.batch_execute(&format!("PREPARE asked AS {sql}")).await.unwrap();
    let asked = "EXPLAIN (ANALYZE, COSTS off) EXECUTE asked(5, '2030-02-03', 0, 5, '2030-02-05', 1439)";
    let lines = client.query(asked, &[]).await.unwrap();
    let plan = lines.iter().map(|line| line.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
    assert!(plan.contains("time_slots_2030_02") && !plan.contains("time_slots_2030_03"), "{plan}");
    assert!(plan.contains("Subplans Removed: 3"), "{plan}");
}

#[tokio::test]
async fn lists_use_their_indexes() {
    let database = postgres().database();
    drop(PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap());
    fill(&connect(database.url(), Purpose::ByKey).await).await;
    let client = connect(database.url(), Purpose::Lists).await;
    // With and without statistics.
    for (analysed, order) in [false, true].into_iter().flat_map(|it| [(it, Order::Ascending), (it, Order::Descending)])
    {
        if analysed {
            let analyse = "BEGIN READ WRITE; SET LOCAL statement_timeout = 0; ANALYZE stay_reservation; COMMIT";
            client.batch_execute(analyse).await.unwrap();
        }
        for (user, room_type, confirmed, index) in [
            (false, false, None, "stay_reservation_pk"),
            (false, false, Some(true), "stay_reservation_pk"),
            (false, false, Some(false), "stay_reservation_cancelled"),
            (true, false, None, "stay_reservation_by_user"),
            (true, false, Some(true), "stay_reservation_by_user"),
            (true, true, None, "stay_reservation_by_user"),
            (true, true, Some(true), "stay_reservation_by_user"),
            (false, true, None, "stay_reservation_by_room_type"),
            (false, true, Some(true), "stay_reservation_by_room_type"),
        ] {
            let filter = StayReservationFilter {
                user: user.then(|| UserId::new(7).unwrap()),
                room_type: room_type.then(|| RoomTypeId::new(7).unwrap()),
                confirmed,
            };
            let list = filter.list(StayReservationId::new(5_000), 51).ordered(order);
            let (sql, _) = records::list_sql(&list);
            // Parameters in order: the user or room type if there is one, the key, the rest.
            let (by, after) = if user || room_type { ("$1", "$2") } else { ("$9", "$1") };
            let sql = sql.replace(by, "'7'").replace(after, "5000").replace("$3", "'7'");
            let lines = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
            let plan = lines.iter().map(|line| line.get::<_, String>(0)).collect::<Vec<_>>().join("\n");
            assert!(plan.contains(index), "analysed: {analysed}, {sql}\n{plan}");
        }
    }
}
