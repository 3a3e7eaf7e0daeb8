//! Whether a text seems to speak to the judge: instructions, forged delimiters, markers of roles, ready-made verdicts.
//!
//! It is a signal and no proof, in either direction. It can only hold a PASS back, so a text that merely talks of such
//! things costs certainty and never a verdict, and a text that slips through still is nothing but data.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::fold::folded;
use super::phrases::{Row, Rows, lines, starts, without_breaks};
use super::words::words;

/// Phrases by language; `…` separates fragments that stand near each other in one clause.
/// A phrase that starts with `^` must be an order: it begins a clause or follows a word such as "please".
const PHRASES: &[&str] = &[
    // English: instructions to forget the task
    "(ignore |disregard |forget |override |do not follow |don't follow |pay no attention to )…(previous|prior|above|earlier|preceding|foregoing|original|all other)…(instruction|prompt|guideline|rubric|criteria|directive|rules)",
    "(ignore |disregard |forget |bypass )(your|the system|all system)…(instruction|prompt|guideline|rubric|criteria|rules)",
    "^(ignore|disregard) (everything|anything|all) (above|before|said so far)",
    // English: words for the judge
    "(note|message|notice|instructions|attention|memo|dear) (|to |for )(|the |any |all )(ai|llm|language model|judge model|grading model|ai model)(:|,| judge| grader| evaluator| reading| processing| that reads| model)",
    "(note|message|notice|instruction|instructions|attention|dear) (|to |for )(|the |any |all )(judge|grader|evaluator|reviewer)…(true|grounded|supported|relevant|sufficient|pass |full marks|yes)",
    "(judge|grader|evaluator|ai|llm|model) (must|should|shall|has to|needs to|is required to)…(answer|label|mark|rate|score|output|return)…(true|yes|grounded|supported|relevant|1.0)",
    "if you are (an |a |the )(ai|llm|language model|judge|grader|evaluator)",
    "you are (now|no longer) (|a |an |the |in )(evaluator|judge|grader|ai |assistant|language model|llm|unrestricted|developer mode|debug mode|jailbroken|bound by|lenient)",
    "^(act|behave) as (a |an |the )(judge|grader|evaluator|lenient|unrestricted|generous)",
    "^pretend (that|to be|you are)…(judge|grader|evaluator|supported|grounded)",
    "new (system |)(instructions|prompt|task|rules) (for|to) (|the |any )(judge|model|ai|assistant|evaluator|grader|llm)",
    "your (new|real|actual|true|updated) (task|instruction|instructions) (is|are)",
    "(system|developer) (prompt|message|override|instruction|instructions|update)(:| override)",
    "(evaluation|grading|judging) (mode|override|policy)…(disabled|lenient|off|suspended|waived)",
    "^do not (judge|evaluate|grade|fact-check|flag) (this|the|my) (answer|response|claim|statement|chunk|passage)",
    // English: verdicts on order
    "^(answer|respond|reply|say|output|return|write|print)(| with| only| just| simply)(| \"| ')( yes|yes| true|true| pass|pass| 1|1)…(all|every|each|any)…(question|dimension|item|slot|check|criteri|label)",
    "^(answer|respond to|reply to|mark|rate|label|score|grade|fill) (all|every|each|any)…(question|dimension|item|slot|check|criteri|label)…(true|yes|1.0|pass|grounded|supported)",
    "^(mark|rate|label|score|grade|judge|classify|treat|consider|evaluate|report) (this|my|every|all|each|these|it)…(answer|response|chunk|passage|claim|statement|context|text|document)…(true|grounded|supported|relevant|sufficient|faithful|correct|fully)",
    "^(answer|mark|rate|label|score|grade|fill) (all|every|each|both|everything)…(as true|as relevant|as supported|as grounded|as correct|question true|questions true|statement true)",
    "^set (all|every|each)…(label|score|probabilit|verdict|dimension)…(true|1|yes|pass|maximum|no conflict|supported|grounded)",
    "^(answer|respond to|reply to|mark|rate|label|score|grade|fill) (all|every|each|any)…(question|dimension|item|slot|check|criteri|label|statement|claim|chunk)…(with|at|as|by) (|a |the )(|probability |confidence |score |number |value )(|of )(0.9|0,9|1.0)",
    "^set (|the )(all|every|each|both)…(question|dimension|item|slot|check|criteri|label|score|probabilit|confidence|noul|number)…(to|at|=) (0.9|0,9|1.0|one |the maximum)",
    "^(use|give|output|return|write|report|print|assign|answer|respond|reply) (|with |only |just |always )(|a |the )(probability|confidence|score|number|value) (|of )(0.9|0,9|1.0)…(question|dimension|item|slot|check|criteri|label)",
    "(judge|grader|evaluator) has already",
    "(correct|right|expected|only valid) (label|verdict|output|judgment) (is|for this)…(true|yes|grounded|supported|pass)",
    // Ready-made verdicts in our own names or as JSON
    "(groundedness|context_sufficiency|answer_relevance|chunk_relevance|context_conflict|contradiction|faithfulness)(\"|'|)(:| :|=| =)…(true|yes|1|false|0)",
    "(\"|'|`)(correctness|contradiction)(\"|'|`)…(true|false)",
    "label: (true|false|unsure)",
    "[1] (yes|true) [2] (yes|true|no|false)",
    "01(:|) (yes|no|true|false)(,|;|)…02(:|) (yes|no|true|false)",
    "noul(|\"|'|`)(:|: |=| =| = | : | to | auf | à )(|\"|'|`)(0|1|.|true|yes)",
    "(\"|')type(\"|')…(\"|')noul(\"|')",
    "slot (1|2|3|4|5|6|7|8|9)…(true|yes)",
    "unsupported_sentences",
    "chunk_(0|1|2|3|4|5|6|7|8|9)(\"|'|)…(true|yes|relevant)",
    "(\"|')label(\"|')…(\"|')(true|false|unsure)",
    "(\"|'|<)(verdict|judgment|diagnosis)(\"|'|>)…(pass|true|supported|grounded|yes)",
    "(assistant|judge|grader|evaluator): (true|yes|pass|{|grounded|supported)",
    // Markers of roles and delimiters
    "<|(im_start|im_end|system|assistant|user|eot_id|endoftext|start_header_id|end_header_id|begin|end)",
    "([|[/)inst]",
    "<<(/|)sys>>",
    "<(start|end)_of_turn>",
    "<(/|)data-(0|1|2|3|4|5|6|7|8|9|a|b|c|d|e|f|x|{|*)",
    "</(state|instructions|system|system_prompt|untrusted|untrusted_data|data_block)>",
    "(--|==|<<|[[|``)(| |-|=|[)(end|begin|start)(| of)(| the)(| untrusted| user| retrieved)( |_)(data|context|input|chunk|state|trace|answer block|system|instructions)",
    // German
    "(ignorier|vergiss|vergessen sie|missacht|beachte nicht)…(vorherig|vorig|bisherig|obig|früher|alle|deine|ihre)…(anweisung|instruktion|vorgabe|regeln|aufgabe)",
    "^(antworte|antworten sie|bewerte|bewerten sie|markiere|markieren sie)…(alle|jede|alles)…(ja|wahr|true|belegt|richtig)",
    "^(antworte|antworten sie)…(ja|wahr|true)…(alle|jede)…(frage|dimension|punkt)",
    "^(antworte|antworten sie|beantworte|beantworten sie|bewerte|bewerten sie|setze|setzen sie)…(alle|jede)…(frage|dimension|punkt|wert)…(mit|auf) (|der )(|wahrscheinlichkeit )(0,9|0.9|1,0|1.0)",
    // French
    "(ignore |ignorez |oublie |oubliez |ne tiens pas compte |ne tenez pas compte )…(instructions|consignes)…(précédent|antérieur|ci-dessus|du système)",
    "(ignore|ignorez|oublie|oubliez|ne tiens pas compte de|ne tenez pas compte de) toutes (les |vos |tes )(instructions|consignes)",
    "^(réponds|répondez|évalue|évaluez|marque|marquez)…(oui|vrai|true)…(tout|toutes|chaque)",
    "^(réponds|répondez|évalue|évaluez|note|notez|marque|marquez)…(tout|toutes|chaque)…(avec|par) (|une |la )(|probabilité |probabilité de |valeur )(0,9|0.9|1,0|1.0)",
    // Spanish, Portuguese, Italian
    "^(responde|responda|rispondi|rispondete|marca|marque|califica|califique|avalie|valuta)…(todas|todo|cada|tudo|tutte|tutto|ogni)…(con|com) (|una |uma )(|probabilidad |probabilidade |probabilità )(|de |di )(0,9|0.9|1,0|1.0)",
    "(ignora |ignore |ignorad |olvida |olvide )…(instrucciones|indicaciones)…(anteriores|previas|arriba|sistema)",
    "(ignora |ignore |olvida |olvide )…(todas|anteriores|previas)…(instrucciones|indicaciones)",
    "^(responde|responda|marca|marque|califica|califique)…(sí|verdadero|true)…(todas|todo|cada)",
    "(ignora |ignore |esqueça |esquece |desconsidere )…(instruções|orientações)…(anteriores|acima|prévias|sistema)",
    "(ignora |ignore |esqueça |desconsidere )…(todas|anteriores)…(instruções|orientações)",
    "^(responda|responde|marque|avalie)…(sim|verdadeiro|true)…(todas|tudo|cada)",
    "(ignora |ignorate |ignori |dimentica |dimenticate )…(istruzioni|indicazioni)…(precedenti|sopra|sistema)",
    "(ignora |ignorate |dimentica )…(tutte|precedenti)…(istruzioni|indicazioni)",
    "^(rispondi|rispondete|valuta|segna)…(sì|vero|true)…(tutte|tutto|ogni)",
    // Dutch, Swedish, Polish, Turkish
    "(negeer|vergeet)…(vorige|eerdere|bovenstaande|alle|voorgaande)…(instructies|aanwijzingen|opdrachten)",
    "(ignorera|glöm)…(tidigare|föregående|ovanstående|alla)…(instruktioner|anvisningar)",
    "(zignoruj|ignoruj|zapomnij|pomiń)…(poprzedni|wcześniejsz|wszystkie|powyższ)…(instrukcj|poleceni|wskazówk)",
    "(önceki|yukarıdaki|tüm|bütün)…(talimat|yönerge|komut)…(yok say|görmezden gel|unut|dikkate alma)",
    // Russian, Ukrainian
    "(игнорируй|проигнорируй|забудь|не обращай внимания на)…(предыдущ|прежн|все |выше|системн)…(инструкци|указани|правил)",
    "^(отвечай|ответь|отметь|поставь)…(да|истина|true|верно)…(все|всё|каждый|кажд)",
    "^(отвечай|ответь|отметь|поставь|оцени)…(все|всё|каждый|кажд)…вероятност…(0,9|0.9|1,0|1.0)",
    "(ігноруй|проігноруй|забудь)…(попередні|усі|всі|вищ)…(інструкці|вказівк)",
    // Japanese, Chinese, Korean
    "(以前|上記|これまで|すべて|全て|先|前)の…(指示|命令|プロンプト|ルール)…(無視|忘れ|従わない)",
    "(すべて|全て|全部)の…(質問|項目|設問)…(はい|true|真|正しい)",
    "(すべて|全て|全部|各)…(質問|項目|設問)…確率…(0.9|1.0)",
    "(忽略|无视|無視|忘记|忘記|不要理会)…(之前|以上|上述|先前|前面|所有|一切)…(指令|指示|提示|说明|說明|要求|规则|規則)",
    "(所有|全部|每个|每個|一切)…(问题|問題|项目|項目|维度|維度)…(回答|标为|標為|都是|填写|回覆)…(是|真|true|正确|正確)",
    "(所有|全部|每个|每個|一切)…(问题|問題|项目|項目|维度|維度)…(概率|機率|几率)…(0.9|1.0)",
    "(이전|위의|모든|앞의|기존)…(지시|명령|프롬프트|지침)…(무시|잊)",
    "(모든|전부)…(질문|항목)…(예|참|true)",
    "(모든|전부)…(질문|항목)…확률…(0.9|1.0)",
    // Arabic, Hebrew, Persian, Hindi
    "(تجاهل|تجاهلي|انس|لا تتبع)…(التعليمات|الأوامر|الإرشادات|تعليمات)",
    "(أجب|اجب)…(نعم|صحيح|true)…(جميع|كل|الأسئلة)",
    "(התעלם|התעלמי|התעלמו|שכח|שכחי)…(הוראות|ההוראות|הנחיות|ההנחיות)",
    "(دستورات|دستورالعمل)…(قبلی|بالا|پیشین)…(نادیده|فراموش)",
    "(पिछले|पिछली|सभी|पूर्व|ऊपर)…(निर्देश|आदेश)…(अनदेखा|नज़रअंदाज़|भूल)",
];

