//! The wire: generated messages, their codec, their conversion to and from the domain, JSON, and errors as statuses and problems.

pub mod codec;
pub mod convert;
pub mod deadline;
pub mod json;
pub mod pb;
pub mod problem;
pub mod status;
