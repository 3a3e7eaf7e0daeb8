//! What a `judge.toml` must hold beyond its types, all of it told at once.

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned;

use super::{Activation, Aggregate, Contract, File, ModelFolderError, ModelKind, Order};
use crate::artifact::policy::line_of;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{Dimension, DimensionSet};

/// The most tokens that a model can be said to take.
const MANY_TOKENS: i64 = 131_072;
/// The fewest that leave room for both sides of a pair.
const FEW_TOKENS: i64 = 8;

/// Collects what is wrong.
pub(super) struct Check<'a> {
    text: &'a str,
    errors: Vec<(usize, String)>,
}

impl<'a> Check<'a> {
    /// A check of a text.
    pub(super) const fn new(text: &'a str) -> Self {
        let errors = Vec::new();
        Self { text, errors }
    }

    /// The contract, or everything that is wrong, sorted by line.
    pub(super) fn finish(
        mut self,
        file: &str,
        contract: Contract,
    ) -> Result<Contract, ModelFolderError> {
        if self.errors.is_empty() {
            return Ok(contract);
        }
        self.errors.sort();
        let lines = self.errors.iter();
        let lines = lines.map(|(line, message)| format!("{file}:{line}: {message}"));
        Err(ModelFolderError(lines.collect()))
    }

    /// What is written as a contract; it counts only if nothing is wrong.
    pub(super) fn contract(&mut self, written: File) -> Contract {
        let kind = written.kind;
        self.names(&written);
        let labels = self.labels(kind, written.labels.as_ref());
        let heads = self.heads(&written, &labels);
        let max_tokens = self.number("max_tokens", &written.max_tokens, FEW_TOKENS..MANY_TOKENS);
        let most = written.max_tokens.get_ref() + 1;
        let window = written.window.as_ref();
        let window = window.map(|window| self.number("window", window, 1..most));
        let most = window.map_or(most, |window| i64::try_from(window).map_or(most, |w| w + 1));
        let stride = written.stride.as_ref();
        let stride = stride.map(|stride| self.number("stride", stride, 1..most));
        self.template(&written);
        self.unused(&written);
        let temperature = written.temperature.as_ref();
        if let Some(value) = temperature
            && !(value.get_ref().is_finite() && 0.0 < *value.get_ref())
        {
            let message = format!("temperature: `{}` must be above 0", value.get_ref());
            self.add(&value.span(), message);
        }
        Contract {
            name: written.name.into_inner(),
            version: written.version.into_inner(),
            sha256: written.sha256.into_inner(),
            tokenizer_sha256: written.tokenizer_sha256.map(Spanned::into_inner),
            kind,
            inputs: written.inputs,
            output: written.output,
            width: match kind {
                ModelKind::PairRegressor => Some(1),
                ModelKind::Embedding => None,
                ModelKind::PairClassifier
                | ModelKind::TokenClassifier
                | ModelKind::PromptClassifier => Some(labels.len()),
            },
            heads,
            activation: written
                .activation
                .map_or_else(|| usual_activation(kind), Spanned::into_inner),
            template: written.template.map(Spanned::into_inner),
            order: written.order.map(Spanned::into_inner),
            max_tokens,
            window,
            stride,
            aggregate: written
                .aggregate
                .map_or(Aggregate::Max, Spanned::into_inner),
            temperature: temperature.map_or(1.0, |value| *value.get_ref()),
        }
    }

    fn names(&mut self, written: &File) {
        for (key, value) in [("name", &written.name), ("version", &written.version)] {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-+/".contains(c);
            let text = value.get_ref();
            if text.is_empty() || 100 < text.len() || !text.chars().all(plain) {
                let message =
                    format!("{key}: must be 1 to 100 letters, digits, `.`, `_`, `-`, `+` and `/`");
                self.add(&value.span(), message);
            }
        }
        let digests = [
            ("sha256", Some(&written.sha256)),
            ("tokenizer_sha256", written.tokenizer_sha256.as_ref()),
        ];
        for (key, value) in digests {
            let Some(value) = value else { continue };
            let is_hex = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
            if value.get_ref().len() != 64 || !value.get_ref().bytes().all(is_hex) {
                let message = format!("{key}: must be 64 of `0` to `9` and `a` to `f`");
                self.add(&value.span(), message);
            }
        }
    }

