//! Opening: exclusion and rejections.

use holdfast_engine::Store as _;
use holdfast_store_postgres::{OpenError, PostgresOptions, PostgresStore};
use holdfast_testkit::postgres;

use crate::support::{connect, database, number, open};

#[tokio::test]
async fn second_server_is_rejected_with_advice() {
    let database = database();
    let (store, _) = open(database.url()).await;
    let second = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(second, OpenError::InUse), "{second}");
    assert!(second.to_string().contains("`server.redis_url`"), "{second}");
    drop(store);
    open(database.url()).await;
}

#[tokio::test]
async fn concurrent_starts_migrate_once() {
    let database = postgres().database();
    let opening = (0..4).map(|_| {
        let options = PostgresOptions::new(database.url());
        tokio::spawn(PostgresStore::open(options))
    });
    let opening: Vec<_> = opening.collect();
    let mut opened = Vec::new();
    for store in opening {
        match store.await.unwrap() {
            Ok(store) => opened.push(store),
            Err(error) => assert!(matches!(error, OpenError::InUse), "{error}"),
        }
    }
    assert_eq!(opened.len(), 1);
    opened[0].check().await.unwrap();
    let client = connect(database.url()).await;
    let once = "SELECT count(*) - count(DISTINCT version) FROM holdfast_schema_history";
    assert_eq!(number(&client, once).await, 0, "each migration once");
}

#[tokio::test]
async fn installations_have_ids_that_last() {
    let databases = [postgres().database(), postgres().database()];
    let mut ids = Vec::new();
    for database in databases.iter().chain(&databases) {
        let (store, _) = open(database.url()).await;
        ids.push(store.installation().await.unwrap());
    }
    assert!(ids[0].len() == 32 && ids[0] != ids[1] && ids[..2] == ids[2..], "{ids:?}");
}

#[tokio::test]
async fn a_database_of_something_else_is_refused() {
    let database = postgres().database();
    connect(database.url()).await.batch_execute("CREATE TABLE theirs (id int)").await.unwrap();
    let error = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::NotAStore), "{error}");
}

#[tokio::test]
async fn newer_schema_is_rejected() {
    let database = database();
    let newer = "INSERT INTO holdfast_schema_history VALUES (99, 'later', '2030-01-01T00:00:00Z', '1')";
    connect(database.url()).await.batch_execute(newer).await.unwrap();
    let error = PostgresStore::open(PostgresOptions::new(database.url())).await.unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn unreachable_database_is_rejected_at_once() {
    let began = std::time::Instant::now();
    let error = PostgresStore::open(PostgresOptions::new("postgres://postgres@127.0.0.1:1/none")).await.unwrap_err();
    assert!(matches!(error, OpenError::Unavailable(_)), "{error}");
    let error = PostgresStore::open(PostgresOptions::new("not an address")).await.unwrap_err();
    assert!(matches!(error, OpenError::BadUrl(_)), "{error}");
    assert!(began.elapsed().as_secs() < 3);
}
