//! English words that mean the opposite of each other.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::words::stem;

static BY_STEM: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let mut opposites: HashMap<&str, Vec<&str>> = HashMap::new();
    for (one, other) in PAIRS.iter().map(|(one, other)| (stem(one), stem(other))) {
        opposites.entry(one).or_default().push(other);
        opposites.entry(other).or_default().push(one);
    }
    opposites
});

/// The stems of the opposites of a folded English word.
pub(super) fn opposites(folded: &str) -> &'static [&'static str] {
    BY_STEM.get(stem(folded)).map_or(&[], Vec::as_slice)
}

/// Sorted, the words of a pair too.
const PAIRS: &[(&str, &str)] = &[
    ("able", "unable"),
    ("above", "below"),
    ("accept", "reject"),
    ("active", "inactive"),
    ("add", "remove"),
    ("admit", "deny"),
    ("advance", "retreat"),
    ("after", "before"),
    ("agree", "disagree"),
    ("alive", "dead"),
    ("allow", "forbid"),
    ("allow", "prohibit"),
    ("always", "never"),
    ("ancient", "modern"),
    ("appear", "disappear"),
    ("approve", "reject"),
    ("arrive", "depart"),
    ("ascend", "descend"),
    ("attack", "defend"),
    ("attract", "repel"),
    ("aunt", "uncle"),
    ("backward", "forward"),
    ("bad", "good"),
    ("beautiful", "ugly"),
    ("begin", "end"),
    ("begin", "finish"),
    ("best", "worst"),
    ("better", "worse"),
    ("big", "small"),
    ("birth", "death"),
    ("black", "white"),
    ("born", "died"),
    ("bottom", "top"),
    ("bought", "sold"),
    ("boy", "girl"),
    ("bright", "dark"),
    ("brother", "sister"),
    ("buy", "sell"),
    ("cheap", "expensive"),
    ("clean", "dirty"),
    ("close", "open"),
    ("cold", "hot"),
    ("comedy", "tragedy"),
    ("common", "rare"),
    ("connect", "disconnect"),
    ("continue", "stop"),
    ("cool", "warm"),
    ("create", "destroy"),
    ("current", "former"),
    ("dangerous", "safe"),
    ("daughter", "son"),
    ("day", "night"),
    ("decrease", "increase"),
    ("deep", "shallow"),
    ("defeat", "victory"),
    ("different", "same"),
    ("difficult", "easy"),
    ("divorced", "married"),
    ("domestic", "foreign"),
    ("down", "up"),
    ("dry", "wet"),
    ("early", "late"),
    ("east", "west"),
    ("eastern", "western"),
    ("easy", "hard"),
    ("empty", "full"),
    ("ended", "started"),
    ("enter", "exit"),
    ("exclude", "include"),
    ("expand", "shrink"),
    ("export", "import"),
    ("external", "internal"),
    ("fail", "succeed"),
    ("failure", "success"),
    ("fall", "rise"),
    ("false", "true"),
    ("famous", "unknown"),
    ("far", "near"),
    ("fast", "slow"),
    ("father", "mother"),
    ("female", "male"),
    ("few", "many"),
    ("fiction", "nonfiction"),
    ("first", "last"),
    ("forget", "remember"),
    ("future", "past"),
    ("gain", "lose"),
    ("gain", "loss"),
    ("guilty", "innocent"),
    ("happy", "sad"),
    ("hate", "love"),
    ("heavy", "light"),
    ("high", "low"),
    ("higher", "lower"),
    ("highest", "lowest"),
    ("husband", "wife"),
    ("illegal", "legal"),
    ("impossible", "possible"),
    ("indoor", "outdoor"),
    ("inside", "outside"),
    ("join", "leave"),
    ("king", "queen"),
    ("large", "small"),
    ("larger", "smaller"),
    ("largest", "smallest"),
    ("least", "most"),
    ("left", "right"),
    ("less", "more"),
    ("likely", "unlikely"),
    ("long", "short"),
    ("longer", "shorter"),
    ("longest", "shortest"),
    ("lose", "win"),
    ("loss", "profit"),
    ("lost", "won"),
    ("loud", "quiet"),
    ("lower", "raise"),
    ("major", "minor"),
    ("majority", "minority"),
    ("man", "woman"),
    ("mandatory", "optional"),
    ("married", "single"),
    ("maximum", "minimum"),
    ("men", "women"),
    ("narrow", "wide"),
    ("negative", "positive"),
    ("new", "old"),
    ("north", "south"),
    ("northern", "southern"),
    ("old", "young"),
    ("older", "younger"),
    ("oldest", "youngest"),
    ("only", "several"),
    ("optional", "required"),
    ("peace", "war"),
    ("permanent", "temporary"),
    ("poor", "rich"),
    ("popular", "unpopular"),
    ("private", "public"),
    ("pull", "push"),
    ("rural", "urban"),
    ("strong", "weak"),
    ("successful", "unsuccessful"),
    ("thick", "thin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_are_sorted_and_none_stands_twice() {
        assert!(PAIRS.is_sorted_by(|one, other| one < other));
        assert!(PAIRS.iter().all(|(one, other)| one < other));
        assert!(110 <= PAIRS.len());
    }

    #[test]
    fn opposites_go_both_ways_and_by_stem() {
        for (one, other) in [
            ("increased", "decreas"),
            ("decreases", "increas"),
            ("buy", "sell"),
        ] {
            assert!(opposites(one).contains(&other), "{one} {other}");
        }
        assert!(opposites("glacier").is_empty());
    }
}
