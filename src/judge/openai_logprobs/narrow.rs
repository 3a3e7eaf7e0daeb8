//! A view for one question alone: nothing but what that question may rest on.

use crate::domain::dimension::Dimension;
use crate::domain::question::Question;
use crate::judge::view::View;

/// The view for a question, and the question within it.
pub(super) fn to(mut view: View<'_>, question: Question) -> (View<'_>, Question) {
    let dimension = question.dimension();
    let Rests {
        on_chunks,
        on_question,
        on_history,
        on_answer,
        on_reference,
    } = rests(dimension, view.history_is_evidence);
    match on_question {
        Which::Retrieval => {
            if let Some(standalone) = view.standalone_question.take() {
                view.question = standalone;
                view.history.clear();
            }
        }
        Which::Asked => view.standalone_question = None,
        Which::Neither => {
            view.question = "".into();
            view.standalone_question = None;
        }
    }
    if !on_history {
        view.history.clear();
    }
    if !on_answer {
        view.answer = None;
    }
    if !on_reference {
        view.reference_answer = None;
    }
    let Some(ordinal) = question.chunk_ordinal() else {
        if !on_chunks {
            view.chunks.clear();
        }
        return (view, question);
    };
    let chunk = view.chunks.swap_remove(ordinal);
    view.chunks = vec![chunk];
    (view, Question::chunk(0))
}

/// What a question rests on.
struct Rests {
    on_chunks: bool,
    on_question: Which,
    on_history: bool,
    on_answer: bool,
    on_reference: bool,
}

/// Which question of the trace is needed.
enum Which {
    /// As the retriever saw it: the rewrite, or the question after the history.
    Retrieval,
    /// As the user asked it.
    Asked,
    /// None.
    Neither,
}

const fn rests(dimension: Dimension, history_is_evidence: bool) -> Rests {
    match dimension {
        Dimension::ChunkRelevance | Dimension::ContextSufficiency | Dimension::ContextConflict => {
            Rests {
                on_chunks: true,
                on_question: Which::Retrieval,
                on_history: true,
                on_answer: false,
                on_reference: false,
            }
        }
        Dimension::AnswerRelevance => Rests {
            on_chunks: false,
            on_question: Which::Asked,
            on_history: true,
            on_answer: true,
            on_reference: false,
        },
        Dimension::Groundedness | Dimension::Contradiction => Rests {
            on_chunks: true,
            on_question: Which::Neither,
            on_history: history_is_evidence,
            on_answer: true,
            on_reference: false,
        },
        Dimension::Correctness => Rests {
            on_chunks: false,
            on_question: Which::Asked,
            on_history: false,
            on_answer: true,
            on_reference: true,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::outcome::DecisionVariant;
    use crate::domain::question::QuestionSet;
    use crate::domain::trace::{
        Chunk, RetrievalState, Trace, TraceDraft, TraceLimits, Turn, TurnRole,
    };
    use crate::judge::Ask;
    use crate::judge::decision::Decision;
    use crate::judge::view::ViewOptions;

    const ALL: [&str; 7] = [
        "asked", "rewrite", "earlier", "first", "second", "answered", "golden",
    ];

    fn trace(has_rewrite: bool) -> Arc<Trace> {
        let chunk = |text: &str| Chunk {
            chunk_id: text.into(),
            text: text.to_owned(),
            document_id: None,
            retrieval_score: None,
        };
        let turn = Turn {
            role: TurnRole::User,
            text: "earlier".to_owned(),
        };
        let draft = TraceDraft {
            trace_id: "t".into(),
            question: "asked".to_owned(),
            chunks: vec![chunk("first"), chunk("second")],
            answer: "answered".to_owned(),
            reference_answer: Some("golden".to_owned()),
            history: vec![turn],
            standalone_question: has_rewrite.then(|| "rewrite".to_owned()),
            retrieval: RetrievalState::Performed,
            tags: Vec::new(),
            generator_model: None,
            language: None,
            statements: Vec::new(),
        };
        let limits = TraceLimits {
            max_chunk_count: 2,
            max_text_bytes: 100,
            max_history_turns: 1,
        };
        Arc::new(Trace::new(draft, &limits).unwrap())
    }

    #[track_caller]
    fn check(question: Question, has_rewrite: bool, history_is_evidence: bool, shown: &[&str]) {
        let trace = trace(has_rewrite);
        let questions = QuestionSet::from_fn(2, |_| true);
        let ask = Ask {
            trace: &trace,
            questions: &questions,
            decision: Decision::of(DecisionVariant::WithReference),
            history_is_evidence,
        };
        let (narrow, _) = to(View::of(&ask, &ViewOptions::default()), question);
        let json = serde_json::to_string(&narrow).unwrap();
        let texts = ALL
            .into_iter()
            .filter(|text| json.contains(&format!("\"{text}\"")));
        let dimension = question.dimension();
        assert_eq!(texts.collect::<Vec<_>>(), shown, "{dimension} {json}");
    }

    #[test]
    fn each_question_sees_only_what_it_may_rest_on() {
        let about = Question::about;
        check(Question::chunk(1), true, false, &["rewrite", "second"]);
        check(
            Question::chunk(0),
            false,
            false,
            &["asked", "earlier", "first"],
        );
        for whole in [Dimension::ContextSufficiency, Dimension::ContextConflict] {
            check(about(whole), true, false, &["rewrite", "first", "second"]);
            check(
                about(whole),
                false,
                false,
                &["asked", "earlier", "first", "second"],
            );
        }
        let relevance = about(Dimension::AnswerRelevance);
        check(relevance, true, false, &["asked", "earlier", "answered"]);
        for whole in [Dimension::Groundedness, Dimension::Contradiction] {
            check(about(whole), true, false, &["first", "second", "answered"]);
            check(
                about(whole),
                true,
                true,
                &["earlier", "first", "second", "answered"],
            );
        }
        let correctness = about(Dimension::Correctness);
        check(correctness, true, false, &["asked", "answered", "golden"]);
    }
}
