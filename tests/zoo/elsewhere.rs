//! Faults that published implementations of Mamba-2 have or had, each as a core in the place of the right one.
//!
//! Each is the right model where it cannot show: that is how it was missed.

use std::sync::Arc;

use candle_core::{D, Result, Tensor, bail};
use candle_nn::VarBuilder;
use shapelock::dims::Dims;
use shapelock::harness::subject::{ConfigProblem, Input, Model, Subject};
use shapelock::harness::subjects::Mamba2Subject;
use shapelock::model::mamba2::{
    Config, Core, CoreInputs, CoreParams, DtLimit, LayerState, Mamba2, PlainCore,
};

type Run = fn(&CoreInputs) -> Result<(Tensor, LayerState)>;

/// The shipped subject around a core with a fault.
pub struct Elsewhere {
    name: &'static str,
    reading: Mamba2Subject,
    run: Run,
}

/// Every one of them.
pub fn subjects() -> Vec<Elsewhere> {
    let plain = Mamba2Subject::Plain;
    let all: [(&str, Mamba2Subject, Run); 11] = [
        ("mamba2_norm_over_all_groups", plain, norm_over_all_groups),
        ("mamba2_window_forgotten", plain, window_forgotten),
        ("mamba2_padding_in_the_state", Mamba2Subject::Padded, padding_in_the_state),
        ("mamba2_step_without_dt_limit", plain, step_without_dt_limit),
        ("mamba2_state_dropped_alone", plain, state_dropped_alone),
        ("mamba2_graph_cut", plain, graph_cut),
        ("mamba2_chunks_apart", plain, chunks_apart),
        ("mamba2_whole_chunks_alone", plain, whole_chunks_alone),
        ("mamba2_no_single_token", plain, no_single_token),
        ("mamba2_step_of_one_group", plain, step_of_one_group),
        ("mamba2_skip_by_head_dim_first", plain, skip_by_head_dim_first),
    ];
    all.into_iter().map(|(name, reading, run)| Elsewhere { name, reading, run }).collect()
}

/// Hugging Face before 5.23, and candle: the gated norm runs over all groups at once.
fn norm_over_all_groups(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let Some(weight) = &inputs.params.norm_weight else { return PlainCore.run(inputs) };
    let params = CoreParams { norm_weight: None, ..inputs.params.clone() };
    let (gated, state) = PlainCore.run(&CoreInputs { params: &params, ..*inputs })?; // (b, l, h·p)
    let mean = gated.sqr()?.mean_keepdim(D::Minus1)?; // (b, l, 1) ~fault
    let norm = gated.broadcast_div(&(mean + inputs.config.norm_eps)?.sqrt()?)?;
    Ok((norm.broadcast_mul(weight)?, state))
}

/// candle: a second prefill does not read the window that the first one left.
fn window_forgotten(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let window = inputs.state.window.zeros_like()?; // (b, k - 1, c) ~fault
    let state = LayerState { window, ssm: inputs.state.ssm.clone() };
    PlainCore.run(&CoreInputs { state: &state, ..*inputs })
}

/// Hugging Face 5.24: padding after the tokens is read into the cache.
fn padding_in_the_state(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let mut layout = inputs.layout.clone();
    layout.lengths = None; // ~fault
    PlainCore.run(&CoreInputs { layout: &layout, ..*inputs })
}

/// The reference and Hugging Face: a single step does not clamp dt.
fn step_without_dt_limit(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let single = inputs.zxbcdt.dim(1)? == 1; // ~fault
    let dt_limit = if single { DtLimit::default() } else { inputs.config.dt_limit };
    let config = Config { dt_limit, ..inputs.config.clone() };
    PlainCore.run(&CoreInputs { config: &config, ..*inputs })
}

/// The state before is dropped where there is one row, which a squeeze once took for no batch at all.
fn state_dropped_alone(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let mut state = inputs.state.clone();
    if inputs.zxbcdt.dim(0)? == 1 {
        state.ssm = state.ssm.zeros_like()?; // (b, h, p, n) ~fault
    }
    PlainCore.run(&CoreInputs { state: &state, ..*inputs })
}

