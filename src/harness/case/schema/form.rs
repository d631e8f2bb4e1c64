//! What the file of a case may say, as types that nothing but the schema is made from: the reader of cases keeps the place
//! of every value, which types that are read by serde would lose.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::harness::case::Lock;
use crate::harness::case::fields::{DEFAULT_BUDGET, DEFAULT_POINTS, MOST_POINTS};
use crate::harness::case::kinds::{DType, DeviceKind};
use crate::harness::case::matrix::MAX_SIZE;

/// One case: a model, the sizes it is run at, and what has to hold.
#[derive(JsonSchema)]
#[schemars(
    title = "A case of shapelock",
    deny_unknown_fields,
    transform = relations,
    extend("dependencies" = {
        "twin": ["caught_by"], "at": ["caught_by"], "cause": ["caught_by"], "alive_in": ["caught_by"]
    })
)]
#[expect(dead_code, reason = "it is the form of a file; the schema alone reads it")]
pub(super) struct Form {
    /// The model under test, by the name it is registered with.
    subject: Text,
    /// What would go wrong without this case.
    why: Text,
    /// The configuration that the subject reads.
    #[schemars(default, extend("default" = {}))]
    config: Config,
    /// Seed of parameters, inputs and cotangents.
    #[schemars(default)]
    seed: u64,
    /// Changes to `config`, key by key at its top level; each variant has a section in the snapshot.
    #[schemars(default, extend("default" = {"plain": {}}, "minProperties" = 1))]
    variants: BTreeMap<Name, Config>,
    /// The values the case is run over: sizes by the subject's names, `dtype` and `device`. The first value of each list
    /// makes the reference point.
    #[schemars(default, extend("minProperties" = 1))]
    matrix: Matrix,
    /// Points that are left out: parts of points, such as `{batch: 3, dtype: f64}`, or conditions, such as `l > 60`.
    #[schemars(default, length(min = 1))]
    except: Vec<Filter>,
    /// Points that are kept, all if not given: parts of points or conditions.
    #[schemars(default, length(min = 1))]
    only: Vec<Filter>,
    /// The contract, step by step, such as `states: b l n`: it holds before any snapshot exists, and accepting one cannot
    /// change it.
    #[schemars(default, extend("default" = {}, "minProperties" = 1))]
    shapes: BTreeMap<Pattern, Axes>,
    /// Parameters whose gradient is exactly zero where the condition holds, and is not somewhere else: `A: l == 1`.
    #[schemars(default, extend("default" = {}, "minProperties" = 1))]
    zero_gradient: BTreeMap<Pattern, Condition>,
    /// The checks to make; if not given, all that the subject has what they need for, but those that a case has to name.
    #[schemars(default, length(min = 1), extend("uniqueItems" = true))]
    checks: Vec<CheckName>,
    /// For the check `broadcast`: steps before which an axis of 1 is meant to be repeated.
    #[schemars(default, length(min = 1))]
    broadcast: Vec<Pattern>,
    /// For the checks `dtype` and `lints`: steps that may be in f32 or wider where the point's format is narrower.
    #[schemars(default, length(min = 1))]
    keeps_f32: Vec<Pattern>,
    /// How far values may be apart, max |a - b| / max |b|, for a check: one number, or one for each number format.
    #[schemars(default, extend("minProperties" = 1))]
    tolerance: BTreeMap<CheckName, Tolerance>,
    /// Words to select cases by.
    #[schemars(default, length(min = 1), extend("uniqueItems" = true))]
    tags: Vec<Name>,
    /// Whether the snapshot holds every step or those with a name.
    #[schemars(default, extend("default" = "all"))]
    lock: Lock,
    /// Each point has to end with an error.
    #[schemars(default)]
    expect: Expect,
    /// For the check `reference`: another subject with the same parameters, which has to compute the same.
    #[schemars(default)]
    reference: Text,
    /// For a subject with a known fault: the same subject without it, on which every check has to pass.
    #[schemars(default)]
    twin: Text,
    /// For a subject with a known fault: the checks that have to fail.
    #[schemars(default, length(min = 1), extend("uniqueItems" = true))]
    caught_by: Vec<CheckName>,
    /// With `caught_by`: the step, parameter or op that the checks have to name; one for all, or one for each.
    #[schemars(default)]
    at: At,
    /// With `caught_by`: text that the first of the checks has to say.
    #[schemars(default)]
    cause: Text,
    /// With `caught_by`: the library and version that has the fault.
    #[schemars(default)]
    alive_in: Text,
    /// Memory that one point may take: bytes, or a whole number of KiB, MiB or GiB.
    #[schemars(default, extend("default" = DEFAULT_BUDGET))]
    budget: Budget,
    /// Points over all variants, before filters.
    #[schemars(default, range(min = 1, max = MOST_POINTS), extend("default" = DEFAULT_POINTS))]
    max_points: u64,
}

/// A size of 0 is for cases that expect an error.
fn relations(schema: &mut Schema) {
    let positive = json!({"items": {"not": {"const": 0}}});
    let matrix = json!({"properties": {"matrix": {"additionalProperties": positive}}});
    schema.insert("if".to_owned(), json!({"required": ["expect"]}));
    schema.insert("else".to_owned(), matrix);
}

