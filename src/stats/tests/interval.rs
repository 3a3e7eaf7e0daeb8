//! Intervals against statsmodels.

use super::{close, close_to};
use crate::stats::Absent;
use crate::stats::interval::{clopper_pearson, clopper_pearson_upper, normal_quantile, wilson};

#[test]
fn intervals_of_95_of_100() {
    let (low, high) = wilson(3, 50, 0.95).expect("rows");
    close_to(10, low, 0.020_614_970_3);
    close_to(10, high, 0.162_170_916_9);
    let (low, high) = clopper_pearson(3, 50, 0.95).expect("rows");
    close_to(10, low, 0.012_548_587_8);
    close_to(10, high, 0.165_481_946_6);
    let (low, high) = wilson(45, 50, 0.95).expect("rows");
    close_to(10, low, 0.786_397_685_6);
    close_to(10, high, 0.956_524_235_1);
    let (low, high) = wilson(0, 30, 0.95).expect("rows");
    assert_eq!(low.to_bits(), 0.0_f64.to_bits());
    close_to(10, high, 0.113_513_393_2);
}

#[test]
fn quantiles_of_the_normal_distribution() {
    close(
        normal_quantile(0.95).expect("a level"),
        1.959_963_984_540_054,
    );
    close(
        normal_quantile(0.90).expect("a level"),
        1.644_853_626_951_472_2,
    );
    close(
        normal_quantile(0.99).expect("a level"),
        2.575_829_303_548_900_4,
    );
}

#[test]
fn a_share_of_nothing_has_no_interval() {
    assert_eq!(wilson(0, 0, 0.95), Err(Absent::Empty));
    assert_eq!(clopper_pearson(0, 0, 0.95), Err(Absent::Empty));
    assert_eq!(clopper_pearson_upper(0, 0, 0.05), Err(Absent::Empty));
    assert_eq!(wilson(2, 1, 0.95), Err(Absent::Unknown));
    for level in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(wilson(1, 2, level), Err(Absent::Unknown));
        assert_eq!(clopper_pearson(1, 2, level), Err(Absent::Unknown));
        assert_eq!(normal_quantile(level), Err(Absent::Unknown));
    }
}
