//! Roles of a process: HTTP, and the tee time services.

use holdfast_core::tee::Service;

/// A part of the server that may run in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// HTTP, and everything except tee times.
    Api,
    Booking,
    Course,
    Notify,
}

impl Role {
    pub const ALL: [Self; 4] = [Self::Api, Self::Booking, Self::Course, Self::Notify];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Booking => "booking",
            Self::Course => "course",
            Self::Notify => "notify",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == text)
    }

    /// Returns the tee time service of this role.
    pub fn service(self) -> Option<Service> {
        match self {
            Self::Api => None,
            Self::Booking => Some(Service::Booking),
            Self::Course => Some(Service::Course),
            Self::Notify => Some(Service::Notify),
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    pub const ALL: Self = Self(0b1111);

    /// Parses `api,booking` or `all`; `Err` is the unknown word.
    pub fn parse(text: &str) -> Result<Self, &str> {
        text.split(',').map(str::trim).try_fold(Self(0), |roles, word| match word {
            "all" => Ok(Self::ALL),
            word => Role::parse(word).map(|role| roles.with(role)).ok_or(word),
        })
    }

    pub fn of(roles: impl IntoIterator<Item = Role>) -> Self {
        roles.into_iter().fold(Self(0), Self::with)
    }

    #[must_use]
    pub fn with(self, role: Role) -> Self {
        Self(self.0 | role.bit())
    }

    pub fn has(self, role: Role) -> bool {
        self.0 & role.bit() != 0
    }

    /// Whether this process publishes to its subscribers the events of a booking service in another process.
    pub fn imports_bookings(self) -> bool {
        self.has(Role::Api) && !self.has(Role::Booking)
    }

    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.has(*role))
    }
}

impl std::fmt::Display for Roles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.iter().map(Role::as_str).collect();
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_parsed_from_a_list() {
        assert_eq!(Roles::parse("all"), Ok(Roles::ALL));
        let some = Roles::parse("notify, api").unwrap();
        assert_eq!(
            (some.has(Role::Api), some.has(Role::Booking), some.to_string()),
            (true, false, "api,notify".into())
        );
        assert_eq!(Roles::parse("api,king"), Err("king"));
        assert_eq!(Roles::parse(""), Err(""));
    }
}
