//! What helps to write cases: the schema for editors, and the commands that write, explain and shrink one.

#[path = "authoring/schema.rs"]
mod schema;
