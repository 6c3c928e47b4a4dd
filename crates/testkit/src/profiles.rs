//! Tests that run on several profiles: one `#[test]` per profile, so that a failure names its profile.

use std::pin::Pin;

/// Worker threads of a test, also on machines with fewer cores, so that races are possible.
const WORKERS: usize = 4;

/// Declares one `#[test]` per profile that calls a function with it: `name::embedded`, `name::postgres` and
/// `name::redis_cluster`, or only those listed.
///
/// ```
/// use holdfast_testkit::{Profile, profiles};
///
/// profiles!(hold_expires_on_time);
/// async fn hold_expires_on_time(profile: Profile) {
///     let _place = profile;
/// }
///
/// profiles!(file_is_locked: embedded);
/// async fn file_is_locked(profile: Profile) {
///     assert_eq!(profile, Profile::Embedded);
/// }
/// ```
#[macro_export]
macro_rules! profiles {
    ($test:ident) => { $crate::profiles!($test: embedded postgres redis_cluster); };
    ($test:ident: $($profile:ident)+) => {
        mod $test {
            $(#[test]
            fn $profile() {
                $crate::run_test(Box::pin(super::$test($crate::profiles!(@$profile))));
            })+
        }
    };
    (@embedded) => { $crate::Profile::Embedded };
    (@postgres) => { $crate::Profile::Postgres };
    (@redis_cluster) => { $crate::Profile::Cluster };
}

/// Runs a test on a runtime of its own. The future is boxed, so that this code is compiled once instead of per test.
pub fn run_test(test: Pin<Box<dyn Future<Output = ()>>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    runtime.expect("threads can be started").block_on(test);
}
