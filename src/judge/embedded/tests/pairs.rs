//! Pairs of context and answer, and whether the answer passes.

use super::*;

/// Groundedness passes, with the context as the question so that it is about the same.
fn passes(context: &str, answer: &str) -> bool {
    let answer = judge(draft(context, &[context], answer));
    let judged = of(&answer, Dimension::Groundedness).judged();
    judged.is_some_and(would_pass)
}

/// The start of a sentence is missing, or its rest matters.
const CUT: &[(&str, &str)] = &[
    (
        "Never enter the lab without goggles on.",
        "Enter the lab without goggles on.",
    ),
    (
        "It is not true that the bridge carries trucks.",
        "The bridge carries trucks.",
    ),
    (
        "Myth: the moss grows on the north side.",
        "The moss grows on the north side.",
    ),
    (
        "Few members of the club own boats.",
        "Members of the club own boats.",
    ),
    (
        "Some rooms face the quiet garden.",
        "Rooms face the quiet garden.",
    ),
    (
        "Almost all seats were sold early.",
        "All seats were sold early.",
    ),
    (
        "Hardly ever does the ferry sail late.",
        "Does the ferry sail late.",
    ),
    (
        "It is forbidden to feed the grey seals.",
        "Feed the grey seals.",
    ),
    (
        "The mayor denies the claim that taxes rise soon.",
        "Taxes rise soon.",
    ),
    (
        "Before 2019, the archive opened on Sundays.",
        "The archive opened on Sundays.",
    ),
    (
        "Keine Hunde dürfen in den alten Park.",
        "Hunde dürfen in den alten Park.",
    ),
    (
        "Hunde dürfen in den Park, wenn sie klein sind.",
        "Hunde dürfen in den Park.",
    ),
    (
        "Vale leads the small team. Orn joined the team.",
        "The small team Orn joined.",
    ),
    (
        "Refunds are paid in full from March.",
        "Refunds are paid in full.",
    ),
    (
        "The gate stays open as long as guards watch.",
        "The gate stays open.",
    ),
    (
        "The lift works and carries bikes, although slowly.",
        "The lift works.",
    ),
    (
        "Guests swim freely while staff watch.",
        "Guests swim freely.",
    ),
    (
        "Members enter free for the first week.",
        "Members enter free.",
    ),
    (
        "The tunnel was safe till the flood came.",
        "The tunnel was safe.",
    ),
    (
        "The tower costs 5 million crowns and is tall.",
        "The tower costs 5.",
    ),
    (
        "The museum is open air and has no roof.",
        "The museum is open.",
    ),
    (
        "The orchard was sold and not harvested.",
        "The orchard was sold.",
    ),
    (
        "Orn lives in Paris, Texas and has a dog.",
        "Orn lives in Paris.",
    ),
];

/// A word is another one.
const WORDS: &[(&str, &str)] = &[
    ("The care was left outside.", "The car was left outside."),
    (
        "The old plane was changed again.",
        "The old plan was changed again.",
    ),
    (
        "The heavy storm killed trees.",
        "The heavy storm killing trees.",
    ),
    ("The pool opens on Sundays.", "The pool opened on Sundays."),
    (
        "The grant comes from the US today.",
        "The grant comes from us today.",
    ),
    (
        "Ask WHO about the new vaccine.",
        "Ask who about the new vaccine.",
    ),
    (
        "Use version 2.10 of the parser.",
        "Use version 2.1 of the parser.",
    ),
    ("The shop has 2nd floor.", "The shop has 2 floors."),
    ("Take vitamin A with water.", "Take vitamin with water."),
    ("Take Vitamin A with water daily.", "Take Vitamin."),
    ("The tank holds thirty litres.", "The tank holds 30 litres."),
];

/// A number has another sign.
const SIGNS: &[(&str, &str)] = &[
    ("The lake was at -5 degrees.", "The lake was at 5 degrees."),
    ("The lake was at +5 degrees.", "The lake was at -5 degrees."),
    (
        "-5 degrees was measured there.",
        "5 degrees was measured there.",
    ),
    ("The daily fee is €5 there.", "The daily fee is $5 there."),
    ("The daily fee is 5 € there.", "The daily fee is 5 $ there."),
    ("The local tax is 5% there.", "The local tax is 5 there."),
    ("The local tax is 5 % there.", "The local tax is 5 ‰ there."),
    ("Send parcels of < 5 kilos.", "Send parcels of > 5 kilos."),
    ("Send parcels of <=5 kilos.", "Send parcels of >=5 kilos."),
    ("Use 1/2 spoons of flour.", "Use 1-2 spoons of flour."),
    ("The trams are 5–10 here.", "The trams are 5, 10 here."),
    (
        "The tank was ~5 metres deep.",
        "The tank was 5 metres deep.",
    ),
    ("Take route #5 to town.", "Take route 5 to town."),
];

/// A symbol answers, or words are struck out.
const SYMBOLS: &[(&str, &str)] = &[
    ("❌ Dogs sleep in the tent.", "Dogs sleep in the tent."),
    ("❌ Dogs sleep in the tent.", "✅ Dogs sleep in the tent."),
    ("Dogs sleep in the tent.", "Dogs sleep in the tent. 👎"),
    ("Dogs sleep in the tent: ✗", "Dogs sleep in the tent: ✓"),
    ("~~Dogs sleep in the tent.~~", "Dogs sleep in the tent."),
    (
        "Dogs ~~sleep in~~ chew the tent.",
        "Dogs sleep in chew the tent.",
    ),
    ("~~Dogs~~ cats sleep here.", "Dogs ~~cats~~ sleep here."),
];

