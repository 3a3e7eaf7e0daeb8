//! R24 and R25: 50 KB beside the point change nothing and hide nothing.

use std::collections::BTreeSet;

use judge_cascade::domain::judgment::Judged;

use super::{Row, cascade, failure, groundedness, judged, passes};

/// Bytes of padding at least.
const BYTES: usize = 50 * 1024;
/// How far groundedness may move.
const DRIFT: f64 = 0.05;

const NOUNS: [&str; 40] = [
    "glacier", "basalt", "lichen", "heron", "orchid", "tundra", "granite", "otter", "comet",
    "fern", "marsh", "falcon", "coral", "dune", "pollen", "crater", "willow", "badger", "lagoon",
    "thistle", "nebula", "moss", "salmon", "canyon", "beetle", "maple", "geyser", "walrus",
    "prairie", "quartz", "swallow", "plankton", "meteor", "juniper", "lynx", "delta", "magma",
    "sparrow", "fjord", "cedar",
];
const QUALITIES: [&str; 20] = [
    "pale",
    "ancient",
    "mossy",
    "nimble",
    "amber",
    "feathery",
    "volcanic",
    "migrating",
    "frosty",
    "hollow",
    "speckled",
    "towering",
    "dusky",
    "brittle",
    "crimson",
    "drifting",
    "nocturnal",
    "rocky",
    "sunlit",
    "tangled",
];
const DEEDS: [&str; 16] = [
    "shelters",
    "outlives",
    "surrounds",
    "colours",
    "outshines",
    "resembles",
    "erodes",
    "nourishes",
    "overgrows",
    "scatters",
    "eclipses",
    "crosses",
    "startles",
    "mirrors",
    "gnaws",
    "buries",
];

/// A row of numbers that looks random and is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn sentence(&mut self, numbered: bool) -> String {
        let (one, other) = (self.of(&NOUNS), self.of(&NOUNS));
        let (quality, deed) = (self.of(&QUALITIES), self.of(&DEEDS));
        if numbered {
            let (count, year) = (self.below(130), 1860 + self.below(175));
            return format!("In {year} the {quality} {one} {deed} {count} of the {other} there. ");
        }
        match self.below(4) {
            0 => format!("The {quality} {one} {deed} the {other}. "),
            1 => format!("Where there is a {one}, it {deed} the {other} and the {quality} one. "),
            2 => format!("It is not the {one} that {deed} a {quality} {other}. "),
            _ => format!("And so the {one} of the {quality} {other} {deed} them with it. "),
        }
    }
}

/// Texts beside the point, together at least [`BYTES`] long.
fn padding(pieces: usize, numbered: bool) -> Vec<String> {
    let mut dice = Dice(u64::try_from(pieces).unwrap());
    let piece = |_| {
        let mut text = String::new();
        while text.len() < BYTES.div_ceil(pieces) {
            text.push_str(&dice.sentence(numbered));
        }
        text
    };
    (0..pieces).map(piece).collect()
}

