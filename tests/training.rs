//! Training: the optimiser is AdamW, parts of a batch add up, and a resumed run is the run that was not stopped.
mod common;

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::Optimizer;
use rstest::rstest;

use common::{error, ids, normal};
use shapelock::model::mamba2::{Config, Mamba2, Weights};
use shapelock::model::softplus;
use shapelock::model::train::{AdamW, AdamWConfig, Schedule, TrainError, Training};

fn config() -> Config {
    serde_json::from_str(
        r#"{"d_model": 16, "n_layer": 4, "vocab_size": 16, "d_state": 8, "headdim": 8, "chunk_size": 8}"#,
    )
    .expect("the configuration is valid")
}

/// A language model and a run that trains it.
fn run(seed: u64) -> (Mamba2, Weights, Training) {
    let config = config();
    let weights = Weights::new(&config, DType::F32, &Device::Cpu, seed).unwrap();
    let model = Mamba2::new(&config, weights.builder()).unwrap();
    let optimizer = AdamW::new(weights.trained(&config).unwrap(), AdamWConfig::default()).unwrap();
    let schedule = Schedule { peak: 3e-3, floor: 1e-4, warmup: 2, total: 10 };
    (model, weights, Training { optimizer, schedule, clip: Some(1.) })
}

/// Learns to repeat the token before.
fn loss(model: &Mamba2, seed: u64) -> Result<Tensor> {
    let ids = ids(&[4, 12], 16, seed)?;
    let logits = model.forward(&ids.narrow(1, 0, 11)?)?; // (b, l, v)
    candle_nn::loss::cross_entropy(&logits.flatten(0, 1)?, &ids.narrow(1, 0, 11)?.flatten_all()?)
}

#[test]
fn steps_are_those_of_candles_adamw() -> Result<()> {
    let start = normal(&[6, 5], 1, DType::F64, &Device::Cpu)?;
    let target = normal(&[6, 5], 2, DType::F64, &Device::Cpu)?;
    let loss = |var: &Var| (var.as_tensor() - &target)?.sqr()?.sum_all();

    let expected = Var::from_tensor(&start)?;
    let params =
        candle_nn::ParamsAdamW { lr: 0.05, beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: 0.1 };
    let mut reference = candle_nn::AdamW::new(vec![expected.clone()], params)?;

    let actual = Var::from_tensor(&start)?;
    let vars = [("w".to_string(), actual.clone(), true)];
    let optimizer = AdamW::new(vars, AdamWConfig::default()).unwrap();
    let mut training = Training { optimizer, schedule: Schedule::constant(0.05), clip: None };
    for _ in 0..7 {
        reference.backward_step(&loss(&expected)?)?;
        training.step([loss(&actual)]).unwrap();
    }
    assert!(error(&actual, &expected)? < 1e-14);
    Ok(())
}

#[test]
fn only_the_weights_that_decay_are_pulled() -> Result<()> {
    let [pulled, left] = [(); 2].map(|()| Var::ones(3, DType::F64, &Device::Cpu).unwrap());
    let vars =
        [("pulled".to_string(), pulled.clone(), true), ("left".to_string(), left.clone(), false)];
    let optimizer = AdamW::new(vars, AdamWConfig::default()).unwrap();
    let mut training = Training { optimizer, schedule: Schedule::constant(0.5), clip: None };
    let nothing = Tensor::zeros(3, DType::F64, &Device::Cpu)?;
    let loss = ((pulled.as_tensor() + left.as_tensor())? * nothing)?.sum_all();
    training.step([loss]).unwrap();
    assert_eq!(pulled.to_vec1::<f64>()?, [0.95; 3]);
    assert_eq!(left.to_vec1::<f64>()?, [1.; 3]);

    let config = config();
    let weights = Weights::new(&config, DType::F32, &Device::Cpu, 1).unwrap();
    let trained = weights.trained(&config).unwrap();
    let decaying = trained.iter().filter(|(_, _, decays)| *decays).map(|(name, ..)| name.as_str());
    let kinds: std::collections::BTreeSet<_> =
        decaying.filter_map(|name| name.rsplit_once("mixer.")).map(|(_, kind)| kind).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["conv1d.weight", "in_proj.weight", "out_proj.weight"]
    );
    Ok(())
}

