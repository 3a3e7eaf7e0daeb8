//! Files of tokens that are good and bad, and what lets a call in.

use http::HeaderValue;

use super::*;

const OLD: &str = "an-old-token-of-24-chars";
const NEW: &str = "a-new-token-of-24-chars.";

fn named(path: impl Into<std::path::PathBuf>) -> NamedFile {
    NamedFile {
        key: "a.key",
        path: path.into(),
    }
}

fn parse(text: &str) -> Result<Tokens, FileError> {
    Tokens::parse(&named("tokens"), text.as_bytes())
}

fn gate(text: &str) -> Gate {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(&file, text).unwrap();
    Gate::read(named(file)).unwrap()
}

fn headers(values: &[&[u8]]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        let value = HeaderValue::from_bytes(value).unwrap();
        headers.append(header::AUTHORIZATION, value);
    }
    headers
}

fn lets_in(gate: &Gate, value: &str) -> bool {
    gate.lets_in(&headers(&[value.as_bytes()]))
}

#[test]
fn every_line_of_the_file_is_a_token() {
    for text in [
        format!("{OLD}\n{NEW}\n"),
        format!("{OLD}\r\n{NEW}"),
        format!("\u{feff}\n{OLD} \t\n\n\n{NEW}\n  \n"),
    ] {
        let gate = gate(&text);
        for token in [OLD, NEW] {
            assert!(lets_in(&gate, &format!("Bearer {token}")));
            assert!(lets_in(&gate, &format!("bEARER   {token} ")));
        }
    }
}

#[test]
fn a_bad_file_is_told_by_its_line_and_never_by_its_token() {
    for (text, expected) in [
        (String::new(), "a.key: `tokens` holds no token"),
        ("\n \n\t\r\n".to_owned(), "a.key: `tokens` holds no token"),
        (
            format!("{OLD}\n\nfifteen-charact\n"),
            "a.key: `tokens` has a token in line 3 that is shorter than 16 characters",
        ),
        (
            format!("{OLD}\n{NEW} {OLD}\n"),
            "a.key: `tokens` has a token in line 2 that holds a character that is not printable ASCII, or a space",
        ),
        (
            format!(" {OLD}"),
            "a.key: `tokens` has a token in line 1 that holds a character that is not printable ASCII, or a space",
        ),
        (
            format!("{OLD}é"),
            "a.key: `tokens` has a token in line 1 that holds a character that is not printable ASCII, or a space",
        ),
        (
            format!("{OLD}\u{0}"),
            "a.key: `tokens` has a token in line 1 that holds a character that is not printable ASCII, or a space",
        ),
    ] {
        let error = parse(&text).unwrap_err();
        assert_eq!(error.to_string(), expected);
        let shown = format!("{error:?} {:?}", parse(OLD));
        assert!(
            !shown.contains("token-of") && !shown.contains("fifteen"),
            "{shown}"
        );
    }
}

#[test]
fn so_many_tokens_and_no_more_stand_in_a_file() {
    let lines =
        |count: usize| (0..count).fold(String::new(), |all, n| all + &format!("{OLD}{n}\n"));
    assert!(parse(&lines(64)).is_ok());
    let error = parse(&lines(65)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.key: `tokens` holds more than 64 tokens"
    );
}

#[test]
fn only_one_right_token_opens_the_gate() {
    let gate = gate(OLD);
    assert!(!gate.lets_in(&HeaderMap::new()));
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        OLD,
        &format!("Basic {OLD}"),
        &format!("Bearer{OLD}"),
        &format!("Bearer {NEW}"),
        &format!("Bearer {OLD}x"),
        &format!("Bearer {}", &OLD[1..]),
        &format!("Bearer {OLD},{OLD}"),
        &format!("Bearer {}", OLD.to_uppercase()),
    ];
    for value in wrong {
        assert!(!lets_in(&gate, value), "{value}");
    }
    assert!(!gate.lets_in(&headers(&[b"Bearer \xff\xfe"])));
    let right = format!("Bearer {OLD}");
    assert!(lets_in(&gate, &right));
    let twice = headers(&[right.as_bytes(), right.as_bytes()]);
    assert!(!gate.lets_in(&twice));
}