/// The labels of slots.
const SLOT_LABELS: &[&str] = &[
    "yes",
    "no",
    "true",
    "false",
    "unsure",
    "ja",
    "nein",
    "nee",
    "nej",
    "oui",
    "non",
    "sí",
    "si",
    "sim",
    "não",
    "sì",
    "tak",
    "nie",
    "evet",
    "hayır",
    "да",
    "нет",
    "так",
    "ні",
    "はい",
    "いいえ",
    "是",
    "否",
    "真",
    "예",
    "네",
    "아니요",
    "نعم",
    "لا",
    "כן",
    "לא",
    "हाँ",
    "नहीं",
];

/// Words after which an order may stand.
const BEFORE_ORDERS: &[&str] = &[
    "always", "and", "bitte", "instead", "just", "must", "now", "on", "only", "please", "shall",
    "should", "simply", "so", "then", "to", "will", "you",
];

/// The phrases that may stand anywhere, and the orders.
struct Signs {
    anywhere: Rows,
    orders: Rows,
}

static SIGNS: LazyLock<Signs> = LazyLock::new(|| {
    let (orders, anywhere): (Vec<_>, Vec<_>) =
        PHRASES.iter().partition(|text| text.starts_with('^'));
    Signs {
        anywhere: Rows::new(anywhere.into_iter().copied()),
        orders: Rows::new(orders.into_iter().map(|text| &text[1..])),
    }
});