#[test]
fn parts_of_a_batch_add_up() {
    let (model, weights, mut whole) = run(3);
    let together = ((loss(&model, 1).unwrap() + loss(&model, 2).unwrap()).unwrap() / 2.).unwrap();
    let step = whole.step([Ok(together)]).unwrap();

    let (part_model, part_weights, mut parts) = run(3);
    let of_parts = parts.step([loss(&part_model, 1), loss(&part_model, 2)]).unwrap();
    assert!((step.norm - of_parts.norm).abs() / step.norm < 1e-5, "{step:?} {of_parts:?}");
    for ((name, var), part) in weights.vars().iter().zip(part_weights.vars().values()) {
        assert!(error(part, var).unwrap() < 1e-4, "{name}");
    }
}

/// A long gradient moves the moments as a shortened one: direction kept, length cut.
#[test]
fn a_clipped_gradient_is_shortened() -> Result<()> {
    let moved = |clip, scale: f64| {
        let var = Var::zeros(2, DType::F64, &Device::Cpu)?;
        let vars = [("w".to_string(), var.clone(), false)];
        // A large eps makes a step nearly proportional to the gradient.
        let config = AdamWConfig { eps: 1e6, ..AdamWConfig::default() };
        let optimizer = AdamW::new(vars, config).unwrap();
        let mut training = Training { optimizer, schedule: Schedule::constant(1e6), clip };
        let slope = (Tensor::new(&[3f64, 4.], &Device::Cpu)? * scale)?;
        let step = training.step([(var.as_tensor() * slope)?.sum_all()]).unwrap();
        Ok::<_, candle_core::Error>((var.to_vec1::<f64>()?, step.norm))
    };
    let (free, norm) = moved(None, 1.)?;
    assert!((norm - 5.).abs() < 1e-12);
    assert!((free[0] + 3.).abs() < 1e-4 && (free[1] + 4.).abs() < 1e-4, "{free:?}");
    let (clipped, norm) = moved(Some(1.), 1.)?;
    assert!((norm - 5.).abs() < 1e-12);
    assert!((clipped[0] + 0.6).abs() < 1e-4 && (clipped[1] + 0.8).abs() < 1e-4, "{clipped:?}");
    let (short, _) = moved(Some(1.), 0.1)?;
    assert!((short[0] + 0.3).abs() < 1e-4, "{short:?}");
    Ok(())
}

#[test]
fn a_resumed_run_is_the_run_that_was_not_stopped() {
    let losses = |model: &Mamba2, training: &mut Training, steps: std::ops::Range<u64>| {
        let step =
            |number| training.step([loss(model, number), loss(model, 100 + number)]).unwrap();
        steps
            .map(step)
            .map(|step| (step.loss.to_bits(), step.norm.to_bits(), step.lr.to_bits()))
            .collect::<Vec<_>>()
    };
    let (model, _, mut training) = run(3);
    let whole = losses(&model, &mut training, 0..8);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.safetensors");
    let (model, _, mut training) = run(3);
    let before = losses(&model, &mut training, 0..5);
    training.save(&path).unwrap();
    // Another seed: all that is resumed comes from the file.
    let (model, _, mut training) = run(4);
    training.resume(&path).unwrap();
    assert_eq!(training.optimizer.steps(), 5);
    let after = losses(&model, &mut training, 5..8);
    assert_eq!([before, after].concat(), whole);
}

#[test]
fn a_run_of_another_model_is_not_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.safetensors");
    let (_, _, training) = run(3);
    training.save(&path).unwrap();
    let config = Config { n_layer: 3, ..config() };
    let weights = Weights::new(&config, DType::F32, &Device::Cpu, 1).unwrap();
    let optimizer = AdamW::new(weights.trained(&config).unwrap(), AdamWConfig::default()).unwrap();
    let mut other = Training { optimizer, schedule: Schedule::constant(1.), clip: None };
    let error = other.resume(&path).unwrap_err().to_string();
    assert!(error.ends_with("first.backbone.layers.3.mixer.A_log: is of another model"), "{error}");
    assert_eq!(other.optimizer.steps(), 0);

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let (_, _, mut training) = run(3);
    assert!(matches!(training.resume(&path), Err(TrainError::Saved { .. })));
}

