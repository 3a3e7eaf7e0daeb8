//! The generator against its published sequence.

use crate::stats::random::SplitMix64;

#[test]
fn the_sequence_is_the_published_one() {
    let mut random = SplitMix64::new(1_234_567);
    let bits: Vec<u64> = (0..5).map(|_| random.bits()).collect();
    assert_eq!(
        bits,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ]
    );
}

#[test]
fn numbers_are_spread_as_they_should_be() {
    let mut random = SplitMix64::new(0);
    let mut counts = [0_u32; 7];
    for _ in 0..7000 {
        counts[random.below(7)] += 1;
    }
    assert!(
        counts.iter().all(|count| (850..1150).contains(count)),
        "{counts:?}"
    );
    assert_eq!(random.below(0), 0);
    let units: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
    assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
    assert!((units.iter().sum::<f64>() / 10_000.0 - 0.5).abs() < 0.015);
    let normals: Vec<f64> = (0..10_000).map(|_| random.normal()).collect();
    let mean = normals.iter().sum::<f64>() / 10_000.0;
    let variance = normals.iter().map(|value| value.powi(2)).sum::<f64>() / 10_000.0;
    assert!(
        mean.abs() < 0.05 && (variance - 1.0).abs() < 0.06,
        "{mean} {variance}"
    );
    let within = normals.iter().filter(|value| value.abs() < 1.96).count();
    assert!((9400..9600).contains(&within), "{within}");
}