    fn labels(&mut self, kind: ModelKind, written: Option<&Spanned<Vec<String>>>) -> Vec<String> {
        let wants = has_labels(kind);
        let Some(labels) = written else {
            if wants {
                self.add(
                    &(0..0),
                    format!("labels: missing; `{kind}` has one for each number"),
                );
            }
            return Vec::new();
        };
        let distinct: BTreeSet<_> = labels.get_ref().iter().collect();
        if !wants {
            self.add(&labels.span(), format!("labels: `{kind}` has none"));
        } else if labels.get_ref().is_empty() || distinct.len() < labels.get_ref().len() {
            self.add(&labels.span(), "labels: must be names that differ".into());
        }
        labels.get_ref().clone()
    }

    /// Which number answers which dimension.
    fn heads(&mut self, written: &File, labels: &[String]) -> Vec<(Dimension, usize)> {
        let kind = written.kind;
        let heads = match (&written.select, &written.map) {
            (Some(select), Some(_)) => {
                self.add(&select.span(), "select: not together with `map`".into());
                return Vec::new();
            }
            (None, Some(map)) => self.mapped(kind, map, labels),
            (select, None) => {
                let place = self.selected(kind, select.as_ref(), labels);
                let dimensions = written.dimensions.as_ref();
                if dimensions.is_none_or(|dimensions| dimensions.get_ref().is_empty()) {
                    self.add(
                        &(0..0),
                        "dimensions: missing; what the model answers".into(),
                    );
                }
                let dimensions = dimensions.into_iter().flat_map(Spanned::get_ref);
                dimensions.map(|&dimension| (dimension, place)).collect()
            }
        };
        let at = written.dimensions.as_ref().map(Spanned::span);
        let at = at.or_else(|| written.map.as_ref().map(Spanned::span));
        let at = at.unwrap_or(0..0);
        let answered: DimensionSet = heads.iter().map(|(dimension, _)| *dimension).collect();
        if let (Some(dimensions), Some(_)) = (&written.dimensions, &written.map) {
            let told: DimensionSet = dimensions.get_ref().iter().copied().collect();
            if told != answered {
                self.add(&at, "dimensions: differ from those of `map`".into());
            }
        }
        if answered.iter().count() < heads.len() {
            self.add(&at, "dimensions: one is there twice".into());
        }
        let possible = kind.dimensions();
        for dimension in answered.iter().filter(|d| !possible.contains(*d)) {
            let known: Vec<_> = possible.iter().map(|d| format!("`{d}`")).collect();
            let known = known.join(", ");
            let message =
                format!("dimensions: `{kind}` does not answer `{dimension}`, only {known}");
            self.add(&at, message);
        }
        heads
    }

    fn selected(
        &mut self,
        kind: ModelKind,
        select: Option<&Spanned<String>>,
        labels: &[String],
    ) -> usize {
        match select {
            Some(select) if !has_labels(kind) => {
                self.add(
                    &select.span(),
                    format!("select: `{kind}` has no labels to select"),
                );
                0
            }
            Some(select) => self.label("select", select.get_ref(), &select.span(), labels),
            None => {
                if has_labels(kind) {
                    let or_map = if kind == ModelKind::TokenClassifier {
                        "the label of tokens that are not supported"
                    } else {
                        "the label that answers the dimension, or `map`"
                    };
                    self.add(&(0..0), format!("select: missing; {or_map}"));
                }
                0
            }
        }
    }

    fn mapped(
        &mut self,
        kind: ModelKind,
        map: &Spanned<toml::Table>,
        labels: &[String],
    ) -> Vec<(Dimension, usize)> {
        let at = map.span();
        if !matches!(
            kind,
            ModelKind::PairClassifier | ModelKind::PromptClassifier
        ) {
            self.add(&at, format!("map: `{kind}` has none"));
            return Vec::new();
        }
        let mut heads = Vec::new();
        for (label, dimension) in map.get_ref() {
            let place = self.label("map", label, &at, labels);
            match dimension.as_str().map(Dimension::from_name) {
                Some(Ok(dimension)) => heads.push((dimension, place)),
                Some(Err(error)) => self.add(&at, format!("map.{label}: {error}")),
                None => self.add(&at, format!("map.{label}: must be the name of a dimension")),
            }
        }
        if map.get_ref().is_empty() {
            self.add(&at, "map: must not be empty".into());
        }
        heads
    }

