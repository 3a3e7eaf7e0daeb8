//! The wire: generated messages, their conversion to and from the domain, and errors as statuses.

pub mod convert;
pub mod deadline;
pub mod pb;
pub mod status;
