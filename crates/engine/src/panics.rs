//! Panics of the process: a panic hook that counts and logs each of them, and scopes that defer this to their caller.
//!
//! A decision may panic because its read set is inconsistent, which is a conflict and no fault. Only the engine can
//! tell the two apart, after the panic. `catch` therefore silences the hook, and the engine calls `Panic::report`
//! if it was a fault.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

static COUNT: AtomicU64 = AtomicU64::new(0);
static LAST: Mutex<Option<Panic>> = Mutex::new(None);
/// The first panics that were counted, each with its origin.
static RECORDED: Mutex<Vec<(Option<Origin>, Panic)>> = Mutex::new(Vec::new());
const RECORDED_MAX: usize = 100;

thread_local! {
    /// Present within [`catch`]; then the location of the panic.
    static DEFERRED: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
    /// Origin of a thread that was started with [`inherit`].
    static ORIGIN: Cell<Option<Origin>> = const { Cell::new(None) };
}

/// The runtime on which a server was started. In a process of several servers, as in tests, it tells their panics
/// apart.
pub type Origin = tokio::runtime::Id;

/// Returns the origin of the work on this thread.
pub fn origin() -> Option<Origin> {
    ORIGIN.get().or_else(|| tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.id()))
}

/// Wraps work for a new thread, which gets the origin of this one.
pub fn inherit<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let origin = origin();
    move || {
        ORIGIN.set(origin);
        work()
    }
}

/// Takes the recorded panics of an origin, and those of unknown origin.
pub fn take(of: Origin) -> Vec<Panic> {
    let mut recorded = RECORDED.lock();
    recorded.extract_if(.., |(origin, _)| origin.is_none_or(|origin| origin == of)).map(|(_, panic)| panic).collect()
}

/// Counts every panic of the process from now on (`holdfast_panics_total`) and logs it, before the hook that was there
/// prints it. Further calls do nothing.
pub fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // The counter is in the metrics before the first panic.
        metrics::counter!("holdfast_panics_total").increment(0);
        let print = take_hook();
        set_hook(Box::new(move |info| {
            if !defer(info) {
                let location = info.location().map(ToString::to_string);
                Panic { message: message_of(info.payload()), location }.report();
                print(info);
            }
        }));
    });
}

/// Returns the number of panics since the start of the process, without those that the engine found to be conflicts.
/// 0 until [`install`] is called.
pub fn count() -> u64 {
    COUNT.load(Ordering::Acquire)
}

/// Returns the most recent panic that was counted.
pub fn last() -> Option<Panic> {
    LAST.lock().clone()
}

/// A panic that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    message: String,
    location: Option<String>,
}

impl Panic {
    /// Counts and logs the panic.
    pub(crate) fn report(self) {
        COUNT.fetch_add(1, Ordering::AcqRel);
        metrics::counter!("holdfast_panics_total").increment(1);
        let location = self.location.as_deref().unwrap_or("unknown");
        tracing::error!(panic = self.message, location, "a thread panicked");
        let mut recorded = RECORDED.lock();
        if recorded.len() < RECORDED_MAX {
            recorded.push((origin(), self.clone()));
        }
        drop(recorded);
        *LAST.lock() = Some(self);
    }
}

impl std::fmt::Display for Panic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.message, self.location.as_deref().unwrap_or("an unknown location"))
    }
}

/// Runs `act` and catches its panic, which is neither counted nor logged.
pub(crate) fn catch<T>(act: impl FnOnce() -> T) -> Result<T, Panic> {
    let outer = DEFERRED.replace(Some(None));
    let result = catch_unwind(AssertUnwindSafe(act));
    let location = DEFERRED.replace(outer).flatten();
    result.map_err(|payload| Panic { message: message_of(&*payload), location })
}

/// Notes the location of a panic within [`catch`]. False outside of it.
fn defer(info: &PanicHookInfo<'_>) -> bool {
    let note = |deferred: &RefCell<Option<Option<String>>>| {
        let Ok(mut deferred) = deferred.try_borrow_mut() else { return false };
        let Some(location) = &mut *deferred else { return false };
        *location = info.location().map(ToString::to_string);
        true
    };
    DEFERRED.try_with(note).unwrap_or(false)
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a value that is not text").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because the count is that of the process.
    #[test]
    fn panics_are_counted_unless_deferred() {
        install();
        install();
        let deferred = catch(|| panic!("on purpose: {}", 1)).unwrap_err();
        assert_eq!(deferred.message, "on purpose: 1");
        assert!(deferred.to_string().contains("panics.rs"), "{deferred}");
        assert_eq!((count(), last()), (0, None));

        // A scope within another one does not end the outer one.
        let nested = catch(|| {
            assert_eq!(catch(|| 7), Ok(7));
            panic!("in the outer scope");
        });
        assert_eq!((nested.unwrap_err().message.as_str(), count()), ("in the outer scope", 0));

        deferred.clone().report();
        assert_eq!((count(), last()), (1, Some(deferred)));

        std::thread::spawn(|| panic!("outside of a scope, on purpose")).join().unwrap_err();
        assert_eq!((count(), last().unwrap().message.as_str()), (2, "outside of a scope, on purpose"));
    }
}