    fn label(&mut self, key: &str, label: &str, at: &Range<usize>, labels: &[String]) -> usize {
        labels
            .iter()
            .position(|known| known == label)
            .unwrap_or_else(|| {
                self.add(at, format!("{key}: `{label}` is not one of the labels"));
                0
            })
    }

    fn template(&mut self, written: &File) {
        let wanted: &[&str] = match written.kind {
            ModelKind::PromptClassifier => &["{premise}", "{hypothesis}"],
            ModelKind::TokenClassifier => return self.context_template(written.template.as_ref()),
            ModelKind::PairClassifier | ModelKind::PairRegressor | ModelKind::Embedding => {
                if let Some(template) = &written.template {
                    let message = format!("template: `{}` has none", written.kind);
                    self.add(&template.span(), message);
                }
                return;
            }
        };
        let Some(template) = &written.template else {
            if written.kind == ModelKind::PromptClassifier {
                self.add(
                    &(0..0),
                    "template: missing; the text with `{premise}` and `{hypothesis}`".into(),
                );
            }
            return;
        };
        for placeholder in wanted {
            if template.get_ref().matches(placeholder).count() != 1 {
                let message = format!("template: must hold `{placeholder}` once");
                self.add(&template.span(), message);
            }
        }
    }

    fn context_template(&mut self, template: Option<&Spanned<String>>) {
        let Some(template) = template else { return };
        let count = |name| template.get_ref().matches(name).count();
        if count("{context}") + count("{passages}") != 1 {
            let message = "template: must hold `{context}` or `{passages}` once".into();
            self.add(&template.span(), message);
        }
    }

    /// Keys that would change nothing.
    fn unused(&mut self, written: &File) {
        let kind = written.kind;
        let is_pair = matches!(kind, ModelKind::PairClassifier | ModelKind::PairRegressor);
        let mut refuse = |key: &str, at: Option<Range<usize>>, is_used: bool| {
            if let Some(at) = at.filter(|_| !is_used) {
                self.add(&at, format!("{key}: `{kind}` has none"));
            }
        };
        let is_vector = kind == ModelKind::Embedding;
        let is_token = kind == ModelKind::TokenClassifier;
        let span = |value: &Option<Spanned<Order>>| value.as_ref().map(Spanned::span);
        refuse("order", span(&written.order), is_pair);
        let at = written.activation.as_ref().map(Spanned::span);
        refuse("activation", at, !is_vector);
        let at = written.temperature.as_ref().map(Spanned::span);
        refuse("temperature", at, !is_vector);
        let at = written.aggregate.as_ref().map(Spanned::span);
        refuse("aggregate", at, !is_token);
        if let Some(temperature) = &written.temperature
            && written
                .activation
                .as_ref()
                .is_some_and(|a| *a.get_ref() == Activation::Identity)
        {
            let message = "temperature: numbers that are probabilities have none".into();
            self.add(&temperature.span(), message);
        }
        if let Some(activation) = &written.activation
            && kind == ModelKind::PairRegressor
            && *activation.get_ref() == Activation::Softmax
        {
            let message = "activation: `softmax` of one number is always 1".into();
            self.add(&activation.span(), message);
        }
    }

    fn number(&mut self, key: &str, written: &Spanned<i64>, range: Range<i64>) -> usize {
        let number = *written.get_ref();
        match usize::try_from(number) {
            Ok(value) if range.contains(&number) => value,
            _ => {
                let (low, high) = (range.start, range.end - 1);
                let message = format!("{key}: `{number}` must be from {low} to {high}");
                self.add(&written.span(), message);
                1
            }
        }
    }

    fn add(&mut self, at: &Range<usize>, message: String) {
        self.errors.push((line_of(self.text, at.start), message));
    }
}

const fn has_labels(kind: ModelKind) -> bool {
    match kind {
        ModelKind::PairClassifier | ModelKind::TokenClassifier | ModelKind::PromptClassifier => {
            true
        }
        ModelKind::PairRegressor | ModelKind::Embedding => false,
    }
}

const fn usual_activation(kind: ModelKind) -> Activation {
    match kind {
        ModelKind::PairClassifier | ModelKind::TokenClassifier | ModelKind::PromptClassifier => {
            Activation::Softmax
        }
        ModelKind::PairRegressor => Activation::Sigmoid,
        ModelKind::Embedding => Activation::Identity,
    }
}
