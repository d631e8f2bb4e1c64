//! What holds for the models as published: the cases in `cases/`.
mod subjects;

shapelock::main!(cases: "cases", registry: subjects::all());
