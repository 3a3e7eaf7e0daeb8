//! Whether an answer abstains: "I could not find it in the documents" and the like.
//!
//! A phrase is a row of fragments that stand in one sentence in that order. Each row names the speaker or the source, so
//! that a plain negation ("the ticket is not refundable") is no abstention. The answer abstains if its first sentence
//! does, or at least half of its sentences.

use std::sync::LazyLock;

use super::phrases::{Rows, plain};
use super::statements::statements;

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
    "(there isn't|there is not|i don't see|i do not see) any mention of",
    "i see no mention of",
    "the (text|passage|article) (does not|doesn't)…(mention|say|state|specify|provide|cover|address|tell)",
    "i don't have enough",
    "i do not have enough",
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
    "(documents|contexte|sources)…ne (mentionnent|contiennent|précisent|indiquent|disent|mentionne|contient|précise|indique|dit)…(pas|rien|aucun)",
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
    // Dutch
    "ik kon…niet vinden",
    "ik kan…niet (vinden|beantwoorden)",
    "ik heb…(niet|niets|geen)…gevonden",
    "ik kon…(niets|geen)…vinden",
    "ik weet het niet",
    "dat weet ik niet",
    "(documenten|bronnen|context)…(vermelden|bevatten|noemen|zeggen|vermeldt|bevat|noemt|zegt) (niet|niets|geen|hier niets)",
    "(niet|geen)…te vinden in de (documenten|bronnen|context)",
    // Swedish
    "jag kunde inte (hitta|svara)",
    "jag kan inte (hitta|svara)",
    "jag hittade (inte|inget|ingen)",
    "jag hittar (inte|inget|ingen)",
    "jag vet inte",
    "det vet jag inte",
    "(dokumenten|källorna|sammanhanget)…(nämner|innehåller|anger|säger) (inte|inget|ingen|inga)",
    // Danish and Norwegian
    "jeg kunne ikke finde",
    "jeg kunne ikke finne",
    "jeg kan ikke (finde|finne|svare)",
    "jeg (fandt|fant|finder|finner) (ikke|intet|ingen)",
    "jeg ved (|det )ikke",
    "jeg vet ikke",
    "(dokumenterne|dokumentene|kilderne|kildene)…(nævner|nevner|indeholder|inneholder|siger|sier) (ikke|intet|ingen|ingenting)",
    // Finnish
    "en löytänyt",
    "en löydä",
    "en tiedä",
    "en osaa vastata",
    "en pysty vastaamaan",
    "(asiakirjoissa|lähteissä) ei (ole|mainita|kerrota)",
    "(asiakirjat|lähteet) eivät (mainitse|kerro|sisällä)",
    // Polish
    "nie znalazłem",
    "nie znalazłam",
    "nie znaleziono (informacji|odpowiedzi|wzmianki)",
    "nie mogę (znaleźć|odpowiedzieć)",
    "nie udało mi się znaleźć",
    "nie potrafię odpowiedzieć",
    "nie mam (wystarczających |)informacji",
    "nie wiem",
    "(dokumenty|dokumentach|źródła|źródłach|kontekst) nie (wspominają|zawierają|podają|mówią|zawiera|ma)",
    // Czech
    "nenašel jsem",
    "nenašla jsem",
    "nepodařilo se mi najít",
    "nemohu (najít|odpovědět)",
    "nevím",
    "(dokumenty|zdroje) (neuvádějí|neobsahují|nezmiňují|neříkají)",
    // Turkish
    "bulamadım",
    "bulamıyorum",
    "bilmiyorum",
    "(cevap|yanıt) veremiyorum",
    "cevaplayamıyorum",
    "yanıtlayamıyorum",
    "(belgelerde|kaynaklarda|dokümanlarda|metinde)…(bulunmuyor|yer almıyor|geçmiyor|belirtilmemiş|bilgi yok)",
    // Russian
    "я не нашел",
    "я не нашёл",
    "я не нашла",
    "мне не удалось найти",
    "не удалось найти",
    "я не могу (найти|ответить)",
    "я не знаю",
    "у меня нет (информации|данных|сведений)",
    "в (|предоставленных |представленных |этих )(документах|источниках|контексте|тексте) (нет|не указан|не упомина|не сказано|не содержится|отсутству)",
    "(документы|источники) не (содержат|упоминают|указывают|говорят)",
    // Ukrainian
    "я не знайшов",
    "я не знайшла",
    "мені не вдалося знайти",
    "я не можу (знайти|відповісти)",
    "(документах|джерелах) (немає|не вказано|не згаду)",
    // Greek
    "δεν βρήκα",
    "δεν μπόρεσα να βρω",
    "δεν γνωρίζω",
    "δεν ξέρω",
    "δεν μπορώ να απαντήσω",
    "τα έγγραφα δεν (αναφέρουν|περιέχουν|λένε)",
    // Vietnamese, Indonesian
    "tôi không tìm thấy",
    "tôi không thể (tìm thấy|trả lời)",
    "tôi không biết",
    "(tài liệu|ngữ cảnh) không (đề cập|nêu|chứa|nói)",
    "saya tidak (menemukan|dapat menemukan|bisa menemukan|tahu|dapat menjawab|bisa menjawab)",
    "(dokumen|konteks)…tidak (menyebutkan|memuat|berisi|mencantumkan)",
    // Japanese, Chinese, Korean
    "見つかりませんでした",
    "見つけられませんでした",
    "見つけることができませんでした",
    "(資料|文書|情報|ドキュメント)…(見つかりません|見当たりません|記載されていません|記載がありません|記載はありません|含まれていません|書かれていません)",
    "分かりません",
    "わかりません",
    "わかりかねます",
    "存じません",
    "(お答えできません|お答えすることができません|回答できません)",
    "に関する(情報|記載|言及)(が|は)ありません",
    "没有找到",
    "未找到",
    "找不到",
    "未能找到",
    "我不知道",
    "無法回答",
    "无法回答",
    "(没有|沒有)(相关|相關)…(信息|資訊|资料|資料)",
    "(文档|文件|资料|上下文|資料|檔案|文檔)…(没有提到|没有提及|未提及|未提到|没有说明|没有相关|没有包含|不包含|并未|沒有提到|沒有提及|沒有相關)",
    "찾을 수 없",
    "찾지 못",
    "알 수 없습니다",
    "모르겠습니다",
    "저는…모릅니다",
    "답변(할 수 없|드릴 수 없|하기 어렵)",
    "답변을 드릴 수 없",
    "(문서|자료|출처|문맥)…(언급되어 있지 않|나와 있지 않|포함되어 있지 않|언급이 없|정보가 없|내용이 없)",
    // Arabic, Persian, Hebrew
    "لم أجد",
    "لم أتمكن من العثور",
    "لم أتمكن من إيجاد",
    "لم أستطع العثور",
    "لا أملك (معلومات|المعلومات)",
    "لا يمكنني الإجابة",
    "(المستندات|الوثائق|المصادر|النص|السياق) لا (تذكر|تحتوي|تتضمن|تشير|يذكر|يحتوي|يتضمن|يشير)",
    "لم (يرد|ترد|يذكر|تذكر)…(المستندات|الوثائق|المصادر|النص|السياق)",
    "لم أعثر",
    "لا أعرف",
    "لا أستطيع الإجابة",
    "لا تذكر المستندات",
    "لا توجد معلومات",
    "پیدا نکردم",
    "نمی‌دانم",
    "نتوانستم…پیدا کنم",
    "לא מצאתי",
    "איני יודע",
    "אני לא יודע",
    "לא הצלחתי למצוא",
    "המסמכים אינם (מציינים|מזכירים|מכילים)",
    // Hindi, Bengali
    "नहीं मिल",
    "मुझे नहीं पता",
    "मुझे…(जानकारी|मालूम) नहीं",
    "मैं…(उत्तर|जवाब) नहीं दे सक",
    "(दस्तावेज़ों|दस्तावेज|स्रोतों|संदर्भ)…(उल्लेख|जानकारी)…नहीं",
    "दस्तावेज़ों में…नहीं",
    "খুঁজে পাইনি",
    "আমি জানি না",
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
        check("資料の中に営業時間に関する情報はありません。", true);
        check("申し訳ありませんが、わかりかねます。", true);
        check("無法回答這個問題。", true);
        check("提供的資料沒有提及票價。", true);
        check("문서에 운영 시간이 언급되어 있지 않습니다.", true);
        check("답변을 드릴 수 없습니다.", true);
        check("المستندات لا تذكر سعر التذكرة.", true);
        check("لم يرد ذلك في المستندات.", true);
        check("Le contexte ne précise pas le prix du billet.", true);
        check("К сожалению, в предоставленных документах нет цены.", true);
        check("Я не могу ответить на этот вопрос.", true);
        check("Я не можу відповісти на це питання.", true);
        check("दस्तावेज़ों में इसका उल्लेख नहीं है।", true);
        check("মাফ করবেন, আমি জানি না।", true);
        check("Niestety dokumenty nie zawierają ceny biletu.", true);
        check("Bohužel dokumenty neuvádějí cenu.", true);
        check("Üzgünüm, belgelerde bilet fiyatı belirtilmemiş.", true);
        check("Helaas, de documenten vermelden geen prijs.", true);
        check("Tyvärr nämner dokumenten inget pris. Jag vet inte.", true);
        check("Dokumenten anger inget pris.", true);
        check("Jeg kan ikke finde prisen.", true);
        check("Jeg fant ingen pris i dokumentene.", true);
        check("Asiakirjoissa ei mainita hintaa.", true);
        check("Δεν βρήκα την τιμή στα έγγραφα.", true);
        check("Tôi không tìm thấy giá vé.", true);
        check(
            "Maaf, dokumen tersebut tidak menyebutkan harga tiket.",
            true,
        );
        check("متأسفانه قیمت بلیت را پیدا نکردم.", true);
        check("המסמכים אינם מציינים את המחיר.", true);
        check("The text does not specifically mention the price.", true);
        check("There isn't any mention of a price.", true);
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
        check("De documenten zeggen dat honden niet mogen.", false);
        check("Dokumenten säger att hundar inte får komma in.", false);
        check("В документах указано, что залога нет.", false);
        check("Билет не возвращается.", false);
        check("Bilet nie podlega zwrotowi.", false);
        check("Bilet iade edilmez.", false);
        check("Koirat eivät pääse sisään.", false);
        check("この切符は払い戻しできません。", false);
        check("這張票不能退款。", false);
        check("이 표는 환불되지 않습니다.", false);
        check("لا يمكن استرداد ثمن التذكرة.", false);
        check("यह टिकट वापस नहीं होता।", false);
        check("Vé không được hoàn tiền.", false);
        check("The text box does not give way.", false);
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