/// candle: the graph is cut before the core, and gradients reach 1 of 38 variables.
fn graph_cut(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let zxbcdt = inputs.zxbcdt.detach(); // ~fault
    PlainCore.run(&CoreInputs { zxbcdt: &zxbcdt, ..*inputs })
}

/// Hugging Face 4.44: nothing passes from chunk to chunk.
fn chunks_apart(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let (b, l, _) = inputs.zxbcdt.dims3()?;
    let first = |at: usize| u8::from((at % l).is_multiple_of(inputs.dims.q)); // ~fault
    let marks: Vec<u8> = (0..b * l).map(first).collect();
    let mut layout = inputs.layout.clone();
    layout.reset = Some(Tensor::from_vec(marks, (b, l), inputs.zxbcdt.device())?); // (b, l)
    PlainCore.run(&CoreInputs { layout: &layout, ..*inputs })
}

/// Hugging Face 4.44: a sequence of one token takes the path of a cache that is not there.
fn no_single_token(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let (_, l, c) = inputs.zxbcdt.dims3()?;
    if l == 1 {
        let cached = inputs.state.window.matmul(&inputs.zxbcdt.reshape((c, ()))?)?; // ~fault
        return PlainCore.run(&CoreInputs { zxbcdt: &cached, ..*inputs });
    }
    PlainCore.run(inputs)
}

/// state-spaces: `ssd_minimal` takes no length but multiples of a chunk.
fn whole_chunks_alone(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let (b, l, c) = inputs.zxbcdt.dims3()?;
    let q = inputs.dims.q;
    inputs.zxbcdt.reshape((b, l / q, q, c))?; // (b, l / q, q, c) ~fault
    PlainCore.run(inputs)
}

/// state-spaces: a step without its kernel asserts that there is one group.
fn step_of_one_group(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    if inputs.zxbcdt.dim(1)? == 1 && inputs.dims.g > 1 {
        bail!("only one group is supported for this inference"); // ~fault
    }
    PlainCore.run(inputs)
}

/// state-spaces: a skip of its own for each place in a head is read as if the places came first.
fn skip_by_head_dim_first(inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
    let (h, p) = inputs.params.d.dims2()?;
    let d = inputs.params.d.reshape((p, h))?.t()?.contiguous()?; // (h, p) ~fault
    let params = CoreParams { d, ..inputs.params.clone() };
    PlainCore.run(&CoreInputs { params: &params, ..*inputs })
}

#[derive(Debug)]
struct Faulty(Run);

impl Core for Faulty {
    fn run(&self, inputs: &CoreInputs) -> Result<(Tensor, LayerState)> {
        (self.0)(inputs)
    }
}

impl Subject for Elsewhere {
    type Config = Config;

    fn name(&self) -> &str {
        self.name
    }

    fn dims(&self, config: &Config) -> std::result::Result<Dims, ConfigProblem> {
        Subject::dims(&self.reading, config)
    }

    fn free(&self) -> Vec<(&str, &str)> {
        Subject::free(&self.reading)
    }

    fn inputs(&self, config: &Config) -> Vec<Input> {
        Subject::inputs(&self.reading, config)
    }

    fn build(&self, config: &Config, vb: VarBuilder<'static>) -> Result<Box<dyn Model>> {
        let core = Arc::new(Faulty(self.run));
        Ok(self.reading.around(Mamba2::with_core(config, core, vb)?))
    }

    fn is_causal(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        Subject::has_state(&self.reading)
    }

    fn has_reference(&self) -> bool {
        true
    }

    fn reference(
        &self,
        config: &Config,
        vb: VarBuilder<'static>,
    ) -> Option<Result<Box<dyn Model>>> {
        Subject::reference(&self.reading, config, vb)
    }
}