#[test]
fn a_step_that_cannot_be_made_changes_nothing() {
    let (model, weights, mut training) = run(3);
    let before: Vec<_> =
        weights.vars().values().map(|var| var.as_detached_tensor().copy().unwrap()).collect();
    let infinite = (loss(&model, 1).unwrap() / 0.).unwrap();
    let error = training.step([Ok(infinite)]).unwrap_err().to_string();
    assert_eq!(error, "step 1: the loss is inf: no weight has changed");
    assert!(matches!(training.step([]), Err(TrainError::NoLoss)));
    let other = Var::ones((), DType::F32, &Device::Cpu).unwrap();
    let Err(TrainError::Severed { names }) = training.step([other.sqr()]) else {
        panic!("a loss that reaches no weight is an error");
    };
    assert_eq!(names.len(), weights.vars().len());
    for ((name, var), before) in weights.vars().iter().zip(&before) {
        assert_eq!(error_or_zero(var, before), 0., "{name}");
    }
    assert_eq!(training.optimizer.steps(), 0);
}

fn error_or_zero(actual: &Tensor, expected: &Tensor) -> f64 {
    error(actual, expected).unwrap()
}

#[rstest]
#[case(AdamWConfig { beta1: 1., ..AdamWConfig::default() }, "beta1: expected 0 or more and below 1, actual 1")]
#[case(AdamWConfig { beta2: f64::NAN, ..AdamWConfig::default() }, "beta2: expected 0 or more and below 1, actual NaN")]
#[case(AdamWConfig { eps: 0., ..AdamWConfig::default() }, "eps: expected a positive number, actual 0")]
#[case(AdamWConfig { weight_decay: -1., ..AdamWConfig::default() }, "weight_decay: expected 0 or more, actual -1")]
fn settings_out_of_bounds_are_refused(#[case] config: AdamWConfig, #[case] message: &str) {
    assert_eq!(AdamW::new([], config).unwrap_err().to_string(), message);
}

/// The reference's initialisation.
#[test]
fn new_weights_are_drawn_as_the_references() -> Result<()> {
    let text = r#"{"d_model": 256, "n_layer": 4, "vocab_size": 512, "headdim": 8}"#;
    let config: Config = serde_json::from_str(text).expect("the configuration is valid");
    let weights = Weights::new(&config, DType::F32, &Device::Cpu, 1)?;
    let of = |name: &str| weights.vars()[&format!("backbone.layers.1.{name}")].to_dtype(DType::F64);
    let bounds = |t: &Tensor| {
        let t = t.flatten_all()?;
        Ok::<_, candle_core::Error>((t.min(0)?.to_scalar::<f64>()?, t.max(0)?.to_scalar::<f64>()?))
    };
    let deviation = |t: &Tensor| t.sqr()?.mean_all()?.sqrt()?.to_scalar::<f64>();
    let (low, high) = bounds(&of("mixer.A_log")?.exp()?)?;
    assert!((1. ..2.5).contains(&low) && (14. ..=16.).contains(&high), "A in [{low}, {high}]");
    let (low, high) = bounds(&softplus(&of("mixer.dt_bias")?)?)?;
    assert!(low > 0.000_99 && low < 0.002 && high < 0.1001 && high > 0.05, "dt in [{low}, {high}]");
    assert_eq!(bounds(&of("mixer.D")?)?, (1., 1.));
    assert_eq!(bounds(&of("norm.weight")?)?, (1., 1.));
    assert!((deviation(&of("mixer.in_proj.weight")?)? / 0.02 - 1.).abs() < 0.02);
    assert!((deviation(&of("mixer.out_proj.weight")?)? / 0.01 - 1.).abs() < 0.02);
    let (low, high) = bounds(&of("mixer.conv1d.weight")?)?;
    assert!((-0.5..-0.49).contains(&low) && (0.49..=0.5).contains(&high));

    let again = Weights::new(&config, DType::F32, &Device::Cpu, 1)?;
    let other = Weights::new(&config, DType::F32, &Device::Cpu, 2)?;
    let name = "backbone.layers.1.mixer.in_proj.weight";
    assert_eq!(error(&again.vars()[name], &weights.vars()[name])?, 0.);
    assert!(error(&other.vars()[name], &weights.vars()[name])? > 0.5);
    Ok(())
}
