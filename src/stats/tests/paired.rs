//! McNemar against statsmodels; the bootstrap against the normal interval and by its rules.

use super::{close, close_to};
use crate::stats::Absent;
use crate::stats::paired::{Resampling, bootstrap, mcnemar};

const RESAMPLING: Resampling = Resampling {
    replicates: 2000,
    seed: 1,
    level: 0.95,
};

/// Right in the first mode, right in the second, rows.
fn accuracy_difference(counts: &[u64; 3]) -> Option<f64> {
    let [first, second, rows] = counts.map(|count| count as f64);
    (0.0 < rows).then(|| (first - second) / rows)
}

#[test]
fn mcnemar_is_exact() {
    let test = mcnemar(10, 3);
    close_to(10, test.exact, 0.092_285_156_3);
    close_to(10, test.mid_p, 0.057_373_046_9);
    let test = mcnemar(2, 9);
    close_to(10, test.exact, 0.065_429_687_5);
    close_to(10, test.mid_p, 0.038_574_218_8);
    close_to(10, mcnemar(8, 3).exact, 0.226_562_5);
    close_to(10, mcnemar(72, 50).exact, 0.056_822_688_9);
    let sure = mcnemar(159, 19).exact;
    assert!((sure / 1.03e-28 - 1.0).abs() < 0.005, "{sure}");
}

#[test]
fn a_bootstrap_comes_near_to_the_normal_interval() {
    // 400 rows: 40 right in the first alone, 20 in the second alone.
    let mut blocks = vec![[1, 1, 1]; 340];
    blocks.extend([[1, 0, 1]; 40]);
    blocks.extend([[0, 1, 1]; 20]);
    let result = bootstrap(&blocks, RESAMPLING, accuracy_difference).expect("blocks");
    close(result.estimate, 0.05);
    let spread = ((60.0 - 400.0 * 0.05_f64.powi(2)) / 400.0 / 400.0).sqrt();
    assert!(
        (result.low - (0.05 - 1.96 * spread)).abs() < 0.006,
        "{result:?}"
    );
    assert!(
        (result.high - (0.05 + 1.96 * spread)).abs() < 0.006,
        "{result:?}"
    );
    // 0.05 / spread = 2.6, two-sided p about 0.009.
    assert!((0.002..0.02).contains(&result.p), "{result:?}");
    assert_eq!(
        bootstrap(&blocks, RESAMPLING, accuracy_difference),
        Ok(result)
    );
}

#[test]
fn rows_that_share_a_question_are_one_block() {
    let single = [[1, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]].repeat(25);
    let shared: Vec<_> = single
        .iter()
        .map(|block| block.map(|count| 4 * count))
        .collect();
    let one = bootstrap(&single, RESAMPLING, accuracy_difference).expect("blocks");
    let four = bootstrap(&shared, RESAMPLING, accuracy_difference).expect("blocks");
    assert_eq!(
        one, four,
        "four times the rows of the same questions prove no more"
    );
    let apart = bootstrap(&single.repeat(4), RESAMPLING, accuracy_difference).expect("blocks");
    assert!(apart.high - apart.low < 0.6 * (one.high - one.low));
}

#[test]
fn the_order_of_the_blocks_changes_no_bit() {
    let blocks = [[1, 0, 1], [0, 1, 1], [2, 1, 3], [1, 1, 1], [0, 0, 2]].repeat(9);
    let reversed: Vec<_> = blocks.iter().rev().copied().collect();
    let there = bootstrap(&blocks, RESAMPLING, accuracy_difference).expect("blocks");
    let back = bootstrap(&reversed, RESAMPLING, accuracy_difference).expect("blocks");
    assert_eq!(there, back);
}

#[test]
fn a_difference_the_other_way_is_as_large() {
    let blocks = [[1, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1], [1, 0, 1]].repeat(4);
    let mirrored: Vec<_> = blocks
        .iter()
        .map(|[first, second, rows]| [*second, *first, *rows])
        .collect();
    let there = bootstrap(&blocks, RESAMPLING, accuracy_difference).expect("blocks");
    let back = bootstrap(&mirrored, RESAMPLING, accuracy_difference).expect("blocks");
    assert!((there.p - back.p).abs() < 0.03, "{there:?} {back:?}");
    assert!((there.low + back.high).abs() < 0.06, "{there:?} {back:?}");
    close_to(12, there.estimate, -back.estimate);
}

#[test]
fn a_draw_without_a_statistic_is_left_out() {
    // Precision of one row that is given as positive among five that are not.
    let precision =
        |counts: &[u64; 2]| (0 < counts[1]).then(|| counts[0] as f64 / counts[1] as f64);
    let mut blocks = vec![[0, 0]; 5];
    blocks.push([1, 1]);
    let result = bootstrap(&blocks, RESAMPLING, precision).expect("a positive");
    assert_eq!((result.estimate, result.low, result.high), (1.0, 1.0, 1.0));
    // p is floored by the draws that counted, fewer than 2000.
    assert!(
        1.0 / 2001.0 < result.p && result.p < 1.0 / 1000.0,
        "{result:?}"
    );
    assert_eq!(
        bootstrap(&blocks[..5], RESAMPLING, precision),
        Err(Absent::ZeroDenominator)
    );
    assert_eq!(bootstrap(&[], RESAMPLING, precision), Err(Absent::Empty));
    let never = Resampling {
        replicates: 0,
        ..RESAMPLING
    };
    assert_eq!(
        bootstrap(&blocks, never, precision),
        Err(Absent::ZeroDenominator)
    );
}
