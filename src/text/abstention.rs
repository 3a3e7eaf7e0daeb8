//! Whether an answer abstains: "I could not find it in the documents" and the like.
//!
//! A phrase is a row of fragments that stand in one sentence in that order. Each row names the speaker or the source, so
//! that a plain negation ("the ticket is not refundable") is no abstention. The answer abstains if its first sentence
//! does, or at least half of its sentences.

use std::sync::LazyLock;

use super::phrases::{Rows, plain};
use super::sentences::statements;

/// Phrases that tell it by themselves; `…` separates the fragments of a row.
const PHRASES: &[&str] = &[
    // English
    "i could not find",
    "i couldn't find",
    "we could not find",
    "i can't find",
    "i cannot find",
    "i did not find",
    "i didn't find",
    "i was unable to find",
    "i am unable to",
    "i'm unable to",
    "i found no",
    "i find no",
    "i have no information",
    "i don't have…information",
    "i do not have…information",
    "i don't have access to",
    "i don't know",
    "i do not know",
    "i cannot answer",
    "i can't answer",
    "i could not answer",
    "i cannot say",
    "i cannot tell",
    "i'm not able to answer",
    "i am not able to answer",
    "not enough information",
    "insufficient information",
    "could not be found in the",
    "cannot be answered",
    "no information…(in|was found|available in)…(documents|context|sources|passages|text)",
    "there is no mention of",
    // German
    "ich konnte…(keine|nichts|nicht)…finden",
    "konnte ich…(keine|nichts|nicht)…finden",
    "ich finde…(keine|nichts)",
    "ich habe…(keine|nichts)…(gefunden|informationen)",
    "ich weiss es nicht",
    "das weiss ich nicht",
    "kann ich…nicht beantworten",
    "ich kann…nicht beantworten",
    "(dokumenten|unterlagen|quellen)…(keine|nichts|nicht)…(angabe|information|gefunden|finden|erwähnt)",
    // French
    "je n'ai pas trouvé",
    "je n'ai rien trouvé",
    "je n'ai trouvé aucun",
    "je ne trouve pas",
    "je ne sais pas",
    "je ne peux pas répondre",
    "je ne dispose pas",
    "(documents|contexte|sources)…ne (mentionnent|contiennent|précisent|indiquent|disent|mentionne|contient)…(pas|rien|aucun)",
    // Spanish
    "no he encontrado",
    "no encontré",
    "no pude encontrar",
    "no he podido encontrar",
    "no encuentro",
    "no lo sé",
    "no puedo responder",
    "no tengo información",
    "no dispongo de información",
    "(documentos|contexto|fuentes) no (mencionan|contienen|indican|dicen|menciona|contiene)",
    // Italian
    "non ho trovato",
    "non sono riuscito a trovare",
    "non riesco a trovare",
    "non lo so",
    "non posso rispondere",
    "non ho informazioni",
    "non dispongo di informazioni",
    "(documenti|contesto|fonti) non (menzionano|contengono|indicano|dicono|riportano|menziona|contiene)",
    // Portuguese
    "não encontrei",
    "não consegui encontrar",
    "não foi possível encontrar",
    "não sei",
    "não posso responder",
    "não tenho informações",
    "não há informações",
    "(documentos|contexto|fontes) não (mencionam|contêm|indicam|dizem|menciona|contém)",
    // Dutch, Swedish, Polish, Turkish, Russian
    "ik kon…niet vinden",
    "ik heb…niet gevonden",
    "ik kan…niet vinden",
    "ik weet het niet",
    "jag kunde inte hitta",
    "jag hittade inte",
    "jag hittar inte",
    "jag vet inte",
    "nie znalazłem",
    "nie znalazłam",
    "nie mogę znaleźć",
    "nie udało mi się znaleźć",
    "nie wiem",
    "bulamadım",
    "bilmiyorum",
    "я не нашел",
    "я не нашёл",
    "не удалось найти",
    "я не знаю",
    "в документах нет",
    // Japanese, Chinese, Korean
    "見つかりませんでした",
    "見つけられませんでした",
    "見つけることができませんでした",
    "(資料|文書|情報|ドキュメント)…(見当たりません|記載されていません|記載がありません|記載はありません|含まれていません|書かれていません)",
    "分かりません",
    "わかりません",
    "お答えできません",
    "没有找到",
    "未找到",
    "找不到",
    "未能找到",
    "我不知道",
    "無法回答",
    "无法回答",
    "(文档|文件|资料|上下文|資料)…(没有提到|没有提及|未提及|未提到|没有说明|没有相关|并未|沒有提到)",
    "찾을 수 없",
    "찾지 못했",
    "알 수 없습니다",
    "모르겠습니다",
    // Arabic, Hebrew, Hindi
    "لم أجد",
    "لم أتمكن من العثور",
    "لم أعثر",
    "لا أعرف",
    "لا أستطيع الإجابة",
    "لا تذكر المستندات",
    "لا توجد معلومات",
    "לא מצאתי",
    "איני יודע",
    "אני לא יודע",
    "नहीं मिल",
    "मुझे नहीं पता",
    "मुझे जानकारी नहीं",
    "दस्तावेज़ों में…नहीं",
];