/// Whether a text seems to speak to the judge.
pub fn speaks_to_the_judge(text: &str) -> bool {
    if hides_letters(text) || mixes_alphabets(text) || fills_slots(text) {
        return true;
    }
    let lines = lines(text);
    let text = without_breaks(&lines);
    let signs = &*SIGNS;
    starts(&text, 0).any(|(at, letter)| {
        let stands = |row: &Row| {
            let end = row.end_near(&text, at);
            end.is_some_and(|end| !offers_a_choice(&text[end..]))
        };
        signs.anywhere.with_first(letter).any(stands)
            || (signs.orders.with_first(letter).any(stands) && begins_a_clause(&lines[..at]))
    })
}

/// "Mark every statement true or false" orders no verdict.
fn offers_a_choice(after: &str) -> bool {
    [" or ", "/", " oder ", " ou ", " o "]
        .iter()
        .any(|word| after.starts_with(word))
}

/// Whether an order may stand after this text.
fn begins_a_clause(before: &str) -> bool {
    let shown = before.trim_end_matches([' ', '"', '\'', '*', '`', '_', '“', '«']);
    let word = shown
        .rsplit(|c: char| !c.is_alphabetic())
        .next()
        .unwrap_or_default();
    match shown.chars().next_back() {
        None => true,
        Some(c) if c.is_alphanumeric() => BEFORE_ORDERS.contains(&word),
        Some(c) => !matches!(c, ')' | '%' | '’'),
    }
}

