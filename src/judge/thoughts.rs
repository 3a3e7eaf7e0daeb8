//! Where a model stops thinking aloud and begins to answer.
//!
//! What stands within thoughts is no answer, however much it looks like one, and thoughts that do not end leave none.

/// Names of tags around what is not meant for the reader, as `<name>` or `[name]`, in any case.
const TAGS: [&str; 8] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "analysis",
    "scratchpad",
];
/// What opens a channel of a model with several; only the last one is meant for the reader, and only by this name.
const CHANNEL: &str = "<|channel|>";
const FINAL: &str = "final";
const MESSAGE: &str = "<|message|>";

/// Where the thoughts end, in bytes; `None` if they do not.
pub fn end(text: &str) -> Option<usize> {
    // Lower case of ASCII alone keeps every place.
    let text = text.to_ascii_lowercase();
    // Some servers leave the opening tag out, so the last closing one is what counts.
    let mut start = TAGS
        .iter()
        .flat_map(|tag| [format!("</{tag}>"), format!("[/{tag}]")])
        .filter_map(|close| text.rfind(&close).map(|at| at + close.len()))
        .max()
        .unwrap_or(0);
    if let Some(at) = text.rfind(CHANNEL) {
        let name = at + CHANNEL.len();
        let message = text[name..].find(MESSAGE)?;
        if !text[name..].starts_with(FINAL) {
            return None;
        }
        start = start.max(name + message + MESSAGE.len());
    }
    let spoken = &text[start..];
    let is_open =
        |tag: &&str| spoken.contains(&format!("<{tag}>")) || spoken.contains(&format!("[{tag}]"));
    (!TAGS.iter().any(is_open)).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, spoken: Option<&str>) {
        assert_eq!(end(text).map(|at| &text[at..]), spoken, "{text}");
    }

    #[test]
    fn what_follows_the_thoughts_is_spoken() {
        check("plain", Some("plain"));
        check("<think>no</think>yes", Some("yes"));
        check("no</THINK>yes", Some("yes"));
        check("[THINK]no[/THINK]yes", Some("yes"));
        check("<reflection>Ä</reflection>ö", Some("ö"));
        check(
            "<|channel|>analysis<|message|>no<|end|><|channel|>final<|message|>yes",
            Some("yes"),
        );
    }

    #[test]
    fn thoughts_that_do_not_end_leave_nothing() {
        check("<think>no", None);
        check("yes<Thinking>or no", None);
        check("[THINK]no", None);
        check("<|channel|>analysis<|message|>no<|end|>", None);
        check("<|channel|>final", None);
    }
}
