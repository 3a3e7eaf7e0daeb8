//! What stands in a text is found, and nothing is completed.

use super::extract::{Entry, Written, the_object};

#[track_caller]
fn check(text: &str, expected: Option<&[(&str, &str)]>) {
    let found = the_object(text, |key| ["a", "b"].contains(&key));
    let expected = expected.map(|entries| {
        let entries = entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), Entry::Text((*value).to_owned())));
        Written(entries.collect())
    });
    assert_eq!(found, expected, "{text}");
}

#[test]
fn the_one_object_with_a_known_key_counts() {
    check(r#"{"c":"1"} {"a":"2"}"#, Some(&[("a", "2")]));
    check(r#"{"a":"1"} {"c":"2"}"#, None);
    check(r#"So: {"a":"1"}"#, Some(&[("a", "1")]));
    check("```json\n{\"a\":\"1\"}\n```\n", Some(&[("a", "1")]));
    check(r#"{"a":"1"}<|return|>"#, Some(&[("a", "1")]));
    check(r#"{"a":"{\"b\":\"x\"}"}"#, Some(&[("a", r#"{"b":"x"}"#)]));
    check(r#"} {"a":"1"} }"#, Some(&[("a", "1")]));
    check(r#"{"a":"1","a":"2"}"#, Some(&[("a", "1"), ("a", "2")]));
}

#[test]
fn nothing_is_chosen_where_it_is_not_plain_what_is_meant() {
    for text in [
        r#"{"a":"1"} {"a":"2"}"#,
        r#"{"a":"1"} {"a":"2""#,
        r#"{ {"a":"1"}"#,
        r#"{"c": {"a":"1"}, "a": "tru"#,
        r#"{"c": {"a":"1"}}"#,
        r#"{"a":"1"} I would have written that, but it is not so."#,
        r#"{"a":"1"}<|end|>no"#,
    ] {
        check(text, None);
    }
}

#[test]
fn thoughts_are_no_answer() {
    check(r#"<think>{"a":"1"}</think>{"a":"2"}"#, Some(&[("a", "2")]));
    check(r#"{"a":"1"}</think>{"a":"2"}"#, Some(&[("a", "2")]));
    check(r#"[THINK]{"a":"1"}[/THINK] none"#, None);
    check(r#"<think>{"a":"1"}"#, None);
    check(r#"{"a":"1"}</thinking>"#, None);
    check(r#"{"a":"1"}<think>or {"a":"2"}"#, None);
}

#[test]
fn wrong_marks_are_mended_and_nothing_else() {
    check(
        "{'a': 'it\\'s \"so\"', 'b': True,}",
        Some(&[("a", "it's \"so\""), ("b", "true")]),
    );
    check("{\"a\": \"two\nlines\",\n}", Some(&[("a", "two\nlines")]));
    check("{\"a\": \"1\" \"b\": \"2\"}", None);
    check("{a: \"1\"}", None);
    check("[\"a\"]", None);
    check("", None);
}

#[test]
fn hostile_nesting_is_read_quickly_and_refused() {
    check(&"{".repeat(100_000), None);
    check(
        &format!("{}{}", "{\"a\":".repeat(50_000), "}".repeat(50_000)),
        None,
    );
    check(
        &format!("{{\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000)),
        None,
    );
}
