//! A package whose run is red in many ways, and one whose run is green; each runs in a child process.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases by name: every kind of failure that a report has to show, and two that pass.
pub const RED: &[(&str, &str)] = &[
    (
        "ssm::states_joined",
        "subject: states_cat_0\nwhy: batch must survive the state loop\nconfig: {d_model: 32, expand: 4, d_state: 16}\nmatrix: {batch: [8, 1], seq: [20, 1, 19], device: [cpu, cuda]}\nshapes: {states: b l n, output: b l i}\nzero_gradient: {A: l == 1}\n",
    ),
    (
        "ssm::states_joined_too",
        "subject: states_cat_0\nwhy: the same fault in a second case\nconfig: {d_model: 32, expand: 2, d_state: 8}\nmatrix: {batch: [4], seq: [6]}\nshapes: {states: b l n}\nchecks: [shapes]\n",
    ),
    (
        "ssm::state_detached",
        "subject: state_detached\nwhy: a state that is cut off learns nothing\nconfig: {d_model: 32, d_state: 16}\nmatrix: {batch: [3, 1], seq: [5, 1]}\n",
    ),
    (
        "ssm::softplus",
        "subject: softplus_by_definition\nwhy: softplus is linear where its exponential overflows\nconfig: {d_model: 32, d_state: 16}\nmatrix: {batch: [3, 1], seq: [5, 1]}\n",
    ),
    (
        "ssm::product",
        "subject: x_times_b_by_matmul\nwhy: a product that candle refuses\nconfig: {d_model: 32, expand: 4, d_state: 16}\nmatrix: {batch: [3], seq: [5]}\nchecks: [shapes]\n",
    ),
    (
        "attention::future",
        "subject: attention_of_the_future\nwhy: what comes later must not be seen\nconfig: {d_model: 6}\nmatrix: {batch: [3, 1], seq: [7, 2]}\n",
    ),
    (
        "mamba2::changed",
        "subject: dense_ssm\nwhy: what is locked has another order of axes\nconfig: {d_model: 8, expand: 2, d_state: 4}\nmatrix: {batch: [2], seq: [5]}\nchecks: [shapes]\n",
    ),
    ("mamba2::block", MAMBA2),
    ("unreadable", "subject: dense_ssm\nwhy: a size twice\nmatrix: {batch: [1, 1], seq: [2]}\n"),
];

/// The same for a run in which all is well.
pub const GREEN: &[(&str, &str)] = &[
    ("mamba2::block", MAMBA2),
    (
        "ssm::dense",
        "subject: dense_ssm\nwhy: all is well\nconfig: {d_model: 8, expand: 2, d_state: 4}\nmatrix: {batch: [2, 1], seq: [5, 1]}\nshapes: {states: b l n}\nzero_gradient: {A: l == 1}\n",
    ),
];

const MAMBA2: &str = "subject: mamba2\nwhy: a model of two layers\nconfig: {d_model: 16, n_layer: 2, vocab_size: 8, d_state: 4, headdim: 8, chunk_size: 4}\nmatrix: {batch: [2, 1], seq: [9, 1]}\nchecks: [shapes, gradients, finite, batch, causal]\nzero_gradient: {backbone.layers.*.mixer.A_log: l == 1}\n";

/// What `mamba2::changed` had locked before its model changed.
const LOCKED: &str = "---\nsource: tests/reports.rs\n---\ndense_ssm at b=2 l=5 d=8 i=16 n=4 f32\n\nforward\ninput (b, l, d) [2, 5, 8]\ninput_projection (b, l, i) [2, 5, 16]\nscan_input (b, l, n) [2, 5, 4]\nscan ×l\n  scan.x (b, n) [2, 4]\n  scan.h (b, n) [2, 4]\nstates (l, b, n) [5, 2, 4]\noutput (b, l, i) [2, 5, 16]\n\ngradient\nA (n, n) [4, 4]\nB (n, i) [4, 16]\nC (i, n) [16, 4]\ninput_projection.bias (i) [16]\ninput_projection.weight (i, d) [16, 8]\n";

/// A folder below `target/` for a package, empty.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

/// Writes a package's cases.
pub fn package(name: &str, cases: &[(&str, &str)]) -> PathBuf {
    let folder = folder(name);
    for (case, text) in cases {
        write(&folder, &format!("cases/{}.yaml", case.replace("::", "/")), text);
    }
    if cases.iter().any(|(case, _)| *case == "mamba2::changed") {
        write(&folder, "snapshots/mamba2/changed.snap", LOCKED);
    }
    folder
}

/// Runs a package's tests or its command line in a child process: its exit code and what it says.
pub fn run(folder: &Path, words: &str, variables: &[(&str, &str)]) -> (i32, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture", "--test-threads=1"]);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if ["SHAPELOCK_", "GITHUB_", "NEXTEST", "INSTA_"]
            .iter()
            .any(|start| name.starts_with(start))
        {
            child.env_remove(&*name);
        }
    }
    child.env("SHAPELOCK_TEST_CHILD", words).env("CARGO_MANIFEST_DIR", folder);
    child.env("RUST_LIB_BACKTRACE", "1").env("INSTA_OUTPUT", "none").env("INSTA_UPDATE", "no");
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), text.concat())
}

pub fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

pub fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
