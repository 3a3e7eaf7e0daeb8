//! Logistic regression whose coefficients may not have the wrong sign, and the scaling of Platt.
//!
//! Minimised is sum w (ln(1 + exp(z)) - t z) + penalty / 2 sum b^2 with z = a + sum b x, targets t from 0 to 1 and the
//! intercept a free of penalty: the log loss with an L2 penalty (Hastie, Tibshirani and Friedman 2009, 4.4), each b kept
//! on its side of 0. The method is the projected Newton method of Bertsekas (1982): coefficients at 0 whose gradient
//! points outside stay there, the others take a Newton step that is projected and halved until it helps.
//! `exp` and `ln` are those of the `libm` crate and sums go in the order of the rows, so the bits are the same everywhere.

use super::Absent;

/// Steps at most; a dozen is usual.
const STEPS: usize = 200;
/// Gradient, per unit of weight, from which on nothing is gained.
const TOLERANCE: f64 = 1e-12;
/// Halvings of a step at most.
const HALVINGS: usize = 40;
/// The share of the gain that the gradient promises which a step must reach (Armijo 1966).
const SUFFICIENT: f64 = 1e-4;

/// One observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The values.
    pub values: Vec<f64>,
    /// The target, from 0 to 1.
    pub target: f64,
    /// What it weighs, above 0.
    pub weight: f64,
}

/// Which side of 0 a coefficient must lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Any.
    Free,
    /// At least 0.
    AtLeastZero,
    /// At most 0.
    AtMostZero,
}

/// What was fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The intercept.
    pub intercept: f64,
    /// The coefficients in the order of the values.
    pub coefficients: Vec<f64>,
}

/// The weighted mean and standard deviation of each value; a deviation of 0 is 1, so that it divides nothing.
pub fn scaling(rows: &[Observation]) -> Result<(Vec<f64>, Vec<f64>), Absent> {
    let width = rows.first().ok_or(Absent::Empty)?.values.len();
    let total: f64 = rows.iter().map(|row| row.weight).sum();
    let mean_of = |value: &dyn Fn(&Observation, usize) -> f64, at: usize| {
        let sum: f64 = rows.iter().map(|row| row.weight * value(row, at)).sum();
        sum / total
    };
    let means: Vec<f64> = (0..width)
        .map(|at| mean_of(&|row, at| row.values[at], at))
        .collect();
    let scales = (0..width).map(|at| {
        let variance = mean_of(&|row, at| (row.values[at] - means[at]).powi(2), at);
        if variance > 0.0 { variance.sqrt() } else { 1.0 }
    });
    Ok((means.clone(), scales.collect()))
}

/// Fits a line to the logits. There must be targets above and below one half.
pub fn fit(rows: &[Observation], signs: &[Sign], penalty: f64) -> Result<Line, Absent> {
    if rows.is_empty() {
        return Err(Absent::Empty);
    }
    let has = |is_high: bool| rows.iter().any(|row| (0.5 < row.target) == is_high);
    if !(has(true) && has(false)) {
        return Err(Absent::SingleClass);
    }
    let problem = Problem {
        rows,
        signs,
        penalty,
        total: rows.iter().map(|row| row.weight).sum(),
    };
    let mut point = vec![0.0; signs.len() + 1];
    for _ in 0..STEPS {
        match problem.step(&point) {
            Some(next) => point = next,
            None => break,
        }
    }
    let intercept = point.remove(0);
    Ok(Line {
        intercept,
        coefficients: point,
    })
}

/// The scaling of Platt (1999): p = 1 / (1 + exp(-(slope s + offset))) with the targets (n1 + 1) / (n1 + 2) for positives
/// and 1 / (n0 + 2) for negatives, n1 and n0 being their weights. Rows are scores, labels and weights.
pub fn platt(rows: &[(f64, bool, f64)]) -> Result<(f64, f64), Absent> {
    let weight_of = |label: bool| -> f64 {
        let rows = rows.iter().filter(|row| row.1 == label);
        rows.map(|row| row.2).sum()
    };
    let (positives, negatives) = (weight_of(true), weight_of(false));
    let observed = rows.iter().map(|&(score, label, weight)| Observation {
        values: vec![score],
        target: if label {
            (positives + 1.0) / (positives + 2.0)
        } else {
            1.0 / (negatives + 2.0)
        },
        weight,
    });
    let line = fit(&observed.collect::<Vec<_>>(), &[Sign::Free], 0.0)?;
    Ok((line.coefficients[0], line.intercept))
}