/// One way to hide a row in padding.
type Shape = (&'static str, fn(&Row) -> Row);

const SHAPES: [Shape; 5] = [
    ("one chunk after", |row| {
        row.between(Vec::new(), padding(1, false))
    }),
    ("fifty chunks before", |row| {
        row.between(padding(50, false), Vec::new())
    }),
    ("four hundred chunks around", |row| {
        row.between(padding(200, false), padding(201, false))
    }),
    ("at the end of every chunk", |row| inside(row, false)),
    ("at the beginning of every chunk", |row| inside(row, true)),
];

/// The row with padding in its own chunks.
fn inside(row: &Row, is_before: bool) -> Row {
    let mut padded = row.clone();
    let pieces = padding(padded.0.contexts.len(), false);
    for (chunk, piece) in padded.0.contexts.iter_mut().zip(pieces) {
        chunk.text = if is_before {
            format!("{piece}\n{}", chunk.text)
        } else {
            format!("{}\n{piece}", chunk.text)
        };
    }
    padded
}

/// The row after a fifth of that padding.
pub(super) fn after_padding(row: &Row) -> Row {
    let mut pieces = padding(10, false);
    row.between(pieces.split_off(8), Vec::new())
}

/// Whether the judge shows that something is wrong.
fn is_caught(judged: &Judged) -> bool {
    judged.vetoes_pass || judged.probability.value() < 0.5
}

#[test]
fn the_padding_shares_no_subject_with_any_row() {
    let own: BTreeSet<&str> = NOUNS.into_iter().chain(QUALITIES).chain(DEEDS).collect();
    assert_eq!(own.len(), NOUNS.len() + QUALITIES.len() + DEEDS.len());
    for file in ["pairs.jsonl", "unanswerable.jsonl"] {
        for row in Row::all(file) {
            let chunks = row.0.contexts.iter().map(|chunk| &chunk.text);
            for text in chunks.chain([&row.0.question, &row.0.answer]) {
                let text = text.to_lowercase();
                let words = text.split(|character: char| !character.is_alphanumeric());
                let shared: Vec<_> = words.filter(|word| own.contains(word)).collect();
                assert!(shared.is_empty(), "{}: {shared:?}", row.0.id);
            }
        }
    }
    for shape in [1, 50, 200] {
        let bytes: usize = padding(shape, false).iter().map(String::len).sum();
        assert!(BYTES <= bytes);
    }
}

/// R25: groundedness stays where it is. R24: what was caught without padding is caught within it, and nothing passes.
#[tokio::test]
async fn r24_r25_fifty_kilobytes_beside_the_point_hide_nothing() {
    let cascade = cascade();
    let mut moved = Vec::new();
    for (number, (shape, pad)) in SHAPES.into_iter().enumerate() {
        let (mut caught, mut still_caught) = (0, 0);
        for (ordinal, row) in Row::all("pairs.jsonl").into_iter().enumerate() {
            // Every row in the first shape, and a fourth of them in each of the others: it takes time.
            if number != 0 && ordinal % (SHAPES.len() - 1) != number - 1 {
                continue;
            }
            let plain = row.outcome(&cascade).await;
            let padded = pad(&row).outcome(&cascade).await;
            let (Some(before), Some(after)) = (judged(&plain), judged(&padded)) else {
                // What is undecidable, such as a row of a table, stays so.
                assert_eq!(
                    failure(groundedness(&plain)),
                    failure(groundedness(&padded)),
                    "{shape}: {}",
                    row.0.id
                );
                continue;
            };
            let (p, q) = (before.probability.value(), after.probability.value());
            if DRIFT < (p - q).abs() {
                moved.push((shape, row.0.id.clone(), p, q));
            }
            assert!(passes(&plain) || !passes(&padded), "{shape}: {}", row.0.id);
            if !row.is_grounded() && is_caught(before) {
                caught += 1;
                still_caught += usize::from(is_caught(after));
            }
        }
        assert!(8 <= caught, "{shape}: {caught}");
        assert!(
            95 * caught <= 100 * still_caught,
            "{shape}: {still_caught} of {caught}"
        );
    }
    assert!(moved.is_empty(), "{moved:#?}");
}

/// R24: numbers that stand somewhere in the padding make no wrong number right.
#[tokio::test]
async fn r24_numbers_in_the_padding_let_nothing_pass() {
    let cascade = cascade();
    let mut count = 0;
    for row in Row::all("pairs.jsonl") {
        let has_number = row.has("changed_number") || row.has("changed_date");
        if row.is_grounded() || !(has_number || row.has("swapped_numbers")) {
            continue;
        }
        count += 1;
        let padded = row.between(padding(20, true), Vec::new());
        assert!(!passes(&padded.outcome(&cascade).await), "{}", row.0.id);
    }
    assert!(15 <= count);
}

/// R24: an invented answer passes no more among much text than among little.
#[tokio::test]
async fn r24_padding_lets_no_invented_answer_pass() {
    let cascade = cascade();
    for row in Row::all("unanswerable.jsonl") {
        let padded = row.between(Vec::new(), padding(10, false));
        assert!(!passes(&padded.outcome(&cascade).await), "{}", row.0.id);
    }
}
