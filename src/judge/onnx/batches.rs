//! Rows through the network: short ones first, several at once, until the time is over.

use std::sync::Arc;

use rten::ThreadPool;
use tokio::time::Instant;

use super::engine::Engine;
use super::network::Row;

/// The most rows at once.
const BATCH_ROWS: usize = 16;
/// The most tokens at once, with padding.
const BATCH_TOKENS: usize = 4_096;

/// The network for one trace.
pub(super) struct Forward<'a> {
    pub(super) engine: &'a Engine,
    pub(super) thread: &'a Arc<ThreadPool>,
    pub(super) deadline: Instant,
}

/// The numbers of one row: those of its tokens one after the other if there are some for each.
pub(super) struct Numbers<'a> {
    all: &'a [f32],
    width: usize,
}

impl<'a> Numbers<'a> {
    /// The numbers of a token; of the text if there are none for each token.
    pub(super) fn at(&self, token: usize) -> &'a [f32] {
        let place = token * self.width..(token + 1) * self.width;
        self.all.get(place).unwrap_or_default()
    }

    /// The mean over the first tokens, or the numbers of the text.
    pub(super) fn mean(&self, tokens: usize) -> Vec<f64> {
        let rows = (self.all.len() / self.width.max(1)).min(tokens).max(1);
        let mut sum = vec![0.0; self.width];
        for token in 0..rows {
            for (sum, number) in sum.iter_mut().zip(self.at(token)) {
                *sum += f64::from(*number);
            }
        }
        sum.iter().map(|sum| sum / rows as f64).collect()
    }
}

impl Forward<'_> {
    /// Runs the rows of these lengths; `make` makes a row when its turn comes, `take` gets its numbers.
    ///
    /// A row whose turn does not come before the deadline is not taken.
    pub(super) fn run(
        &self,
        lengths: &[usize],
        make: impl Fn(usize) -> Result<Row, String>,
        mut take: impl FnMut(usize, &Row, Numbers<'_>),
    ) -> Result<(), String> {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        order.sort_by_key(|&row| (lengths[row], row));
        let mut rest = &order[..];
        while !rest.is_empty() && Instant::now() < self.deadline {
            let (batch, after) = rest.split_at(self.batch(rest, lengths));
            rest = after;
            let rows: Vec<Row> = batch
                .iter()
                .map(|&row| make(row))
                .collect::<Result<_, _>>()?;
            let output = self.engine.network.run(&rows, self.thread)?;
            let width = self.engine.width(&output.shape)?;
            for ((place, row), &index) in rows.iter().enumerate().zip(batch) {
                let all = output.row(place);
                take(index, row, Numbers { all, width });
            }
        }
        Ok(())
    }

    /// How many of the rows go in together.
    fn batch(&self, rest: &[usize], lengths: &[usize]) -> usize {
        let network = &self.engine.network;
        if !network.takes_batches() {
            return 1;
        }
        let fits = |place: usize, row: &usize| {
            place < BATCH_ROWS && (place + 1) * lengths[*row] <= BATCH_TOKENS
        };
        let count = rest.iter().enumerate();
        count
            .take_while(|(place, row)| fits(*place, row))
            .count()
            .max(1)
    }
}
