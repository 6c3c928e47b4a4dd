//! The caller of a command, as far as the rules depend on it.

use crate::id::UserId;
use crate::rejection::Rejection;

/// User or role on whose behalf a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A customer, who may access only their own resources.
    User(UserId),
    /// An operator or another service, which may act for any user.
    Admin,
}

impl Actor {
    /// Rejects a customer who is not the owner.
    pub fn must_own(&self, owner: &UserId) -> Result<(), Rejection> {
        match self {
            Self::User(user) if user != owner => Err(Rejection::Forbidden),
            Self::User(_) | Self::Admin => Ok(()),
        }
    }
}
