//! The published models, each as a subject. Their own code is untouched: nothing in it is tapped.

mod bert;
mod llama;
mod mamba2;
mod reference;
mod vit;

use shapelock::harness::registry::Registry;

/// All of them.
pub fn all() -> Registry {
    Registry::new()
        .with(bert::Bert)
        .with(llama::Llama)
        .with(mamba2::Mamba2)
        .with(reference::OfShapelock)
        .with(vit::Vit)
}
