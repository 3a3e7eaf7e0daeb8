//! From the log-probabilities at one position to the probability of yes.
//!
//! The probability is yes / (yes + no), each summed over the tokens that spell it, and the label mass is yes + no as
//! listed. A label that is not listed is not impossible: its mass is bounded by the smallest that is listed and by what
//! the list leaves over, so that no probability is ever exactly 0 or 1.

/// Logarithms below this stand for minus infinity on wires that cannot write it.
const NEVER: f64 = -9000.0;
/// How far a list of probabilities may sum over 1 by rounding.
const ROUNDING: f64 = 1e-3;
/// The least mass and probability that a label is given, so that an answer never becomes certain.
const LEAST: f64 = 1e-9;

/// One of the two words that answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Yes,
    No,
}

/// A token that could have stood at a position.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// The label that it spells, if it spells one.
    pub(super) label: Option<Label>,
    /// The logarithm of its probability.
    pub(super) logprob: f64,
}

/// What a position says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// Of yes, given yes or no.
    pub(super) probability: f64,
    /// Of yes and no as listed.
    pub(super) label_mass: f64,
}

impl Label {
    /// The label that a token spells: in any case, with space, quotes or punctuation around it, but nothing else.
    pub(super) fn of(token: &str) -> Option<Self> {
        let bare = token.trim_matches(stands_around);
        if bare.eq_ignore_ascii_case("yes") {
            Some(Self::Yes)
        } else if bare.eq_ignore_ascii_case("no") {
            Some(Self::No)
        } else {
            None
        }
    }
}

/// Whether a character may stand around a label; two of them are the marks of tokenizers for space and newline.
pub(super) fn stands_around(c: char) -> bool {
    c == '\u{120}' || c == '\u{10a}' || !c.is_alphanumeric()
}

/// What the candidates at a position say; `None` if they are no log-probabilities.
pub(super) fn read(candidates: &[Candidate]) -> Option<Reading> {
    // The comparison is false for what is not a number.
    if candidates.is_empty() || !candidates.iter().all(|candidate| candidate.logprob <= 0.0) {
        return None;
    }
    let mass_of = |label| {
        let spelled = candidates.iter().filter(|c| c.label == Some(label));
        spelled.map(|c| c.logprob.exp()).sum::<f64>()
    };
    let (yes, no) = (mass_of(Label::Yes), mass_of(Label::No));
    if yes + no > 1.0 + ROUNDING {
        return None;
    }
    let listed: f64 = candidates.iter().map(|c| c.logprob.exp()).sum();
    let smallest = candidates
        .iter()
        .map(|c| c.logprob.exp())
        .fold(1.0, f64::min);
    let bound = smallest.min(1.0 - listed).max(LEAST);
    let of = |mass: f64| if mass > 0.0 { mass } else { bound };
    let probability = of(yes) / (of(yes) + of(no));
    // Logarithms leave noise in the last digits, and thresholds are decimals that equality decides.
    let rounded = (probability * 1e12).round() / 1e12;
    Some(Reading {
        probability: rounded.clamp(LEAST, 1.0 - LEAST),
        label_mass: (yes + no).min(1.0),
    })
}