/// 1 / (1 + exp(-z)).
pub fn logistic(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

struct Problem<'a> {
    rows: &'a [Observation],
    signs: &'a [Sign],
    penalty: f64,
    total: f64,
}

impl Problem<'_> {
    /// A better point, unless this one is the best.
    fn step(&self, point: &[f64]) -> Option<Vec<f64>> {
        let (gradient, hessian) = self.derivatives(point);
        let free: Vec<usize> = (0..point.len())
            .filter(|&at| !self.is_held(at, point[at], gradient[at]))
            .collect();
        if free
            .iter()
            .all(|&at| gradient[at].abs() <= TOLERANCE * self.total)
        {
            return None;
        }
        let direction = solve(
            free.iter()
                .map(|&row| free.iter().map(|&column| hessian[row][column]).collect())
                .collect(),
            free.iter().map(|&at| -gradient[at]).collect(),
        )?;
        let here = self.value(point);
        let mut length = 1.0;
        for _ in 0..HALVINGS {
            let mut next = point.to_vec();
            for (&at, step) in free.iter().zip(&direction) {
                next[at] = self.projected(at, point[at] + length * step);
            }
            let promised: f64 = free
                .iter()
                .map(|&at| gradient[at] * (next[at] - point[at]))
                .sum();
            if self.value(&next) <= here + SUFFICIENT * promised && next != point {
                return Some(next);
            }
            length /= 2.0;
        }
        None
    }

    /// Whether a coefficient lies at its bound and would leave it.
    fn is_held(&self, at: usize, value: f64, gradient: f64) -> bool {
        match self.sign(at) {
            Sign::Free => false,
            Sign::AtLeastZero => value <= 0.0 && 0.0 < gradient,
            Sign::AtMostZero => 0.0 <= value && gradient < 0.0,
        }
    }

    fn projected(&self, at: usize, value: f64) -> f64 {
        match self.sign(at) {
            Sign::Free => value,
            Sign::AtLeastZero => value.max(0.0),
            Sign::AtMostZero => value.min(0.0),
        }
    }

    fn sign(&self, at: usize) -> Sign {
        at.checked_sub(1).map_or(Sign::Free, |at| self.signs[at])
    }

    fn value(&self, point: &[f64]) -> f64 {
        let losses = self.rows.iter().map(|row| {
            let z = logit(point, &row.values);
            // ln(1 + exp(z)) without overflow.
            let soft = z.max(0.0) + libm::log1p(libm::exp(-z.abs()));
            row.weight * (soft - row.target * z)
        });
        let squares: f64 = point[1..].iter().map(|b| b * b).sum();
        losses.sum::<f64>() + self.penalty / 2.0 * squares
    }

    /// The gradient and the matrix of second derivatives.
    fn derivatives(&self, point: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let width = point.len();
        let mut gradient = vec![0.0; width];
        let mut hessian = vec![vec![0.0; width]; width];
        for row in self.rows {
            let p = logistic(logit(point, &row.values));
            let (slope, curve) = (row.weight * (p - row.target), row.weight * p * (1.0 - p));
            let value = |at: usize| at.checked_sub(1).map_or(1.0, |at| row.values[at]);
            for (at, line) in hessian.iter_mut().enumerate() {
                gradient[at] += slope * value(at);
                for (other, cell) in line.iter_mut().enumerate() {
                    *cell += curve * value(at) * value(other);
                }
            }
        }
        for at in 1..width {
            gradient[at] += self.penalty * point[at];
            hessian[at][at] += self.penalty;
        }
        (gradient, hessian)
    }
}

fn logit(point: &[f64], values: &[f64]) -> f64 {
    let terms = point[1..].iter().zip(values);
    terms.fold(point[0], |sum, (b, x)| sum + b * x)
}

/// Solves a system of equations by elimination with row exchanges; `None` if it has no one solution.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|&one, &other| {
            matrix[one][column]
                .abs()
                .total_cmp(&matrix[other][column].abs())
        })?;
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        if matrix[column][column].abs() <= f64::MIN_POSITIVE {
            return None;
        }
        let (above, below) = matrix.split_at_mut(column + 1);
        let pivot = &above[column][column..];
        for (row, line) in (column + 1..).zip(below) {
            let line = &mut line[column..];
            let factor = line[0] / pivot[0];
            for (cell, of_pivot) in line.iter_mut().zip(pivot) {
                *cell -= factor * of_pivot;
            }
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    Some(right)
}
