//! Command queue, shared among callers by deficit round robin.
//!
//! Commands of one caller form a flow with a sub-queue of its own. A batch takes the flows in turn, a quantum of work
//! from each, so that a command waits for at most one quantum of every other caller. A flow exists while it has
//! commands waiting, so there are never more flows than queued commands.

use std::collections::{HashMap, VecDeque};

use holdfast_core::id::UserId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::task::{Refused, Task};

/// Work per batch, in ordinary commands: keeps one commit short.
const BATCH_WEIGHT_MAX: usize = 8_192;
/// Work per batch after each flow has had a turn, while several flows wait: keeps the wait for the next batch short.
const SHARED_BATCH_WEIGHT_MAX: usize = 2_048;
/// Work that a flow may do per turn, in ordinary commands.
const QUANTUM: usize = 512;
/// Maximum weight of a command. Operators' commands on a whole object may touch more rows: an event has up to 100,000 seats,
/// and lowering a capacity reads every day that can be held. They are all or nothing, so they are not divided. At this
/// weight they wait for four turns, and at most four of them share a batch.
pub(crate) const COMMAND_WEIGHT_MAX: usize = 2_048;
/// Bound of one flow as a multiple of the remaining free weight. One flow alone can fill three quarters of the
/// queue; any number of flows leave room for one more.
const FLOW_TO_FREE_MAX: usize = 3;
/// Fraction of the queue that a request divided into several commands uses for each.
const PART_OF_QUEUE: usize = 8;
/// Empty sub-queues kept for new flows, which then allocate nothing.
const IDLE_QUEUES_MAX: usize = 1_024;

/// Commands that share one sub-queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowId {
    /// The server's own jobs.
    #[default]
    System,
    /// Callers without a name, while authentication is off.
    Operator,
    /// A user, or a caller that acts for this user.
    User(UserId),
    /// An operator or a program whose subject could be a user's, but is not that user.
    Operating(UserId),
    /// The hashed subject of a token that is not a user's.
    Subject([u8; 16]),
}

pub(crate) struct Queue {
    weight_max: usize,
    state: Mutex<State>,
    /// One per lane.
    arrivals: Vec<Notify>,
}

#[derive(Default)]
struct State {
    /// Total weight of all waiting commands.
    weight: usize,
    lanes: Vec<Lane>,
    idle: Vec<VecDeque<Box<dyn Task>>>,
    /// Whether commands are refused, because the last handle was dropped or the loop has ended.
    is_closed: bool,
}

/// Commands that one loop decides.
#[derive(Default)]
struct Lane {
    flows: HashMap<FlowId, Flow>,
    /// The flows in the order of their turns.
    turns: VecDeque<FlowId>,
}

#[derive(Default)]
struct Flow {
    tasks: VecDeque<Box<dyn Task>>,
    weight: usize,
    /// Work left of earlier turns: the deficit of deficit round robin.
    credit: usize,
}

impl Queue {
    pub(crate) fn new(lanes: usize, weight_max: usize) -> Self {
        let state = State { lanes: (0..lanes).map(|_| Lane::default()).collect(), ..State::default() };
        Self { weight_max, state: Mutex::new(state), arrivals: (0..lanes).map(|_| Notify::new()).collect() }
    }

    /// Weight that each command of a divided request should have.
    pub(crate) fn part_weight(&self) -> usize {
        (self.weight_max / PART_OF_QUEUE).clamp(1, QUANTUM)
    }

