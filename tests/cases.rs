//! Every case of this repository, over the shipped models.
shapelock::main!(cases: "cases", registry: shapelock::harness::subjects::shipped());
