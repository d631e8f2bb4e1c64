//! The line beside a picture that shows how far gradients come, from the output upwards.

use maud::{Markup, html};

use super::picture::WIDTH;
use crate::harness::law::starred;
use crate::harness::report::flow::Stop;

/// Where the line runs.
const X: usize = WIDTH - 14;

/// The line over the steps, given with their tops and bottoms; nothing where no gradient was looked at.
pub fn rail(places: &[(String, usize, usize)], stops: &[&Stop], looked_at: bool) -> Markup {
    let (Some((_, top, _)), Some((_, _, bottom))) = (places.first(), places.last()) else {
        return html! {};
    };
    let (top, bottom) = (*top + 8, *bottom);
    let cut = stops.iter().find_map(|stop| between(places, stop));
    html! {
        @if let Some((after, before)) = cut {
            @let middle = usize::midpoint(after, before);
            g class="rail" {
                title { "the gradient stops here" }
                path class="reaches" d=(format!("M{X} {bottom}V{}", middle + 7)) {}
                path class="lacks" d=(format!("M{X} {}V{top}", middle - 7)) {}
                path class="cut" d=(format!("M{} {}l12 12m0-12l-12 12", X - 6, middle - 6)) {}
            }
        } @else if looked_at && stops.is_empty() {
            g class="rail" {
                title { "the gradient reaches every step" }
                path class="reaches" d=(format!("M{X} {bottom}V{top}")) marker-end="url(#up)" {}
            }
        }
    }
}

/// Where the gradient stops: between the bottom of the last step without one and the top of the first that has one.
fn between(places: &[(String, usize, usize)], stop: &Stop) -> Option<(usize, usize)> {
    let find = |name: &Option<String>| {
        let name = starred(name.as_ref()?);
        places.iter().find(|(own, ..)| starred(own) == name)
    };
    let after = find(&stop.without).map(|(_, _, bottom)| *bottom);
    let before = find(&stop.with).map(|(_, top, _)| *top);
    match (after, before) {
        (Some(after), Some(before)) if before > after => Some((after, before)),
        (Some(after), _) => Some((after, after + 30)),
        (None, Some(before)) => Some((before.saturating_sub(30), before)),
        (None, None) => None,
    }
}
