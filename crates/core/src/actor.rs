//! Who asks, as far as the rules care.

use crate::id::UserId;
use crate::rejection::Rejection;

/// The person or role behind a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A customer, who may touch only what is theirs.
    User(UserId),
    /// An operator or another service, who may act for anyone.
    Admin,
}

impl Actor {
    /// Refuses a customer who reaches for what belongs to another.
    pub fn must_own(self, owner: UserId) -> Result<(), Rejection> {
        match self {
            Self::User(user) if user != owner => Err(Rejection::Forbidden),
            Self::User(_) | Self::Admin => Ok(()),
        }
    }
}