    /// Adds a command, if its flow has room left.
    pub(crate) fn push(&self, lane: u64, id: FlowId, task: Box<dyn Task>) -> Result<(), Refused> {
        let lane = (lane % self.arrivals.len() as u64) as usize;
        let weight = task.weight();
        let mut state = self.state();
        if state.is_closed {
            return Err(Refused::StoreUnavailable("the engine has stopped".into()));
        }
        if state.weight > 0 && !state.has_room(&id, weight, self.weight_max) {
            return Err(Refused::Overloaded);
        }
        let State { weight: waiting, lanes, idle, .. } = &mut *state;
        *waiting += weight;
        let Lane { flows, turns } = &mut lanes[lane];
        let flow = flows.entry(id.clone()).or_insert_with(|| {
            turns.push_back(id);
            Flow { tasks: idle.pop().unwrap_or_default(), ..Flow::default() }
        });
        flow.weight += weight;
        flow.tasks.push_back(task);
        drop(state);
        self.arrivals[lane].notify_one();
        Ok(())
    }

    /// Waits for commands; `false` if there are none and none will come.
    pub(crate) async fn wait(&self, lane: usize) -> bool {
        loop {
            let arrival = self.arrivals[lane].notified();
            {
                let state = self.state();
                if !state.lanes[lane].turns.is_empty() {
                    return true;
                }
                if state.is_closed {
                    return false;
                }
            }
            arrival.await;
        }
    }

    /// Fills a batch that has `weight` already.
    pub(crate) fn take(&self, lane: usize, batch: &mut Vec<Box<dyn Task>>, mut weight: usize) {
        let mut state = self.state();
        let State { weight: waiting, lanes, idle, .. } = &mut *state;
        let Lane { flows, turns } = &mut lanes[lane];
        let (flow_count, mut turn) = (turns.len(), 0);
        loop {
            let is_shared = flow_count > 1 && turn >= flow_count;
            let weight_max = if is_shared { SHARED_BATCH_WEIGHT_MAX } else { BATCH_WEIGHT_MAX };
            if weight >= weight_max {
                return;
            }
            let Some(id) = turns.pop_front() else { return };
            let flow = flows.get_mut(&id).expect("each turn is a flow's");
            let first = flow.tasks.front().expect("a flow has commands").weight();
            flow.credit = (flow.credit + QUANTUM).min(first.max(QUANTUM));
            while weight < weight_max
                && let Some(task) = flow.tasks.pop_front_if(|task| task.weight() <= flow.credit)
            {
                let task_weight = task.weight();
                flow.credit -= task_weight;
                flow.weight -= task_weight;
                *waiting -= task_weight;
                weight += task_weight;
                batch.push(task);
            }
            if !flow.tasks.is_empty() {
                turns.push_back(id);
            } else if let Some(flow) = flows.remove(&id)
                && idle.len() < IDLE_QUEUES_MAX
            {
                idle.push(flow.tasks);
            }
            turn += 1;
        }
    }

    /// Closes the queue: the loops end once all waiting commands are answered.
    pub(crate) fn close(&self) {
        self.state().is_closed = true;
        self.arrivals.iter().for_each(Notify::notify_one);
    }

