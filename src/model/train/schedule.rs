//! The learning rate over a run.

/// A linear rise, then half a cosine down to the floor.
///
/// ```
/// use shapelock::model::train::Schedule;
/// let schedule = Schedule { peak: 1., floor: 0.1, warmup: 10, total: 110 };
/// let lr = [0, 4, 9, 60, 110, 500].map(|step| schedule.lr(step));
/// for (actual, expected) in lr.into_iter().zip([0.1, 0.5, 1., 0.55, 0.1, 0.1]) {
///     assert!((actual - expected).abs() < 1e-12);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The learning rate at the end of the rise.
    pub peak: f64,
    /// The learning rate at the end of the run, and after it.
    pub floor: f64,
    /// Steps of the rise.
    pub warmup: u64,
    /// Steps of the run, those of the rise included.
    pub total: u64,
}

impl Schedule {
    /// The same learning rate at every step.
    pub const fn constant(lr: f64) -> Self {
        Self { peak: lr, floor: lr, warmup: 0, total: 0 }
    }

    /// The learning rate after `steps` steps have been made.
    pub fn lr(&self, steps: u64) -> f64 {
        if steps < self.warmup {
            return self.peak * (steps + 1) as f64 / self.warmup as f64;
        }
        let length = self.total.saturating_sub(self.warmup);
        let done = steps.saturating_sub(self.warmup).min(length);
        let share = if length == 0 { 1. } else { done as f64 / length as f64 };
        let cosine = 0.5 * (1. + (std::f64::consts::PI * share).cos());
        self.floor + (self.peak - self.floor) * cosine
    }
}
