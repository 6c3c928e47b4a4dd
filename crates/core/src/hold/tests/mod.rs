//! The life of a hold, for lines of all types.
