//! The Mamba-2 scan in chunks of q tokens, by matrix products: the state space dual form (SSD) of the paper's section 6.
//!
//! The four steps are the paper's. Within a chunk a token reads an earlier one through the product of the decays
//! between them; from chunk to chunk only states travel. Exponents are segment sums: each is summed from its own terms,
//! because a difference of two long cumulative sums loses the small decays beside large ones.
//!
//! r = h/g heads share a group's B and C; m = b·c·g counts the groups of all chunks, which are one batch to the matrix
//! products.
use candle_core::{D, DType, Result, Tensor};

use super::{Inputs, Output, Sizes};

/// Scans in chunks of `q` tokens. Taps: `scan.y_diag`, `scan.states`, `scan.h` each chunk, `scan.y_off`.
pub(super) fn scan(inputs: &Inputs, sizes: Sizes, q: usize) -> Result<Output> {
    let Sizes { b, l, h, p, g, n } = sizes;
    let (c, r) = (l.div_ceil(q), h / g);
    let m = b * c * g;
    let chunks = Chunks { c, q, r, m, sizes };

    let dx = inputs.x.broadcast_mul(&inputs.dt.unsqueeze(3)?)?; // (b, l, h, p)
    let x = chunks.cut(&dx, r * p)?; // (m, q, r·p)
    let x = x.reshape((m, q, r, p))?.transpose(1, 2)?.contiguous()?; // (m, r, q, p)
    let bmat = chunks.cut(inputs.bmat, n)?; // (m, q, n)
    let cmat = chunks.cut(inputs.cmat, n)?; // (m, q, n)
    let decays = chunks.decays(inputs)?;

    // 1. What a token reads of its own chunk.
    let scores = bmat.matmul(&cmat.t()?)?.unsqueeze(1)?; // (m, 1, q, q), from j to i
    let weights = decays.between.broadcast_mul(&scores)?; // (m, r, q, q)
    let y_diag = weights.t()?.matmul(&x)?; // (m, r, q, p)
    let y_diag = inputs.tap("scan.y_diag", y_diag.transpose(1, 2)?)?; // (m, q, r, p)

    // 2. What a chunk adds to the state.
    let kept = x.broadcast_mul(&decays.to_end.unsqueeze(3)?)?; // (m, r, q, p)
    let kept = kept.t()?.reshape((m, r * p, q))?; // (m, r·p, q)
    let states = kept.matmul(&bmat)?.reshape((b, c, h, p, n))?;
    let states = inputs.tap("scan.states", states)?; // (b, c, h, p, n)

    // 3. The state at the start of each chunk, and after the last.
    let (starts, state) = recurrence(inputs, sizes, &states, &decays.whole)?; // (b, c, h, p, n), (b, h, p, n)

    // 4. What a token reads of the chunks before its own.
    let starts = starts.reshape((m, r * p, n))?;
    let y_off = cmat.matmul(&starts.t()?)?.reshape((m, q, r, p))?;
    let from_start = decays.from_start.transpose(1, 2)?.unsqueeze(3)?; // (m, q, r, 1)
    let y_off = inputs.tap("scan.y_off", y_off.broadcast_mul(&from_start)?)?; // (m, q, r, p)

    let y = (y_diag + y_off)?.reshape((b, c, g, q, r * p))?.transpose(2, 3)?; // (b, c, q, g, r·p)
    let y = y.reshape((b, c * q, h, p))?.narrow(1, 0, l)?; // (b, l, h, p)
    Ok(Output { y: inputs.skip(y)?, state })
}

/// Passes the state over the chunks: S ← decay·S + states, from `decay` (b, c, h).
fn recurrence(
    inputs: &Inputs,
    sizes: Sizes,
    states: &Tensor,
    decay: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let mut h = inputs.start(sizes)?; // (b, h, p, n)
    let mut starts = Vec::with_capacity(states.dim(1)?);
    for chunk in 0..states.dim(1)? {
        starts.push(h.clone());
        let decay = decay.narrow(1, chunk, 1)?.squeeze(1)?.unsqueeze(2)?.unsqueeze(3)?; // (b, h, 1, 1)
        let added = states.narrow(1, chunk, 1)?.squeeze(1)?; // (b, h, p, n)
        h = inputs.tap("scan.h", (h.broadcast_mul(&decay)? + added)?)?; // (b, h, p, n)
    }
    Ok((Tensor::stack(&starts, 1)?, h)) // (b, c, h, p, n), (b, h, p, n)
}

/// How the sequence is cut.
struct Chunks {
    c: usize,
    q: usize,
    r: usize,
    m: usize,
    sizes: Sizes,
}

