//! The protocol as a state machine for the checker: possible actions of a state, and their effects.

use stateright::{Model, Property};

use crate::live::HoldId;
use crate::properties;
use crate::safeguard::{Safeguard, Safeguards};
use crate::scenario::Scenario;
use crate::step::ServerStep;
use crate::world::{Server, Step, Transaction, World};

/// A scenario, and the safeguards in effect.
#[derive(Clone, Debug)]
pub struct Protocol {
    pub scenario: Scenario,
    pub rules: Safeguards,
}

/// A possible action. A server pauses by its step not being chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    ClockSetBack,
    /// Executes the next step of a server.
    Step(usize),
    /// Sends a server's transaction and loses the reply.
    LoseReply(usize),
    /// Sends a server's transaction, loses the reply, and sends it again next.
    Retry(usize),
    /// Rolls back a server's transaction for an external reason.
    RollBack(usize),
    /// Crashes a server for good, with its memory.
    Crash(usize),
    /// The recovery server finds a prepared hold, whether abandoned or not.
    FindPrepared(HoldId),
    /// A transaction in flight commits or rolls back.
    ReachDatabase(usize),
    /// A transaction in flight is lost.
    DropInFlight(usize),
    /// The capacity fence ends, long after it was set.
    FenceEnds,
    /// The live tier loses its state.
    Failover,
}

impl Protocol {
    fn recovery_server(&self) -> usize {
        self.scenario.scripts.len()
    }

    fn has_work(&self, index: usize, server: &Server) -> bool {
        let more_to_do = self.scenario.scripts.get(index).is_some_and(|script| server.at < script.len());
        !server.crashed && (more_to_do || server.step != Step::Ready)
    }

    fn server_actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (index, server) in world.servers.iter().enumerate().filter(|(index, server)| self.has_work(*index, server))
        {
            actions.push(Action::Step(index));
            let sends = matches!(server.step, Step::Record { .. } | Step::LowerRecord { .. });
            if sends && world.faults.unknowns > 0 {
                actions.push(Action::LoseReply(index));
            }
            let confirms = matches!(server.step, Step::Record { .. });
            if confirms && world.faults.retries > 0 {
                actions.push(Action::Retry(index));
            }
            if confirms && world.faults.rollbacks > 0 {
                actions.push(Action::RollBack(index));
            }
            if world.faults.crashes > 0 {
                actions.push(Action::Crash(index));
            }
        }
        if world.servers[self.recovery_server()].step == Step::Ready && self.rules.keep(Safeguard::AttemptsAreRecovered)
        {
            actions.extend(world.live.confirming().map(|(hold, _)| Action::FindPrepared(hold)));
        }
    }

    fn apply(&self, world: &mut World, action: &Action) {
        match *action {
            Action::Tick => world.clock += 1,
            Action::ClockSetBack => {
                world.faults.clock_set_back -= 1;
                world.clock -= 1;
            }
            Action::Step(index) => ServerStep::new(self, world, index).execute(),
            Action::LoseReply(index) => {
                world.faults.unknowns -= 1;
                ServerStep::new(self, world, index).lose_reply();
            }
            Action::Retry(index) => {
                world.faults.retries -= 1;
                ServerStep::new(self, world, index).lose_reply_and_retry();
            }
            Action::RollBack(index) => {
                world.faults.rollbacks -= 1;
                ServerStep::new(self, world, index).roll_back();
            }
            Action::Crash(index) => {
                world.faults.crashes -= 1;
                let server = &mut world.servers[index];
                server.step = Step::Ready;
                // Another server always takes over recovery.
                server.crashed = index != self.recovery_server();
            }
            Action::FindPrepared(hold) => {
                let attempt = world.live.holds[hold].value.as_ref().map_or(0, |hold| hold.attempt);
                world.servers[self.recovery_server()].step = Step::Recover { hold, attempt };
            }
            Action::ReachDatabase(at) => match world.in_flight.remove(at) {
                Transaction::Confirm { hold, attempt } => {
                    world.confirm(hold, attempt, self.rules);
                }
                Transaction::Lower { total, by } => {
                    world.lower(total, by, self.rules);
                }
            },
            Action::DropInFlight(at) => {
                world.in_flight.remove(at);
            }
            Action::FenceEnds => {
                if let Some(fence) = world.live.fence.value.take() {
                    world.servers[fence.by].fence_expired = true;
                    world.live.fence.version += 1;
                }
            }
            Action::Failover => {
                world.faults.failovers -= 1;
                world.observed.lost_in_operation |= world.between_tiers();
                world.live.lose_state();
            }
        }
        if !self.rules.keep(Safeguard::VersionsNeverReused) {
            world.live.drop_tombstones(world.clock);
        }
    }
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.scenario)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        self.server_actions(world, actions);
        for at in 0..world.in_flight.len() {
            actions.push(Action::ReachDatabase(at));
            actions.push(Action::DropInFlight(at));
        }
        if world.clock < self.scenario.clock_max {
            actions.push(Action::Tick);
        }
        let may_go_back = world.faults.clock_set_back > 0 && !self.rules.keep(Safeguard::ClockNeverBack);
        if may_go_back && world.clock > 0 {
            actions.push(Action::ClockSetBack);
        }
        if world.live.fence.value.is_some() {
            actions.push(Action::FenceEnds);
        }
        if world.faults.failovers > 0 {
            actions.push(Action::Failover);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        self.apply(&mut next, &action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = properties::PROPERTIES.iter().map(|&(name, holds)| Property::always(name, holds));
        let sometimes = self.scenario.milestones.iter().map(|mark| Property::sometimes(mark.name(), mark.condition()));
        always.chain(sometimes).collect()
    }

    fn format_step(&self, world: &World, action: Action) -> Option<String> {
        let next = self.next_state(world, action)?;
        Some(next.to_string())
    }
}
