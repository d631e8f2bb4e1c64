//! The ways in which a Mamba-2 reads what a case gives it.

use candle_core::{DType, Result, Tensor};

use crate::harness::subject::{Inputs, Model, Outputs, State as Kept};
use crate::model::mamba2::{Config, Head, LayerState, Mamba2, State, Tokens};

/// The name of a layer's window (b, k − 1, h·p + 2·g·n) among inputs and outputs.
pub(super) fn window(layer: usize) -> String {
    format!("state.{layer}.window")
}

/// The name of a layer's scan state (b, h, p, n).
pub(super) fn ssm(layer: usize) -> String {
    format!("state.{layer}.ssm")
}

/// The names of what is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tensors {
    read: &'static str,
}

impl Tensors {
    pub(super) fn of(config: &Config) -> Self {
        match config.head {
            Head::Lm => Self { read: "ids" },
            Head::Outputs(_) => Self { read: "input" },
        }
    }

    fn of_state(state: &State) -> Vec<(String, Tensor)> {
        let layer = |(i, layer): (usize, &LayerState)| {
            [(window(i), layer.window.clone()), (ssm(i), layer.ssm.clone())]
        };
        state.layers().iter().enumerate().flat_map(layer).collect()
    }
}

/// The output, and the tensors of the state.
fn with_state(output: Tensor, state: &State) -> Outputs {
    let outputs = Outputs::new().with("output", output);
    Tensors::of_state(state).into_iter().fold(outputs, |all, (name, t)| all.with(&name, t))
}

/// Each row is one sequence.
pub(super) struct Plain {
    pub model: Mamba2,
    pub tensors: Tensors,
}

impl Model for Plain {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let output = self.model.forward(inputs.get(self.tensors.read)?)?; // (b, l, v)
        Ok(Outputs::new().with("output", output))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&Kept>) -> Option<Result<(Outputs, Kept)>> {
        Some(read_on(&self.model, inputs.get(self.tensors.read), state, Tokens::default()))
    }

    fn tensors(&self, state: &Kept) -> Vec<(String, Tensor)> {
        state.downcast_ref().map(Tensors::of_state).unwrap_or_default()
    }
}

fn read_on(
    model: &Mamba2,
    input: Result<&Tensor>,
    state: Option<&Kept>,
    tokens: Tokens<'_>,
) -> Result<(Outputs, Kept)> {
    let input = input?;
    let start = model.zero_state(input.dim(0)?)?;
    let state = state.and_then(|state| state.downcast_ref()).unwrap_or(&start);
    let (output, state) = model.forward_from(input, state, tokens)?; // (b, l, v)
    Ok((Outputs::new().with("output", output), Box::new(state)))
}

/// Each row is one sequence, of which something was read before.
pub(super) struct Resumed {
    pub model: Mamba2,
    pub tensors: Tensors,
}

impl Model for Resumed {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let layer = |i| {
            let at_least_f32 = |t: &Tensor| match t.dtype() {
                DType::F16 | DType::BF16 => t.to_dtype(DType::F32),
                _ => Ok(t.clone()),
            };
            let window = at_least_f32(inputs.get(&window(i))?)?; // (b, k - 1, h·p + 2·g·n)
            Ok(LayerState { window, ssm: at_least_f32(inputs.get(&ssm(i))?)? }) // (b, h, p, n)
        };
        let layers = (0..self.model.dims().layers).map(layer).collect::<Result<_>>()?;
        let state = self.model.state_of(layers)?;
        let input = inputs.get(self.tensors.read)?;
        let (output, state) = self.model.forward_from(input, &state, Tokens::default())?; // (b, l, v)
        Ok(with_state(output, &state))
    }
}

/// Each row holds several sequences.
pub(super) struct Packed {
    pub model: Mamba2,
    pub tensors: Tensors,
}

impl Model for Packed {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let (input, starts) = (inputs.get(self.tensors.read)?, inputs.get("starts")?);
        let state = self.model.zero_state(input.dim(0)?)?;
        let (output, state) = self.model.forward_from(input, &state, Tokens::packed(starts))?; // (b, l, v)
        Ok(with_state(output, &state))
    }

    fn resume(&self, inputs: &Inputs, state: Option<&Kept>) -> Option<Result<(Outputs, Kept)>> {
        let read = || {
            let tokens = Tokens::packed(inputs.get("starts")?);
            read_on(&self.model, inputs.get(self.tensors.read), state, tokens)
        };
        Some(read())
    }

    fn tensors(&self, state: &Kept) -> Vec<(String, Tensor)> {
        state.downcast_ref().map(Tensors::of_state).unwrap_or_default()
    }
}