    /// Closes the queue and drops all waiting commands, because no loop is left to run them.
    pub(crate) fn abandon(&self) {
        let none = self.arrivals.iter().map(|_| Lane::default()).collect();
        let mut state = self.state();
        state.is_closed = true;
        let abandoned = std::mem::replace(&mut state.lanes, none);
        drop(state);
        // Dropped without the lock, because this answers their callers.
        drop(abandoned);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().is_closed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn has_room(&self, id: &FlowId, weight: usize, weight_max: usize) -> bool {
        let of_flow: usize = self.lanes.iter().filter_map(|lane| lane.flows.get(id)).map(|flow| flow.weight).sum();
        match weight_max.checked_sub(self.weight + weight) {
            Some(free) => of_flow + weight <= FLOW_TO_FREE_MAX * (free + 1),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use holdfast_core::command::writes;
    use holdfast_core::{Command, Context, Decision, WorkingSet};

    use super::*;
    use crate::task::CommandTask;

    struct Nothing;

    impl Command for Nothing {
        type Outcome = ();
        const NAME: &'static str = "test.nothing";
        type Writes = writes::Durable;

        fn decide(&self, _rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<()> {
            Ok(())
        }
    }

    fn user(number: u64) -> FlowId {
        FlowId::User(UserId::new(number).unwrap())
    }

    fn push(queue: &Queue, id: FlowId, weight: usize) -> Result<(), Refused> {
        let (task, _) = CommandTask::new(Nothing, None, weight, Arc::default());
        queue.push(0, id, Box::new(task))
    }

    /// Pushes until the queue refuses; returns how many were accepted.
    fn fill(queue: &Queue, id: &FlowId, weight: usize) -> usize {
        (0..1_000_000).take_while(|_| push(queue, id.clone(), weight).is_ok()).count()
    }

    fn take(queue: &Queue) -> Vec<usize> {
        let mut batch = Vec::new();
        queue.take(0, &mut batch, 0);
        batch.iter().map(|task| task.weight()).collect()
    }

    #[test]
    fn batch_takes_flows_in_turn() {
        let queue = Queue::new(1, 100_000);
        for _ in 0..40 {
            push(&queue, user(1), 500).unwrap();
        }
        push(&queue, user(2), 1).unwrap();
        push(&queue, user(3), 2).unwrap();
        assert_eq!(take(&queue), [500, 1, 2, 500, 500, 500, 500], "one turn each, then up to the shared bound");
        assert_eq!([take(&queue).len(), take(&queue).len()], [17, 17], "a lone flow fills the batch");
    }

    #[test]
    fn every_flow_has_a_turn_in_each_batch() {
        let queue = Queue::new(1, 100_000);
        for number in 1..=4 {
            for _ in 0..10 {
                push(&queue, user(number), 512).unwrap();
            }
        }
        for number in 5..=500 {
            push(&queue, user(number), 1).unwrap();
        }
        let batch = take(&queue);
        assert_eq!(batch.iter().filter(|weight| **weight == 1).count(), 496);
        assert_eq!(batch.iter().filter(|weight| **weight == 512).count(), 4);
    }

    #[test]
    fn heavy_command_is_taken_after_some_turns() {
        let queue = Queue::new(1, 100_000);
        push(&queue, user(1), COMMAND_WEIGHT_MAX).unwrap();
        push(&queue, user(2), 1).unwrap();
        assert_eq!(take(&queue), [1, COMMAND_WEIGHT_MAX]);
    }

    #[test]
    fn full_flows_leave_room_for_others() {
        for flows in [1, 4, 100] {
            let queue = Queue::new(2, 20_000);
            for number in 1..=flows {
                assert!(fill(&queue, &user(number), 512) > 0 || number > 3, "{number} of {flows}");
            }
            for number in 1_001..=1_020 {
                push(&queue, user(number), 1).unwrap_or_else(|refused| panic!("beside {flows}: {refused}"));
            }
        }
    }

    #[test]
    fn lone_flow_uses_three_quarters() {
        let queue = Queue::new(1, 20_000);
        assert!((14_900..=15_100).contains(&fill(&queue, &user(1), 1)));
        assert!(push(&queue, user(2), 512).is_ok());
    }

    #[test]
    fn idle_queue_takes_any_command() {
        let queue = Queue::new(1, 1);
        push(&queue, user(1), COMMAND_WEIGHT_MAX).unwrap();
        assert_eq!(push(&queue, user(2), 1), Err(Refused::Overloaded));
        take(&queue);
        push(&queue, user(2), 1).unwrap();
    }

    #[test]
    fn empty_flows_are_removed() {
        let queue = Queue::new(1, 100_000);
        for round in 0..3 {
            for number in 1..=5_000 {
                push(&queue, user(round * 10_000 + number), 1).unwrap();
            }
            assert_eq!(take(&queue).len(), 5_000);
        }
        let state = queue.state();
        assert_eq!((state.weight, state.lanes[0].flows.len(), state.lanes[0].turns.len()), (0, 0, 0));
        assert_eq!(state.idle.len(), IDLE_QUEUES_MAX);
    }
}