/// Whether the numbers were changed after the model gave them: by a temperature, a top-k or a top-p.
///
/// Then all but one are impossible, or they sum to more than 1.
pub(super) fn looks_processed(candidates: &[Candidate]) -> bool {
    let possible = candidates.iter().filter(|c| c.logprob > NEVER).count();
    let listed: f64 = candidates.iter().map(|c| c.logprob.exp()).sum();
    candidates.len() > 1 && possible <= 1 || listed > 1.0 + ROUNDING
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidates(tokens: &[(&str, f64)]) -> Vec<Candidate> {
        let candidate = |&(token, probability): &(&str, f64)| Candidate {
            label: Label::of(token),
            logprob: probability.ln(),
        };
        tokens.iter().map(candidate).collect()
    }

    #[track_caller]
    fn check(tokens: &[(&str, f64)], probability: f64, label_mass: f64) {
        let reading = read(&candidates(tokens)).unwrap();
        assert!(
            (reading.probability - probability).abs() < 1e-9,
            "{reading:?}"
        );
        assert!(
            (reading.label_mass - label_mass).abs() < 1e-9,
            "{reading:?}"
        );
    }

    #[test]
    fn a_token_spells_a_label_or_nothing() {
        for yes in [
            "yes",
            " yes",
            "Yes",
            "YES",
            "\"yes\"",
            "yes.",
            "\u{120}yes",
            "\u{2581}Yes",
            "yes\n",
            "\u{10a}yes",
        ] {
            assert_eq!(Label::of(yes), Some(Label::Yes), "{yes:?}");
        }
        for no in ["no", " No", "NO", "no,", "\u{120}no", "\u{2581}no", "'no'"] {
            assert_eq!(Label::of(no), Some(Label::No), "{no:?}");
        }
        for other in [
            "",
            " ",
            "y",
            "not",
            "nope",
            "yesterday",
            "yes no",
            "01 yes",
            "ye",
            "oui",
            "n\u{f6}",
        ] {
            assert_eq!(Label::of(other), None, "{other:?}");
        }
    }

    /// R18: variants are summed, and the mass that was listed is what is published.
    #[test]
    fn r18_the_mass_is_summed_over_the_spellings_of_a_label() {
        check(
            &[(" yes", 0.5), ("Yes", 0.2), (" no", 0.2), ("NO", 0.1)],
            0.7,
            1.0,
        );
        check(&[("yes", 0.6), ("no", 0.2), ("maybe", 0.2)], 0.75, 0.8);
        check(&[("no", 0.25), ("yes", 0.25)], 0.5, 0.5);
    }

    /// R18: a label that is not listed has at most the smallest listed mass, and at most what is left over.
    #[test]
    fn r18_a_label_that_is_not_listed_is_bounded() {
        check(&[("yes", 0.9), ("Yes", 0.04)], 0.94 / 0.98, 0.94);
        check(&[("yes", 0.9), ("Yes", 0.08)], 0.98, 0.98);
        check(&[("no", 0.8), ("nope", 0.1)], 0.1 / 0.9, 0.8);
        check(&[("yes", 0.9)], 0.9, 0.9);
        let certain = read(&candidates(&[("yes", 1.0)])).unwrap();
        assert!(0.999 < certain.probability && certain.probability < 1.0);
        let impossible = [
            Candidate {
                label: Some(Label::No),
                logprob: 0.0,
            },
            Candidate {
                label: Some(Label::Yes),
                logprob: -9999.0,
            },
        ];
        let reading = read(&impossible).unwrap();
        assert!(0.0 < reading.probability && reading.probability < 0.001);
    }

    #[test]
    fn what_is_no_log_probability_is_not_read() {
        for logprob in [0.1, f64::NAN, f64::INFINITY] {
            let mut list = candidates(&[("yes", 0.5), ("no", 0.4)]);
            list.push(Candidate {
                label: None,
                logprob,
            });
            assert_eq!(read(&list), None, "{logprob}");
        }
        assert_eq!(read(&[]), None);
        assert_eq!(read(&candidates(&[("yes", 0.8), ("no", 0.3)])), None);
    }

    #[test]
    fn processed_numbers_are_told_from_raw_ones() {
        let processed = |tokens: &[(&str, f64)]| looks_processed(&candidates(tokens));
        assert!(processed(&[("yes", 1.0), ("no", 0.0)]));
        assert!(processed(&[("yes", 0.7), ("no", 0.2), ("maybe", 0.2)]));
        assert!(!processed(&[("yes", 1.0)]));
        assert!(!processed(&[("yes", 0.999), ("no", 1e-30)]));
        assert!(!processed(&[("yes", 0.6), ("no", 0.4005)]));
        let written =
            [("yes", 0.0), ("no", -9999.0), ("so", -9999.0)].map(|(token, logprob)| Candidate {
                label: Label::of(token),
                logprob,
            });
        assert!(looks_processed(&written));
    }

    proptest! {
        /// Whatever is listed, the probability lies strictly between 0 and 1 and the mass is a probability.
        #[test]
        fn a_reading_is_never_certain(
            weights in prop::collection::vec((0_u8..4, 0.0_f64..1.0), 1..20),
            rest in 0.0_f64..1.0,
        ) {
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum::<f64>() + rest + 1e-12;
            let list: Vec<_> = weights
                .iter()
                .map(|&(kind, weight)| Candidate {
                    label: [Some(Label::Yes), Some(Label::No), None, None][usize::from(kind)],
                    logprob: (weight / total).ln(),
                })
                .collect();
            let reading = read(&list).unwrap();
            prop_assert!(0.0 < reading.probability && reading.probability < 1.0);
            prop_assert!((0.0..=1.0).contains(&reading.label_mass));
        }

        /// With both labels listed the probability does not depend on what else is.
        #[test]
        fn other_tokens_change_only_the_mass(yes in 0.01_f64..0.5, no in 0.01_f64..0.5, share in 0.0_f64..1.0) {
            let other = (1.0 - yes - no) * share;
            let with = read(&candidates(&[("yes", yes), ("no", no), ("hm", other)])).unwrap();
            let without = read(&candidates(&[("no", no), (" YES", yes)])).unwrap();
            prop_assert!((with.probability - without.probability).abs() < 1e-12);
            prop_assert!((with.label_mass - without.label_mass).abs() < 1e-12);
        }
    }
}