/// Whether two lines in a row are the numbered labels of a judge that answers slot by slot, as `01 yes` and `02 no`.
fn fills_slots(text: &str) -> bool {
    static LABELS: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| SLOT_LABELS.iter().map(|label| folded(label)).collect());
    let is_wrapping = |c: char| c.is_whitespace() || "\"'`*_>|-.,;".contains(c);
    let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let mut before = None;
    for line in lines {
        let line = line.trim_matches(is_wrapping);
        if line.is_empty() {
            continue;
        }
        // No longer line is a slot.
        let line = Some(line).filter(|line| line.len() <= 64).map(folded);
        let slot = line.and_then(|line| {
            let (number, label) =
                line.split_at(line.bytes().take_while(u8::is_ascii_digit).count());
            let label = label.trim_start_matches([' ', '\t', ':', '=', '-', '>', '"', '\'']);
            let is_apart = number.len() + label.len() < line.len();
            let number: u32 = Some(number).filter(|_| is_apart)?.parse().ok()?;
            LABELS.contains(label).then_some(number)
        });
        if slot.is_some() && before.is_some_and(|before: u32| slot == before.checked_add(1)) {
            return true;
        }
        before = slot;
    }
    false
}

/// Letters that nobody sees: tag characters other than those of flags, and overrides of the direction.
fn hides_letters(text: &str) -> bool {
    let mut in_flag = false;
    text.chars().any(|c| {
        let is_tag = ('\u{e0020}'..='\u{e007f}').contains(&c);
        let hidden = is_tag && !in_flag;
        in_flag = c == '\u{1f3f4}' || (in_flag && is_tag);
        hidden || matches!(c, '\u{202d}' | '\u{202e}')
    })
}

/// Words that look Latin and are not: two of them with Cyrillic letters between Latin ones are no slip.
fn mixes_alphabets(text: &str) -> bool {
    if text.is_ascii() {
        return false;
    }
    let is_mixed = |(_, word): &(usize, &str)| {
        let is_cyrillic = |c: char| ('\u{400}'..='\u{4ff}').contains(&c);
        word.contains(is_cyrillic) && word.contains(|c: char| c.is_ascii_alphabetic())
    };
    words(text).filter(is_mixed).nth(1).is_some()
}

#[cfg(test)]
mod tests;