#[derive(JsonSchema, Default)]
#[schemars(inline, extend("pattern" = r"\S"))]
struct Text(#[expect(dead_code, reason = "the schema alone reads it")] String);

/// Letters, digits, `_` and `-`.
#[derive(JsonSchema, Default, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(inline, extend("pattern" = r"^[A-Za-z0-9_-]+$"))]
struct Name(String);

/// The name of a check.
#[derive(JsonSchema, Default, PartialEq, Eq, PartialOrd, Ord)]
struct CheckName(String);

/// A dotted name of a step or parameter; `*` is one whole segment.
#[derive(JsonSchema, Default, PartialEq, Eq, PartialOrd, Ord)]
#[schemars(inline, extend("pattern" = r"^(\*|[^\s.*]+)(\.(\*|[^\s.*]+))*$"))]
struct Pattern(String);

type Config = BTreeMap<String, Value>;

#[derive(JsonSchema, Default)]
#[schemars(extend(
    "propertyNames" = {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "not": {"enum": ["variant", "and", "or", "min", "max", "ceil"]}}
))]
#[expect(dead_code, reason = "the schema alone reads it")]
struct Matrix {
    /// Number formats of parameters and float inputs.
    #[schemars(default, length(min = 1), extend("uniqueItems" = true, "default" = ["f32"]))]
    dtype: Vec<DType>,
    /// Devices; one that is absent is skipped, and the summary says so.
    #[schemars(default, length(min = 1), extend("uniqueItems" = true, "default" = ["cpu"]))]
    device: Vec<DeviceKind>,
    #[schemars(flatten)]
    sizes: BTreeMap<String, Sizes>,
}

/// The values of a size; the first is that of the reference point.
#[derive(JsonSchema)]
#[schemars(inline, extend("minItems" = 1, "uniqueItems" = true))]
struct Sizes(#[expect(dead_code, reason = "the schema alone reads it")] Vec<Size>);

#[derive(JsonSchema)]
#[schemars(inline, extend("maximum" = MAX_SIZE))]
struct Size(#[expect(dead_code, reason = "the schema alone reads it")] u64);

/// A part of a point, or a condition on dims.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone reads it")]
enum Filter {
    When(Condition),
    Point(PartialPoint),
}

#[derive(JsonSchema)]
#[schemars(inline, extend("minProperties" = 1))]
#[expect(dead_code, reason = "the schema alone reads it")]
struct PartialPoint {
    /// The variant.
    #[schemars(default)]
    variant: Name,
    /// The number format.
    #[schemars(with = "DType", default)]
    dtype: Option<DType>,
    /// The device.
    #[schemars(with = "DeviceKind", default)]
    device: Option<DeviceKind>,
    #[schemars(flatten)]
    sizes: BTreeMap<String, u64>,
}

/// Axes, such as `b l n`, `b l (h p)` or `()`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone reads it")]
enum Axes {
    One(u64),
    // A comma has its place in `min(l, 4)` alone; a `-` or `+` with spaces around it would be an axis.
    Many(
        #[schemars(extend("pattern" = r"^(?!.* [-+*/·] )([^(),]|\([^()]*(\([^()]*\)[^()]*)*\))+$"))]
         String,
    ),
}

/// Comparisons of dims, joined by `and` and `or`: `l == 1`, `b > 1 and l < q`.
#[derive(JsonSchema)]
#[schemars(inline, extend("pattern" = r"^[^=!<>]+(==|!=|<=?|>=?)[^=!<>].*$"))]
struct Condition(#[expect(dead_code, reason = "the schema alone reads it")] String);

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "the schema alone reads it")]
enum Tolerance {
    All(Distance),
    Each(Each),
}

#[derive(JsonSchema)]
#[schemars(inline, extend("minimum" = 0))]
struct Distance(#[expect(dead_code, reason = "the schema alone reads it")] f64);

#[derive(JsonSchema)]
#[schemars(inline, deny_unknown_fields, extend("minProperties" = 1))]
#[expect(dead_code, reason = "the schema alone reads it")]
struct Each {
    #[schemars(with = "Distance", default)]
    f32: Option<Distance>,
    #[schemars(with = "Distance", default)]
    f64: Option<Distance>,
    #[schemars(with = "Distance", default)]
    f16: Option<Distance>,
    #[schemars(with = "Distance", default)]
    bf16: Option<Distance>,
}

#[derive(JsonSchema, Default)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "the schema alone reads it")]
struct Expect {
    /// Text that the error contains.
    error: Text,
    /// The step right after which it happens, or the op in which it does.
    #[schemars(default)]
    at: Text,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "the schema alone reads it")]
enum At {
    All(Text),
    Each(#[schemars(extend("minProperties" = 1))] BTreeMap<CheckName, Text>),
}

impl Default for At {
    fn default() -> Self {
        Self::All(Text::default())
    }
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "the schema alone reads it")]
enum Budget {
    Bytes(#[schemars(range(min = 1))] u64),
    Text(#[schemars(extend("pattern" = r"^0*[1-9][0-9]{0,9} *(KiB|MiB|GiB)$"))] String),
}

impl Default for Budget {
    fn default() -> Self {
        Self::Bytes(DEFAULT_BUDGET)
    }
}