/// Each row is one sequence with padding before or after it.
pub(super) struct Padded {
    pub model: Mamba2,
    pub tensors: Tensors,
}

impl Model for Padded {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let input = inputs.get(self.tensors.read)?;
        let (b, l) = (input.dim(0)?, input.dim(1)?);
        let runs = runs(inputs, l)?;
        let real = runs.iter().flat_map(|run| (0..l).map(|t| u8::from(run.contains(&t))));
        let mask = Tensor::from_vec(real.collect::<Vec<_>>(), (b, l), input.device())?; // (b, l)
        let state = self.model.zero_state(b)?;
        let (output, state) = self.model.forward_from(input, &state, Tokens::padded(&mask))?; // (b, l, v)
        let real = mask.unsqueeze(2)?.broadcast_as(output.shape())?; // (b, l, v)
        Ok(with_state(real.where_cond(&output, &output.zeros_like()?)?, &state))
    }
}

/// Where the tokens of each row stand; an even length is padded before its tokens.
fn runs(inputs: &Inputs, l: usize) -> Result<Vec<std::ops::Range<usize>>> {
    let lengths = inputs.get("lengths")?.to_vec1::<u32>()?;
    let run = |length: u32| {
        let length = (length as usize + 1).min(l);
        let start = if length.is_multiple_of(2) { l - length } else { 0 };
        start..start + length
    };
    Ok(lengths.into_iter().map(run).collect())
}

/// The definition of packing and padding: each sequence is read alone.
pub(super) struct Alone {
    pub model: Mamba2,
    pub tensors: Tensors,
    pub packed: bool,
}

impl Model for Alone {
    fn forward(&self, inputs: &Inputs) -> Result<Outputs> {
        let input = inputs.get(self.tensors.read)?;
        let (b, l) = (input.dim(0)?, input.dim(1)?);
        let rows = match self.packed {
            true => sequences(inputs, l)?,
            false => runs(inputs, l)?.into_iter().map(|run| vec![run]).collect(),
        };
        let rows: Vec<(Tensor, State)> = rows
            .into_iter()
            .enumerate()
            .map(|(row, runs)| self.row(&input.narrow(0, row, 1)?, &runs, l))
            .collect::<Result<_>>()?;
        debug_assert_eq!(rows.len(), b);
        let outputs: Vec<&Tensor> = rows.iter().map(|(output, _)| output).collect();
        let states: Vec<_> = rows.iter().map(|(_, state)| Tensors::of_state(state)).collect();
        let output = Outputs::new().with("output", Tensor::cat(&outputs, 0)?); // (b, l, v)
        let names = states.first().cloned().unwrap_or_default();
        names.iter().enumerate().try_fold(output, |all, (i, (name, _))| {
            let of_rows: Vec<&Tensor> = states.iter().map(|row| &row[i].1).collect();
            Ok(all.with(name, Tensor::cat(&of_rows, 0)?))
        })
    }
}

impl Alone {
    /// One row (1, l, ..): its sequences one after another, zeros where none is, and the state of the last.
    fn row(
        &self,
        row: &Tensor,
        runs: &[std::ops::Range<usize>],
        l: usize,
    ) -> Result<(Tensor, State)> {
        let mut state = self.model.zero_state(1)?;
        let mut pieces = Vec::new();
        for run in runs {
            let sequence = row.narrow(1, run.start, run.len())?;
            let (output, last) = self.model.forward_from(
                &sequence,
                &self.model.zero_state(1)?,
                Tokens::default(),
            )?; // (1, run, v)
            pieces.push(output);
            state = last;
        }
        let output = Tensor::cat(&pieces, 1)?; // (1, tokens, v)
        let before = runs.first().map_or(0, |run| run.start);
        let after = l - runs.last().map_or(l, |run| run.end);
        Ok((output.pad_with_zeros(1, before, after)?, state))
    }
}

/// Where the sequences of each packed row stand.
fn sequences(inputs: &Inputs, l: usize) -> Result<Vec<Vec<std::ops::Range<usize>>>> {
    let starts = inputs.get("starts")?.to_vec2::<u8>()?;
    let row = |marks: Vec<u8>| {
        let marked = (1..l).filter(|&t| marks[t] != 0);
        let ends: Vec<usize> = marked.chain([l]).collect();
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(ends.iter().copied()).map(|(start, end)| start..end).collect()
    };
    Ok(starts.into_iter().map(row).collect())
}