/// What the English phrase of a source says about it.
const SOURCES: &str = "(documents|document|context|sources|passages|provided text|excerpts|materials|information provided|provided information)";
/// English predicates of a source that holds nothing.
const SILENCE: &str = "(do not|does not|don't|doesn't)…(mention|say|give|contain|state|specify|provide|include|cover|address|tell|answer)";

/// Whether the answer says that it found nothing.
pub fn abstains(answer: &str) -> bool {
    let sentences = statements(answer);
    let abstaining = sentences
        .iter()
        .map(|sentence| sentence_abstains(sentence.text));
    let flags: Vec<bool> = abstaining.collect();
    let count = flags.iter().filter(|flag| **flag).count();
    0 < count && (flags[0] || flags.len() <= 2 * count)
}

/// Whether one sentence says that nothing was found.
pub fn sentence_abstains(sentence: &str) -> bool {
    static ROWS: LazyLock<Rows> = LazyLock::new(|| {
        let silence = format!("{SOURCES}…{SILENCE}");
        let unmentioned =
            format!("not (mentioned|specified|stated|provided|covered|given)…{SOURCES}");
        let none = format!("no (information|mention|details|data)…{SOURCES}");
        let built = [silence, unmentioned, none];
        let built = built.iter().map(String::as_str);
        Rows::new(PHRASES.iter().copied().chain(built))
    });
    ROWS.stand_in(&plain(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: bool) {
        assert_eq!(abstains(answer), expected, "{answer}");
    }

    #[test]
    fn an_answer_that_found_nothing_abstains_in_every_language() {
        check(
            "I could not find anything about tripods in the documents.",
            true,
        );
        check(
            "I’m sorry, the documents I have do not mention a default timeout.",
            true,
        );
        check(
            "The documents do not say how to appeal, so I cannot answer that.",
            true,
        );
        check("This is not mentioned in the provided context.", true);
        check(
            "Dazu konnte ich in den Unterlagen keine Angabe finden. Bitte fragen Sie nach.",
            true,
        );
        check(
            "Je n'ai pas trouvé cette information dans les documents fournis.",
            true,
        );
        check("Lo siento, no he encontrado esa información.", true);
        check(
            "Mi dispiace, nei documenti non ho trovato indicazioni.",
            true,
        );
        check("Não encontrei essa informação.", true);
        check("申し訳ありませんが、資料には記載がありません。", true);
        check("抱歉，文档中没有提到这一点。", true);
        check("لم أجد هذه المعلومة في المستندات.", true);
        check("क्षमा करें, यह जानकारी नहीं मिली।", true);
        check("I could not\nfind\u{a0}it in the files.", true);
        check("죄송합니다. 문서에서 찾을 수 없습니다.", true);
    }

    #[test]
    fn a_negation_alone_is_no_abstention() {
        check("The ticket is not refundable.", false);
        check("No, the path is not suitable for a child of six.", false);
        check("The form does not contain a field for the date.", false);
        check("The customer could not find the shop.", false);
        check("Das Ticket wird nicht erstattet.", false);
        check("Non, le billet n'est pas remboursable.", false);
        check(
            "The documents disagree: one says four days, the other six.",
            false,
        );
        check("", false);
    }

    #[test]
    fn a_remark_after_an_answer_is_no_abstention() {
        check(
            "It costs 5. It takes a day. I could not find the opening hours.",
            false,
        );
    }
}
