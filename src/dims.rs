//! Named dims and expressions over them.
