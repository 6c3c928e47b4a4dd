//! A panic of a server is counted, and fails the test that runs the server.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use holdfast_core::command::writes;
use holdfast_core::{Command, Context, Decision, WorkingSet};
use holdfast_testkit::{Profile, profiles};

use crate::support::{TestApp, take_panics, with_app};

/// A command that breaks an invariant.
#[derive(Debug)]
struct Panicking;

impl Command for Panicking {
    type Outcome = ();
    const NAME: &'static str = "panic on purpose";
    type Writes = writes::Durable;

    fn decide(&self, _: &mut WorkingSet, _: &Context<'_>) -> Decision<()> {
        panic!("a command panicked on purpose")
    }
}

/// Panics on purpose on a thread of the engine, in a job, and on a thread of neither.
async fn provoke(app: &TestApp) {
    assert!(app.app().engine().run(Panicking, None).await.is_err());
    app.app().spawn(async { panic!("a job panicked on purpose") }).await.unwrap_err();
    let thread = holdfast_engine::panics::inherit(|| panic!("a thread panicked on purpose"));
    std::thread::spawn(thread).join().unwrap_err();
}

profiles!(panics_are_counted_in_the_metrics);
async fn panics_are_counted_in_the_metrics(profile: Profile) {
    with_app(profile, async |app| {
        let metrics = app.send("GET", "/metrics", &[], "").await.text;
        let count = |metrics: &str| {
            let line = metrics.lines().find_map(|line| line.strip_prefix("holdfast_panics_total "));
            line.expect("the metric is there before the first panic").parse::<u64>().unwrap()
        };
        let before = count(&metrics);
        provoke(app).await;
        let panics = take_panics();
        assert_eq!(panics.len(), 3, "{panics:?}");
        for (panic, of) in panics.iter().zip(["a command", "a job", "a thread"]) {
            assert!(panic.starts_with(&format!("{of} panicked on purpose at ")), "{panic}");
        }
        // Other tests of this process may panic on purpose, too.
        assert!(count(&app.send("GET", "/metrics", &[], "").await.text) >= before + 3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_of_a_server_fails_its_test() {
    let test = with_app(Profile::Embedded, provoke);
    let failed = AssertUnwindSafe(test).catch_unwind().await.unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    assert!(message.contains("the server panicked"), "{message}");
    assert!(message.contains("a command panicked on purpose at "), "{message}");
}

/// Two tests at the same time, on runtimes of their own as tests have them.
#[test]
fn panic_fails_no_other_test() {
    let run = |panics: bool| {
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(with_app(Profile::Embedded, async |app: &TestApp| {
                if panics {
                    provoke(app).await;
                } else {
                    app.room_type(1).await;
                    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                }
            }));
        })
    };
    let (panicking, calm) = (run(true), run(false));
    assert!(panicking.join().is_err(), "its own test fails");
    calm.join().expect("the other one passes");
}
