//! How a well-behaved judge answers on every wire, given its probabilities by the names of the questions.

use judge_cascade::judge::remote::{Layout, Wire};
use serde_json::{Map, Value, json};

use crate::support::fake_judge::{Said, Seen};

/// Words of the questions by which a fake tells them apart.
const WORDS: [(&str, &str); 8] = [
    ("that is relevant to", "chunk"),
    ("everything that is needed", "context_sufficiency"),
    ("materially conflict", "context_conflict"),
    ("directly address", "answer_relevance"),
    ("Is everything that `answer` claims", "groundedness"),
    ("read as a part of `answer`", "statement"),
    ("Does `answer` contradict", "contradiction"),
    ("consistent with `reference_answer`", "correctness"),
];

/// The answer to a request on a wire; `number` gives the probability for a name.
///
/// A request with one question about one chunk does not tell which; `number` is then asked for `chunk_0`.
pub(crate) fn answer(wire: Wire, seen: &Seen, number: impl Fn(&str) -> f64) -> Said {
    match wire {
        Wire::SystemOne => systemone(seen, number),
        Wire::OpenAiDecisions => decisions(seen, number),
        Wire::OpenAiLogprobs {
            layout: Layout::Packed | Layout::PerQuestion,
            ..
        } => {
            let numbers: Vec<f64> = slots(seen).iter().map(|key| number(key)).collect();
            Said::json(&completion(&numbers))
        }
        Wire::Chat { .. } | Wire::Anthropic { .. } => panic!("not an atomic wire"),
    }
}

fn systemone(seen: &Seen, number: impl Fn(&str) -> f64) -> Said {
    let questions = seen.body["questions"].as_object().unwrap();
    let answers: Map<_, _> = questions
        .keys()
        .map(|key| (key.clone(), json!({"type": "noul", "noul": number(key)})))
        .collect();
    Said::json(&json!({
        "model": "answering-model",
        "answers": answers,
        "usage": {"input_tokens": 9000, "output_tokens": 70},
    }))
}

fn decisions(seen: &Seen, number: impl Fn(&str) -> f64) -> Said {
    let questions = seen.body["questions"].as_array().unwrap();
    let answers: Vec<_> = questions
        .iter()
        .map(|question| {
            let name = question["name"].as_str().unwrap();
            json!({"type": "predicate", "name": name, "probability": number(name)})
        })
        .collect();
    Said::json(&json!({
        "model": "answering-model",
        "answers": answers,
        "usage": {"input_tokens": 9000, "output_tokens": 70},
    }))
}

/// What follows the state in a prompt.
pub(crate) fn user_text(seen: &Seen) -> &str {
    seen.body["messages"][1]["content"].as_str().unwrap()
}

/// The names of the questions in the slots of a prompt.
pub(crate) fn slots(seen: &Seen) -> Vec<String> {
    let numbered = |line: &&str| {
        let digits = line.chars().take_while(char::is_ascii_digit).count();
        digits >= 2 && line[digits..].starts_with(' ')
    };
    let key = |line: &str| {
        let found = WORDS.iter().find(|(words, _)| line.contains(words));
        match found.unwrap_or_else(|| panic!("{line}")).1 {
            "chunk" => {
                let ordinal = line.split("chunks[").nth(1).unwrap();
                format!("chunk_{}", ordinal.split(']').next().unwrap())
            }
            "statement" => {
                let ordinal = line.split("statements[").nth(1).unwrap();
                format!("groundedness_{}", ordinal.split(']').next().unwrap())
            }
            whole => whole.to_owned(),
        }
    };
    user_text(seen).lines().filter(numbered).map(key).collect()
}

/// One token with what could have stood in its place.
pub(crate) fn token(text: &str, top: &[(&str, f64)]) -> Value {
    let ln = |p: f64| p.ln().max(-9999.0);
    let list: Vec<_> = top
        .iter()
        .map(|(token, p)| json!({"token": token, "logprob": ln(*p), "bytes": null}))
        .collect();
    let own = top.iter().find(|(token, _)| *token == text);
    json!({
        "token": text,
        "logprob": own.map_or(0.0, |(_, p)| ln(*p)),
        "bytes": null,
        "top_logprobs": list,
    })
}

/// The tokens of numbered lines.
pub(crate) fn lines(numbers: &[f64]) -> Vec<Value> {
    let mut tokens = Vec::new();
    for (index, &p) in numbers.iter().enumerate() {
        let label = if p < 0.5 { " no" } else { " yes" };
        tokens.push(token(&format!("{:02}", index + 1), &[]));
        tokens.push(token(label, &[(" yes", p), (" no", 1.0 - p)]));
        tokens.push(token("\n", &[]));
    }
    tokens
}

/// A completion with numbered lines.
pub(crate) fn completion(numbers: &[f64]) -> Value {
    completion_of(&lines(numbers))
}

/// A completion of tokens.
pub(crate) fn completion_of(tokens: &[Value]) -> Value {
    let text: String = tokens
        .iter()
        .map(|token| token["token"].as_str().unwrap())
        .collect();
    json!({
        "model": "answering-model",
        "choices": [{
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text.trim(), "refusal": null},
            "logprobs": {"content": tokens},
        }],
        "usage": {"prompt_tokens": 9000, "completion_tokens": 21},
    })
}