/// The products of decays that the four steps need.
struct Decays {
    /// From token j (axis 2) to token i (axis 3) of a chunk, zero where i < j or a reset lies between (m, r, q, q).
    between: Tensor,
    /// From a token to the end of its chunk (m, r, q).
    to_end: Tensor,
    /// From the start of a chunk through a token (m, r, q).
    from_start: Tensor,
    /// Over a whole chunk (b, c, h).
    whole: Tensor,
}

impl Chunks {
    /// Pads the sequence to whole chunks with zeros, which change no state: (b, l, ..) → (m, q, features).
    fn cut(&self, sequence: &Tensor, features: usize) -> Result<Tensor> {
        let Self { c, q, m, sizes: Sizes { b, g, .. }, .. } = *self;
        let padded = sequence.pad_with_zeros(1, 0, self.padding())?; // (b, c·q, ..)
        let chunks = padded.reshape((b, c, q, g, features))?.transpose(2, 3)?; // (b, c, g, q, features)
        chunks.reshape((m, q, features))
    }

    /// Tokens short of whole chunks: none, and not a chunk, where l is a multiple of q.
    const fn padding(&self) -> usize {
        (self.q - self.sizes.l % self.q) % self.q
    }

    fn decays(&self, inputs: &Inputs) -> Result<Decays> {
        let Self { c, q, r, sizes: Sizes { b, h, .. }, .. } = *self;
        let (dtype, device) = (inputs.x.dtype(), inputs.x.device());
        let log = self.cut(&inputs.dt.broadcast_mul(inputs.a)?, r)?.t()?.contiguous()?; // (m, r, q)

        // Row j of `terms` holds the exponents after token j, so its running sum at i is the segment sum from j to i.
        let after = (Tensor::triu2(q, dtype, device)? - Tensor::eye(q, dtype, device)?)?; // (q, q), 1 where k > j
        let terms = log.unsqueeze(2)?.broadcast_mul(&after)?; // (m, r, q, q)
        let segments = running_sum(&terms)?; // (m, r, q, q), from j to i

        let segment_ids = self.segment_ids(inputs)?; // (m, q)
        let between = masked_exp(&segments, &self.visible(segment_ids.as_ref(), inputs)?)?;
        let to_end = between.narrow(3, q - 1, 1)?.squeeze(3)?; // (m, r, q)
        let from_start = running_sum(&log)?; // (m, r, q)
        let from_start = match segment_ids {
            Some(ids) => masked_exp(&from_start, &ids.eq(0f32)?.unsqueeze(1)?)?,
            None => from_start.exp()?,
        };
        let whole = from_start.narrow(2, q - 1, 1)?.reshape((b, c, h))?;
        Ok(Decays { between, to_end, from_start, whole })
    }

    /// How many resets lie at or before a token in its chunk, if there are any (m, q).
    fn segment_ids(&self, inputs: &Inputs) -> Result<Option<Tensor>> {
        let Self { c, q, m, sizes: Sizes { b, g, .. }, .. } = *self;
        let Some(reset) = inputs.reset else {
            return Ok(None);
        };
        let reset = reset.ne(0u32)?.to_dtype(DType::F32)?.pad_with_zeros(1, 0, self.padding())?;
        let ids = running_sum(&reset.reshape((b, c, q))?)?; // (b, c, q)
        ids.unsqueeze(2)?.broadcast_as((b, c, g, q))?.reshape((m, q)).map(Some)
    }

    /// 1 where token i reads token j: not later, and of the same segment (m or 1, 1, q, q).
    fn visible(&self, segment_ids: Option<&Tensor>, inputs: &Inputs) -> Result<Tensor> {
        let causal = Tensor::triu2(self.q, DType::U8, inputs.x.device())?; // (q, q), 1 where i ≥ j
        let Some(ids) = segment_ids else {
            return causal.unsqueeze(0)?.unsqueeze(0);
        };
        let same = ids.unsqueeze(2)?.broadcast_eq(&ids.unsqueeze(1)?)?; // (m, q, q)
        same.broadcast_mul(&causal)?.unsqueeze(1)
    }
}

/// Sums along the last axis, each entry over itself and those before it.
fn running_sum(terms: &Tensor) -> Result<Tensor> {
    let upper = Tensor::triu2(terms.dim(D::Minus1)?, terms.dtype(), terms.device())?; // (q, q)
    terms.broadcast_matmul(&upper)
}

/// exp where `mask` is 1, else 0. The mask comes before the exponential, so that no gradient meets 0·∞.
fn masked_exp(exponents: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let never = Tensor::new(f32::NEG_INFINITY, exponents.device())?.to_dtype(exponents.dtype())?;
    let never = never.broadcast_as(exponents.shape())?;
    mask.broadcast_as(exponents.shape())?.where_cond(exponents, &never)?.exp()
}
