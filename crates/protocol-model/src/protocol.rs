//! The protocol as the checker sees it: in a state, which actions are possible, and what they lead to.

use stateright::{Model, Property};

use crate::live::HoldId;
use crate::properties;
use crate::safeguard::{Safeguard, Safeguards};
use crate::scenario::Scenario;
use crate::turn::Turn;
use crate::world::{Server, Step, Transaction, World};

/// A scenario, and the rules that are kept in it.
#[derive(Clone, Debug)]
pub struct Protocol {
    pub scenario: Scenario,
    pub rules: Safeguards,
}

/// What may happen next. A server that pauses is one whose step is not chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Tick,
    ClockSetBack,
    /// A server does its next step.
    Step(usize),
    /// A server sends its transaction and never hears of it.
    LoseAnswer(usize),
    /// A server sends its transaction, never hears of it, and is about to send it again.
    Retry(usize),
    /// A server's transaction is rolled back for no reason of ours.
    RollBack(usize),
    /// A server forgets everything and does not come back.
    Crash(usize),
    /// The resolving server notices a hold that is being confirmed, rightly or too early.
    Notice(HoldId),
    /// A transaction in flight commits, or is rolled back.
    Land(usize),
    /// A transaction in flight is lost.
    Vanish(usize),
    /// Much time has passed since the limit row was written.
    LimitEnds,
    /// The live tier loses everything.
    Failover,
}

impl Protocol {
    fn resolver(&self) -> usize {
        self.scenario.scripts.len()
    }

    fn is_busy(&self, who: usize, server: &Server) -> bool {
        let more_to_do = self.scenario.scripts.get(who).is_some_and(|script| server.at < script.len());
        !server.dead && (more_to_do || server.step != Step::Ready)
    }

    fn server_actions(&self, world: &World, actions: &mut Vec<Action>) {
        for (who, server) in world.servers.iter().enumerate().filter(|(who, server)| self.is_busy(*who, server)) {
            actions.push(Action::Step(who));
            let sends = matches!(server.step, Step::Record { .. } | Step::LowerRecord { .. });
            if sends && world.faults.unknowns > 0 {
                actions.push(Action::LoseAnswer(who));
            }
            let confirms = matches!(server.step, Step::Record { .. });
            if confirms && world.faults.retries > 0 {
                actions.push(Action::Retry(who));
            }
            if confirms && world.faults.rollbacks > 0 {
                actions.push(Action::RollBack(who));
            }
            if world.faults.crashes > 0 {
                actions.push(Action::Crash(who));
            }
        }
        if world.servers[self.resolver()].step == Step::Ready && self.rules.keep(Safeguard::SomebodyResolves) {
            actions.extend(world.live.confirming().map(|(hold, _)| Action::Notice(hold)));
        }
    }

    fn perform(&self, world: &mut World, action: &Action) {
        match *action {
            Action::Tick => world.clock += 1,
            Action::ClockSetBack => {
                world.faults.clock_set_back -= 1;
                world.clock -= 1;
            }
            Action::Step(who) => Turn::new(self, world, who).take(),
            Action::LoseAnswer(who) => {
                world.faults.unknowns -= 1;
                Turn::new(self, world, who).lose_answer();
            }
            Action::Retry(who) => {
                world.faults.retries -= 1;
                Turn::new(self, world, who).lose_answer_and_retry();
            }
            Action::RollBack(who) => {
                world.faults.rollbacks -= 1;
                Turn::new(self, world, who).roll_back();
            }
            Action::Crash(who) => {
                world.faults.crashes -= 1;
                let server = &mut world.servers[who];
                server.step = Step::Ready;
                // There is always another one that resolves.
                server.dead = who != self.resolver();
            }
            Action::Notice(hold) => {
                let attempt = world.live.holds[hold].value.as_ref().map_or(0, |hold| hold.attempt);
                world.servers[self.resolver()].step = Step::Resolve { hold, attempt };
            }
            Action::Land(at) => match world.in_flight.remove(at) {
                Transaction::Confirm { hold, attempt } => {
                    world.confirm(hold, attempt, self.rules);
                }
                Transaction::Lower { total, by } => {
                    world.lower(total, by, self.rules);
                }
            },
            Action::Vanish(at) => {
                world.in_flight.remove(at);
            }
            Action::LimitEnds => {
                if let Some(limit) = world.live.limit.value.take() {
                    world.servers[limit.by].too_late = true;
                    world.live.limit.version += 1;
                }
            }
            Action::Failover => {
                world.faults.failovers -= 1;
                world.told.in_doubt |= world.between_tiers();
                world.live.lose_everything();
            }
        }
        if !self.rules.keep(Safeguard::VersionsNeverReused) {
            world.live.forget_gone(world.clock);
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
            actions.push(Action::Land(at));
            actions.push(Action::Vanish(at));
        }
        if world.clock < self.scenario.clock_max {
            actions.push(Action::Tick);
        }
        let may_go_back = world.faults.clock_set_back > 0 && !self.rules.keep(Safeguard::ClockNeverBack);
        if may_go_back && world.clock > 0 {
            actions.push(Action::ClockSetBack);
        }
        if world.live.limit.value.is_some() {
            actions.push(Action::LimitEnds);
        }
        if world.faults.failovers > 0 {
            actions.push(Action::Failover);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        self.perform(&mut next, &action);
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let always = properties::PROPERTIES.iter().map(|&(name, holds)| Property::always(name, holds));
        let sometimes = self.scenario.reaches.iter().map(|mark| Property::sometimes(mark.name(), mark.condition()));
        always.chain(sometimes).collect()
    }

    fn format_step(&self, world: &World, action: Action) -> Option<String> {
        let next = self.next_state(world, action)?;
        Some(next.to_string())
    }
}
