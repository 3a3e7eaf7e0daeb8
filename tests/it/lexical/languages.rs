//! R30: every language has statements, and one without word lists is never guessed at.

use judge_cascade::domain::failure::FailureReason;

use super::{Row, cascade, failure, groundedness, judged, passes};

/// A question, a chunk, an answer that is not a quotation, and how many statements it has.
const FOREIGN: [(&str, &str, &str, &str, usize); 7] = [
    (
        "ja",
        "日曜日のプールは何時に開きますか。",
        "市営プールは日曜日の午前八時に開きます。入場料は六百円です。",
        "プールは毎日十時から営業しています。料金は無料です。予約が必要ですか？いいえ！",
        4,
    ),
    (
        "zh",
        "游泳池星期天几点开门？",
        "市立游泳池星期天早上八点开门。门票六元。",
        "游泳池每天十点开门。门票是免费的。",
        2,
    ),
    (
        "ar",
        "متى يفتح المسبح يوم الأحد؟",
        "يفتح المسبح البلدي في الساعة الثامنة صباح يوم الأحد. ثمن التذكرة ستة يورو.",
        "يفتح المسبح كل يوم في الساعة العاشرة. الدخول مجاني للجميع. هل يلزم الحجز؟",
        3,
    ),
    (
        "hi",
        "रविवार को तरणताल कब खुलता है?",
        "नगर का तरणताल रविवार को सुबह आठ बजे खुलता है। टिकट छह यूरो का है।",
        "तरणताल हर दिन दस बजे खुलता है। प्रवेश सबके लिए निःशुल्क है।",
        2,
    ),
    (
        "ru",
        "Когда открывается бассейн в воскресенье?",
        "Городской бассейн открывается в воскресенье в восемь утра. Билет стоит шесть евро.",
        "Бассейн открывается каждый день в десять часов. Вход свободный для всех.",
        2,
    ),
    (
        "th",
        "สระว่ายน้ำเปิดกี่โมงในวันอาทิตย์",
        "สระว่ายน้ำเทศบาลเปิดเวลาแปดโมงเช้าในวันอาทิตย์",
        "สระว่ายน้ำเปิดทุกวันเวลาสิบโมง",
        1,
    ),
    (
        "de",
        "Wann öffnet das Schwimmbad am Sonntag?",
        "Das städtische Schwimmbad öffnet am Sonntag um acht Uhr. Eine Karte kostet sechs Euro.",
        "Das Schwimmbad öffnet jeden Tag um zehn Uhr. Der Eintritt ist für alle frei.",
        2,
    ),
];

/// R30: with and without the name of the language.
#[tokio::test]
async fn r30_other_languages_have_statements_and_no_numbers() {
    let cascade = cascade();
    for (language, question, chunk, answer, count) in FOREIGN {
        for named in [Some(language.to_owned()), None] {
            let mut row = Row::of(question, chunk, answer);
            row.0.language = named;
            let outcome = row.outcome(&cascade).await;
            let statements = &outcome.atomic.as_ref().unwrap().statements;
            assert_eq!(statements.len(), count, "{language}: {statements:#?}");
            let unsupported = Some(FailureReason::UnsupportedLanguage);
            assert_eq!(failure(groundedness(&outcome)), unsupported, "{language}");
            assert!(!passes(&outcome), "{language}");
            let characters: Vec<char> = answer.chars().collect();
            for statement in statements {
                let span = statement.span.clone().unwrap();
                assert_eq!(characters[span].iter().collect::<String>(), statement.text);
            }
        }
    }
}

/// R30: an English answer is not made foreign by a name in another script, nor a foreign one English by a product.
#[tokio::test]
async fn r30_a_word_of_another_language_changes_nothing() {
    let cascade = cascade();
    let chunk = "The pool of Tarn (プール) opens at eight on Sundays, and Señor Núñez sells the tickets at the door.";
    let outcome = Row::of("When does the pool of Tarn open?", chunk, chunk)
        .outcome(&cascade)
        .await;
    assert!(judged(&outcome).is_some());
    let (_, question, chunk, answer, _) = FOREIGN[0];
    let named = answer.replacen("プール", "Kestrel Pool Manager Pro", 1);
    let outcome = Row::of(question, chunk, &named).outcome(&cascade).await;
    assert_eq!(
        failure(groundedness(&outcome)),
        Some(FailureReason::UnsupportedLanguage)
    );
}

/// An answer in which nothing can be decided is neither right nor wrong.
#[tokio::test]
async fn an_answer_without_a_decidable_statement_is_undecidable() {
    let cascade = cascade();
    let chunk = "The Tarn pool opens at eight on Sundays. A ticket costs 6 euros.";
    for answer in [
        "Yes.",
        "No, it does not.",
        "It is so.",
        "Yes, and that is all there is to it.",
        "I could not find this in the documents.",
        "Yes. No. It may be.",
    ] {
        let outcome = Row::of("Does the Tarn pool open at eight?", chunk, answer)
            .outcome(&cascade)
            .await;
        assert_eq!(
            failure(groundedness(&outcome)),
            Some(FailureReason::Undecidable),
            "{answer}"
        );
        assert!(!passes(&outcome), "{answer}");
    }
}