const OPEN: &[(&str, &str)] = &[
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. It is not free.",
    ),
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. Pool free.",
    ),
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. No.",
    ),
    (
        "The old pool opens at eight.",
        "Yes. The old pool opens at eight.",
    ),
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. I could not find the price, but it is 99 euros.",
    ),
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. I could not find the price, but Kestrane knows.",
    ),
];

/// Quotations of what is taken back around them, or whose pronoun means another one.
const TORN: &[(&str, &str)] = &[
    (
        "All of these sentences are wrong:\n- The old pump runs on rain water.\n- The old pump has no valve.",
        "The old pump runs on rain water.",
    ),
    (
        "Questions and answers\nThe warranty covers damage by water.\nNo. It never does.",
        "The warranty covers damage by water.",
    ),
    (
        "These terms are no longer valid. The seller pays for the label.",
        "The seller pays for the label.",
    ),
    (
        "The old pump is the small one. It weighs two kilos. The new pump is the large one. It has a port for sensor cables.",
        "The old pump is the small one. It has a port for sensor cables.",
    ),
];

const PASSING: &[(&str, &str)] = &[
    (
        "We are here. The gate of the fort opens at nine.",
        "We are here. The gate of the fort opens at nine.",
    ),
    (
        "The old pool opens at eight.",
        "the old pool opens at eight",
    ),
    (
        "The old pool opens at eight.",
        "THE OLD POOL OPENS AT EIGHT!",
    ),
    ("The old pool opens at eight.", "- Old pool opens at eight."),
    (
        "One pool opens. Two lifts close. Orn waits here.",
        "Two lifts close.",
    ),
    (
        "One pool opens. Two lifts close. Orn waits here.",
        "one pool opens. two lifts close.",
    ),
    (
        "1. Drain the old tank.\n2. Dry the tank.",
        "1. Drain the old tank.\n2. Dry the tank.",
    ),
    ("- 5 apples weigh a kilo.", "5 apples weigh a kilo."),
    (
        "The old lift works and carries bikes to the top.",
        "The old lift works.",
    ),
    (
        "The lift works well; bikes are carried.",
        "The lift works well.",
    ),
    ("The lake was at −5 degrees.", "The lake was at -5 degrees."),
    ("The local tax is 5% there.", "The local tax is 5 % there."),
    ("Empty the old bin.", "Empty an old bin."),
    (
        "The US pays the old grant. A new grant is due.",
        "The US pays the old grant. A new grant is due.",
    ),
    ("❌ Dogs sleep in the tent.", "❌ Dogs sleep in the tent."),
    (
        "Dogs sleep in tents. ✅\nCats sleep in beds. ❌",
        "Dogs sleep in tents. ✅\nCats sleep in beds. ❌",
    ),
    (
        "Keine Hunde dürfen in den Park.",
        "Keine Hunde dürfen in den Park.",
    ),
    (
        "小型犬は専用ケースに入れます。料金は四百円です。",
        "料金は四百円です。",
    ),
    (
        "The old pool opens at eight.",
        "The old pool opens at eight. I could not find the price.",
    ),
];

#[test]
fn pairs_that_must_not_pass() {
    let tables = [CUT, WORDS, SIGNS, SYMBOLS, OPEN];
    let pairs = tables.into_iter().flatten();
    let wrong: Vec<_> = pairs
        .filter(|(context, answer)| passes(context, answer))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn quotations_that_are_torn_out_of_their_context_do_not_pass() {
    for (context, answer) in TORN {
        let judged = grounded(&[context], answer);
        let guards = judged.evidence.unwrap().guards;
        assert!(guards.contains(&Guard::QuotedContext), "{context}");
    }
}

/// Each context of the tables passes as its own answer, so that its table shows what the difference does.
#[test]
fn pairs_that_must_pass() {
    let tables = [CUT, WORDS, SIGNS, SYMBOLS, OPEN];
    let same = tables
        .into_iter()
        .flatten()
        .map(|(context, _)| (context, context));
    let pairs = same.chain(PASSING.iter().map(|(context, answer)| (context, answer)));
    let wrong: Vec<_> = pairs
        .filter(|(context, answer)| !passes(context, answer))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_number_without_its_sign_is_missing() {
    for (context, answer) in SIGNS {
        let judged = grounded(&[context], answer);
        let guards = judged.evidence.unwrap().guards;
        assert!(guards.contains(&Guard::MissingNumber), "{context} {answer}");
    }
}

#[test]
fn chunks_of_the_demo_pass_when_quoted_whole() {
    let lines = include_str!("../../../../fixtures/traces/demo.jsonl").lines();
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in lines {
        let trace: serde_json::Value = serde_json::from_str(line).unwrap();
        for chunk in trace["contexts"].as_array().unwrap() {
            let text = chunk["text"].as_str().unwrap();
            if text.trim().is_empty() {
                continue;
            }
            count += 1;
            if !passes(text, text) {
                wrong.push(text.to_owned());
            }
        }
    }
    assert!(
        0 < count && wrong.is_empty(),
        "{} of {count}: {wrong:#?}",
        wrong.len()
    );
}
