//! Every case of this repository, over the shipped models and the zoo.

mod zoo;

shapelock::main!(cases: "cases", registry: zoo::registry());
