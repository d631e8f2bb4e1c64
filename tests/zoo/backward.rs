//! Backward passes that are not the derivative, of the model's own ops and of candle's.

use candle_core::{CpuStorage, CustomOp1, DType, Layout, Result, Shape, Tensor, bail};
use shapelock::tap;

use super::kit::{BATCH, Parts, Small, small};

const GAIN: &[(&str, &str)] = &[("gain", "d")];
const MARK: &[(&str, &str)] = &[("gain", "d"), ("mark", "d")];

/// Each right twin, and the faults after it.
pub fn subjects() -> Vec<Small> {
    vec![
        scaled("root_of_candle", |x| tap("root", (x.sqr()? + 1.)?.sqrt()?)), // (b, l, d)
        scaled("root_of_wrong_sign", |x| {
            tap("root", (x.sqr()? + 1.)?.apply_op1(Root)?) // ~fault
        }),
        marked("mark_by_cat", |x, mark| {
            let kept = x.narrow(1, 0, x.dim(1)? - 1)?; // (b, l - 1, d)
            tap("marked", Tensor::cat(&[&kept, mark], 1)?) // (b, l, d)
        }),
        marked("mark_by_scatter", |x, mark| {
            tap("marked", x.scatter(&last(x)?, mark, 1)?) // ~fault
        }),
        marked("mark_by_padding", |x, mark| {
            tap("marked", (x + mark.pad_with_zeros(1, x.dim(1)? - 1, 0)?)?) // (b, l, d)
        }),
        marked("mark_by_scatter_add", |x, mark| {
            tap("marked", x.scatter_add(&last(x)?, mark, 1)?) // ~fault
        }),
        scaled("stretched_by_broadcast", |x| {
            let (b, l, d) = x.dims3()?;
            let twice = x.unsqueeze(2)?.broadcast_as((b, l, 2, d))?.reshape((b, 2 * l, d))?;
            tap("stretched", (twice.narrow(1, 0, l)? + x)?) // (b, l, d)
        }),
        scaled("stretched_by_upsample", |x| {
            let (rows, l) = (x.transpose(1, 2)?.contiguous()?, x.dim(1)?); // (b, d, l)
            let twice = rows.upsample_nearest1d(2 * l)?; // (b, d, 2·l)
            tap("stretched", (twice.narrow(2, 0, l)? + rows)?.transpose(1, 2)?) // ~fault
        }),
        scaled("pairs_by_mean", |x| {
            let (b, l, d) = x.dims3()?;
            let pairs = x.narrow(1, 0, l / 2 * 2)?.reshape((b, l / 2, 2, d))?;
            tap("pairs", pairs.mean(2)?) // (b, l / 2, d)
        }),
        scaled("pairs_by_pool", |x| {
            tap("pairs", x.unsqueeze(1)?.avg_pool2d((2, 1))?.squeeze(1)?) // ~fault
        }),
    ]
}

/// What is made of gain · x: (b, l, d) → (b, l, d).
fn scaled(name: &'static str, make: fn(&Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, GAIN, move |parts| make(&gained(parts)?))
}

/// gain · x with a mark, (b, 1, d), on the last token: (b, l, d) → (b, l, d).
fn marked(name: &'static str, put: fn(&Tensor, &Tensor) -> Result<Tensor>) -> Small {
    small(name, BATCH, MARK, move |parts| {
        let x = gained(parts)?; // (b, l, d)
        let (b, _, d) = x.dims3()?;
        put(&x, &parts.get("mark")?.broadcast_as((b, 1, d))?.contiguous()?)
    })
}

fn gained(parts: &Parts<'_>) -> Result<Tensor> {
    tap("gained", parts.get("input")?.broadcast_mul(&parts.get("gain")?)?) // (b, l, d)
}

/// Where the last token of x is, for each feature: (b, 1, d).
fn last(x: &Tensor) -> Result<Tensor> {
    let (b, l, d) = x.dims3()?;
    Tensor::full(l as u32 - 1, (b, 1, d), x.device())?.to_dtype(DType::U32)
}

/// √x, whose derivative has lost its sign (candle 211).
struct Root;

impl CustomOp1 for Root {
    fn name(&self) -> &'static str {
        "root"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some((from, to)) = layout.contiguous_offsets() else { bail!("root: strided input") };
        let roots = match storage {
            CpuStorage::F32(x) => CpuStorage::F32(x[from..to].iter().map(|x| x.sqrt()).collect()),
            CpuStorage::F64(x) => CpuStorage::F64(x[from..to].iter().map(|x| x.sqrt()).collect()),
            _ => bail!("root: neither f32 nor f64"),
        };
        Ok((roots, layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, root: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some((grad.div(root)? * -0.5)?)) // ~fault
    }
}
