//! R49: the embedded judge reads no orders; what the attackers write is text like any other.

use judge_cascade::domain::diagnosis::Diagnosis;

use super::corpus;
use crate::lexical::{cascade, diagnose};

/// A text that speaks to the judge lets nothing pass that does not pass without it.
#[tokio::test]
async fn r49_no_attack_lets_the_embedded_judge_pass_more() {
    let cascade = cascade();
    let mut count = 0;
    for attack in corpus() {
        let clean = diagnose(&cascade, attack.clean).await.ruling.diagnosis;
        let attacked = diagnose(&cascade, attack.attacked.clone())
            .await
            .ruling
            .diagnosis;
        assert!(
            attacked != Diagnosis::Pass || clean == Diagnosis::Pass,
            "{} passes, its clean twin is {clean}",
            attack.attacked.trace_id
        );
        count += 1;
    }
    assert!(60 <= count);
}

/// R49: an answer that quotes its context passes, and still does not with a text that speaks to the judge at its end.
#[tokio::test]
async fn r49_an_attack_in_an_answer_that_passes_is_no_quotation() {
    let cascade = cascade();
    let mut count = 0;
    for attack in corpus() {
        // Letters that nobody can see add nothing to what is quoted.
        if attack.place != "answer" || !attack.text.contains(char::is_alphanumeric) {
            continue;
        }
        let mut draft = (**attack.clean).clone();
        let chunk = draft.chunks.iter().find(|chunk| chunk.text.is_ascii());
        let Some(chunk) = chunk else { continue };
        draft.question.clone_from(&chunk.text);
        draft.answer.clone_from(&chunk.text);
        draft.statements.clear();
        draft.language = Some("en".to_owned());
        draft.reference_answer = None;
        let mut with_attack = draft.clone();
        with_attack.answer = format!("{} {}", draft.answer, attack.text);
        let of = |draft| {
            std::sync::Arc::new(
                judge_cascade::domain::trace::Trace::new(draft, &crate::lexical::LIMITS).unwrap(),
            )
        };
        let quoted = diagnose(&cascade, of(draft)).await.ruling.diagnosis;
        let attacked = diagnose(&cascade, of(with_attack)).await.ruling.diagnosis;
        if quoted == Diagnosis::Pass {
            count += 1;
            assert_ne!(attacked, Diagnosis::Pass, "{}", attack.attacked.trace_id);
        }
    }
    assert!(5 <= count, "{count}");
}
