//! Rules of a gate: strict TOML in, every problem with its line.

use serde::Deserialize;
use toml::Spanned;

use super::policy::line_of;

/// A rule as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRule {
    /// The metric.
    pub metric: Written,
    /// The slice; without one it is over all rows.
    pub slice: Option<Written>,
    /// By how much the metric may be worse.
    pub tolerance: Option<WrittenNumber>,
    /// The least value.
    pub min: Option<f64>,
    /// The highest value.
    pub max: Option<f64>,
    /// Which way is better, if not as usual.
    pub higher_is_better: Option<bool>,
}

/// A name and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The name.
    pub name: String,
    /// Its line, counted from 1.
    pub line: usize,
}

/// A number and its line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WrittenNumber {
    /// The number.
    pub number: f64,
    /// Its line, counted from 1.
    pub line: usize,
}

/// What stands in an error about a file without a rule.
const EXAMPLE: &str = "\
[[rule]]
metric = \"cascade.diagnosis.false_pass\"
max = 0.05";

/// Everything that is wrong with a file of rules, each line `file:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct GateRulesError(pub Vec<String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    metric: Spanned<String>,
    slice: Option<Spanned<String>>,
    tolerance: Option<Spanned<f64>>,
    min: Option<Spanned<f64>>,
    max: Option<Spanned<f64>>,
    higher_is_better: Option<bool>,
}

/// Reads a file of rules and lists everything that is wrong with its numbers.
pub fn read(file: &str, text: &str) -> Result<Vec<GateRule>, GateRulesError> {
    let rows: File = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let line = line_of(text, offset);
        GateRulesError(vec![format!("{file}:{line}: {}", error.message().trim())])
    })?;
    let mut reader = Reader {
        file,
        text,
        errors: Vec::new(),
    };
    if rows.rule.is_empty() {
        let problem = format!("{file}:1: there is no rule; one looks like this\n{EXAMPLE}");
        reader.errors.push(problem);
    }
    let rules: Vec<_> = rows.rule.into_iter().map(|row| reader.rule(row)).collect();
    if reader.errors.is_empty() {
        Ok(rules)
    } else {
        Err(GateRulesError(reader.errors))
    }
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    errors: Vec<String>,
}

impl Reader<'_> {
    fn rule(&mut self, row: Row) -> GateRule {
        let at = |text, name: Spanned<String>| Written {
            line: line_of(text, name.span().start),
            name: name.into_inner(),
        };
        let rule = GateRule {
            metric: at(self.text, row.metric),
            slice: row.slice.map(|slice| at(self.text, slice)),
            tolerance: self
                .number("tolerance", row.tolerance.as_ref(), 0.0)
                .zip(row.tolerance.as_ref())
                .map(|(number, value)| WrittenNumber {
                    number,
                    line: line_of(self.text, value.span().start),
                }),
            min: self.number("min", row.min.as_ref(), f64::MIN),
            max: self.number("max", row.max.as_ref(), f64::MIN),
            higher_is_better: row.higher_is_better,
        };
        if let (Some(min), Some(max)) = (rule.min, rule.max)
            && max < min
        {
            let (file, line) = (self.file, rule.metric.line);
            let problem = format!("{file}:{line}: min = `{min}` must not be above max = `{max}`");
            self.errors.push(problem);
        }
        rule
    }

    fn number(&mut self, key: &str, value: Option<&Spanned<f64>>, least: f64) -> Option<f64> {
        let value = value?;
        let number = *value.get_ref();
        if number.is_finite() && least <= number {
            return Some(number);
        }
        let wanted = if least < 0.0 {
            "a number"
        } else {
            "a number of at least 0"
        };
        let (file, line) = (self.file, line_of(self.text, value.span().start));
        let problem = format!("{file}:{line}: {key} = `{number}` must be {wanted}");
        self.errors.push(problem);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_with_its_lines() {
        let text = "[[rule]]\nmetric = \"cascade.fallback_rate\"\nmax = 0.3\n\n[[rule]]\nslice = \"tag=x\"\nmetric = \"cascade.coverage\"\ntolerance = 0.02\nhigher_is_better = true\n";
        let rules = read("rules.toml", text).unwrap();
        assert_eq!(rules.len(), 2);
        assert_eq!((rules[0].metric.line, rules[0].max), (2, Some(0.3)));
        assert_eq!(rules[1].slice.as_ref().unwrap().line, 6);
        let tolerance = WrittenNumber {
            number: 0.02,
            line: 8,
        };
        assert_eq!(rules[1].tolerance, Some(tolerance));
        assert_eq!(rules[1].higher_is_better, Some(true));
    }

    #[test]
    fn whatever_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (
                "[[rule]]\nmetric = \"m\"\ntolerance = -0.1\nmax = nan\n",
                "r.toml:3: tolerance = `-0.1` must be a number of at least 0\nr.toml:4: max = `NaN` must be a number",
            ),
            (
                "[[rule]]\nmetric = \"m\"\nmin = 2.0\nmax = 1.0\n",
                "r.toml:2: min = `2` must not be above max = `1`",
            ),
            (
                "rule = []\n",
                "r.toml:1: there is no rule; one looks like this\n[[rule]]\nmetric = \"cascade.diagnosis.false_pass\"\nmax = 0.05",
            ),
        ] {
            assert_eq!(read("r.toml", text).unwrap_err().to_string(), expected);
        }
        // What the error shows is a rule.
        assert_eq!(read("r.toml", EXAMPLE).unwrap().len(), 1);
        let error = read("r.toml", "[[rule]]\nmetric = \"m\"\ntolerence = 1.0\n").unwrap_err();
        let error = error.to_string();
        assert!(
            error.starts_with("r.toml:3: unknown field `tolerence`"),
            "{error}"
        );
    }
}
