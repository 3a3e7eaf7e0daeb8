//! From the numbers of a model to a probability.

use crate::artifact::model_folder::{Activation, Contract, Scale};

/// The nearest that a probability may come to 0 and 1 before it is corrected.
const EDGE: f64 = 1e-12;

/// The probability that the numbers of a text or a token give to one of their places; `None` if one is no number or the
/// result no probability.
pub(super) fn probability(
    contract: &Contract,
    scale: Option<Scale>,
    numbers: &[f32],
    place: usize,
) -> Option<f64> {
    if !numbers.iter().all(|number| number.is_finite()) {
        return None;
    }
    let own = scale.and_then(|scale| scale.temperature);
    let temperature = own.unwrap_or(contract.temperature);
    let number = f64::from(*numbers.get(place)?);
    let p = match contract.activation {
        Activation::Identity => number,
        Activation::Sigmoid => sigmoid(number / temperature),
        Activation::Softmax => {
            let others = numbers.iter().map(|&other| f64::from(other));
            let total: f64 = others
                .map(|other| ((other - number) / temperature).exp())
                .sum();
            1.0 / total
        }
    };
    (0.0..=1.0).contains(&p).then_some(p)
}

/// A probability as it is corrected.
pub(super) fn corrected(p: f64, scale: Option<Scale>) -> f64 {
    let Some(scale) = scale else { return p };
    let p = p.clamp(EDGE, 1.0 - EDGE);
    sigmoid(scale.slope * (p / (1.0 - p)).ln() + scale.intercept)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
