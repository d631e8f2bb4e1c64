//! Runs that are made up: names that are hostile, and very many cases.
use shapelock::harness::report::{
    Diff, Flow, FlowStep, Mark, Record, Run, Shown, Stand, State, Stop,
};

/// Markup, quotes and no place to break a line, wherever a text comes from outside.
pub const HOSTILE: &str =
    "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&`|\u{1b}[31m";

fn step(name: &str, stand: Stand) -> FlowStep {
    FlowStep {
        name: name.to_owned(),
        named: true,
        count: 1,
        shape: "(b, l, n) [8, 60, 16]".into(),
        wanted: (stand != Stand::Right).then(|| HOSTILE.repeat(2)),
        place: Some(HOSTILE.into()),
        stand,
        note: if stand == Stand::First { HOSTILE.repeat(3) } else { String::new() },
        ..FlowStep::default()
    }
}

/// One case whose every text is hostile.
pub fn hostile() -> Run {
    let long = "a_name_of_a_tap_that_does_not_end".repeat(12);
    let text = || HOSTILE.to_owned();
    let inside = FlowStep { loops: vec![(text(), text())], ..step(HOSTILE, Stand::Right) };
    let steps = vec![step(&long, Stand::Right), inside, step(HOSTILE, Stand::First)];
    let flow =
        Flow { variant: text(), at: text(), steps, parameters: vec![(long.clone(), text())] };
    let shown = Shown {
        text: format!("{HOSTILE}\n```\n{long}\n"),
        flows: vec![flow],
        marks: vec![Mark { step: long.clone(), variant: text(), text: text() }],
        stops: vec![Stop {
            parameters: vec![text(), long.clone()],
            variant: text(),
            text: text(),
            without: Some(long.clone()),
            with: Some(text()),
        }],
        diff: Some(Diff { path: text(), old: Some(text()), new: format!("{long}\n{HOSTILE}") }),
        changes: vec![text()],
        notes: vec![text()],
        ..Shown::default()
    };
    let record = |name: &str, state: State| Record {
        name: format!("{HOSTILE}::{name}"),
        case: text(),
        check: name.to_owned(),
        device: "cpu".into(),
        file: text(),
        line: 3,
        state,
        points: 2,
        shown: shown.clone(),
    };
    let states = [State::Failed, State::Passed, State::Skipped(text())];
    Run {
        trials: ["shapes", HOSTILE, &long]
            .iter()
            .zip(states)
            .map(|(name, state)| record(name, state))
            .collect(),
    }
}

/// Thousands of cases of a deep model, each tenth of which fails.
pub fn large() -> Run {
    let trial = |i: usize| {
        let bad = i % 10 == 3;
        let stand = |at: usize| if bad && at == 700 { Stand::First } else { Stand::Right };
        let layer = |at: usize| format!("layers.{}.mixer.step_{}", at / 20, at % 20);
        let steps =
            (0..1000).map(|at| FlowStep { note: String::new(), ..step(&layer(at), stand(at)) });
        let flow = Flow { at: "b=8 l=60 f32".into(), steps: steps.collect(), ..Flow::default() };
        let line = "  a line of a table that says what was expected and what there was\n";
        let text = if bad {
            format!("folder::case_{i}::shapes: fails\n\n{}", line.repeat(30))
        } else {
            String::new()
        };
        Record {
            name: format!("folder::case_{i}::shapes"),
            case: format!("folder::case_{i}"),
            check: "shapes".into(),
            device: "cpu".into(),
            file: format!("cases/folder/case_{i}.yaml"),
            line: 1,
            state: if bad { State::Failed } else { State::Passed },
            points: 4,
            shown: Shown { text, flows: vec![flow], ..Shown::default() },
        }
    };
    Run { trials: (0..3000).map(trial).collect() }
}
