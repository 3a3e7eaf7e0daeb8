//! The reference of the gate: the keys of a rule, and every metric that a rule can name.

use super::{head, row};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::eval::gate::metric::{Better, Scale, patterns, side};
use crate::report::model::Mode;

const INTRODUCTION: &str = "\
# Gate

`eval gate` holds a report against an accepted one ([evaluation.md](evaluation.md)).
The tables are printed by `judge-cascade reference gate`.

## Rules

A file for `--rules` is TOML with a `[[rule]]` for each metric; two rules over one metric both hold.

```toml
[[rule]]
metric = \"cascade.diagnosis.false_pass\"
max = 0.05

[[rule]]
metric = \"cascade.cost.per_row_nano_usd\"
slice = \"language=en\"
tolerance = 0.1
```

";

const KEYS: [(&str, &str); 6] = [
    ("metric", "The path of the metric; a rule must have it."),
    (
        "slice",
        "The name of a slice of the report, for instance `tag=refunds`; without it the metric is over all rows.",
    ),
    (
        "tolerance",
        "By how much the metric may be worse than the accepted value, from 0 to 1. An absolute one is in the unit of \
         the metric (0.05: from 0.90 to 0.85), a relative one is a share of the accepted value (0.05: 5 %). Without \
         `min` and `max` it is 0.01 if it is not there; with one of them the accepted value is not looked at unless \
         there is a tolerance.",
    ),
    ("min", "The least value; a metric below it fails."),
    ("max", "The highest value; a metric above it fails."),
    (
        "higher_is_better",
        "`true` or `false` turns the direction of the table around, for instance for `coverage` if it shall not grow.",
    ),
];

const METRICS: &str = "\
Without `--rules` the metrics marked *yes* are gated with a tolerance of 0.01, over all rows and as far as the accepted \
report has them.
Differences are rounded to four decimals first.
A metric that the accepted report has and this one has not fails; one that neither has is an error, and the exit code \
is 1 for both.
A slice has fewer metrics than the whole.
Counts cannot be gated: both reports are over the same rows, so the rate says the same.

";

/// The whole document.
pub(super) fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    text += &head(&["key", "meaning"]);
    for (key, meaning) in KEYS {
        text += &row(&[&format!("`{key}`"), meaning]);
    }
    text += "\n## Metrics\n\n";
    text += METRICS;
    text += &head(&["metric", "meaning", "better", "tolerance", "by default"]);
    for metric in patterns() {
        text += &row(&[
            &format!("`{}`", metric.path),
            metric.meaning,
            match metric.better {
                Better::Higher => "higher",
                Better::Lower => "lower",
            },
            match metric.scale {
                Scale::Absolute => "absolute",
                Scale::Relative => "relative",
            },
            if metric.is_default { "yes" } else { "no" },
        ]);
    }
    text += "\n## Parts of a path\n\n";
    text += &head(&["part", "stands for"]);
    text += &row(&[
        "`MODE`",
        &listed(Mode::ALL.iter().map(|mode| mode.name().to_owned())),
    ]);
    let diagnoses = Diagnosis::ALL
        .iter()
        .map(|diagnosis| diagnosis.name().to_owned());
    text += &row(&["`DIAGNOSIS`", &listed(diagnoses)]);
    let dimensions = Dimension::ALL.iter();
    let dimensions = dimensions.map(|&dimension| format!("{}.{dimension}", side(dimension)));
    text += &row(&["`SIDE.DIMENSION`", &listed(dimensions)]);
    text
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
