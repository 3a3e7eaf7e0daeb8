//! Lines are found where they stand, and errors show no text.

use super::*;

#[test]
fn a_bad_line_is_named_and_the_others_are_read() {
    let rows: Vec<_> = read::<u32>("numbers.jsonl", "1\n\n\"two\"\n3\n").collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].1, Ok(1));
    let error = rows[1].1.clone().unwrap_err();
    assert_eq!(
        error.to_string(),
        "numbers.jsonl:3: invalid type: string, expected u32 (column 5)"
    );
    assert_eq!(rows[2].1, Ok(3));
}

#[test]
fn no_error_repeats_a_text() {
    let place = Place {
        file: "f".to_owned(),
        line: 1,
    };
    let line = r#""a secret, expected by \"no one\" at line 3""#;
    let error = parse::<Vec<u32>>(&place, line).unwrap_err().to_string();
    assert!(
        error.starts_with("f:1: invalid type: string, expected a sequence"),
        "{error}"
    );
}

fn lines(bytes: &[u8], buffer: usize) -> Vec<Result<(usize, u64, String), String>> {
    let reader = std::io::BufReader::with_capacity(buffer, bytes);
    let mut reader = LineReader::new("f".to_owned(), reader);
    let mut found = Vec::new();
    while let Some(line) = reader.next_line().unwrap() {
        found.push(
            line.map(|line| (line.place.line, line.offset, line.text.to_owned()))
                .map_err(|error| error.to_string()),
        );
    }
    found
}

#[test]
fn lines_are_numbered_with_blank_lines_and_every_kind_of_end() {
    let bytes = b"\xef\xbb\xbfone\r\n\r\n  \ntwo\n\xff\xfe\nlast";
    for buffer in [1, 2, 64] {
        let found = lines(bytes, buffer);
        let good = |line, offset, text: &str| Ok((line, offset, text.to_owned()));
        assert_eq!(
            found,
            [
                good(1, 3, "one"),
                good(4, 13, "two"),
                Err("f:5: is not UTF-8 (byte 1)".to_owned()),
                good(6, 20, "last"),
            ]
        );
    }
    assert!(lines(b"", 8).is_empty());
}

#[test]
fn a_line_that_is_too_long_is_passed_over_and_not_kept() {
    let mut line = Vec::new();
    let mut reader = std::io::BufReader::with_capacity(3, &b"123456\n12\n"[..]);
    assert_eq!(take_line(&mut reader, &mut line, 4).unwrap(), (7, false));
    assert!(line.len() <= 4);
    line.clear();
    assert_eq!(take_line(&mut reader, &mut line, 4).unwrap(), (3, true));
    assert_eq!(line, b"12\n");
}

#[test]
fn only_the_first_errors_are_listed_and_the_rest_is_counted() {
    let at = |line| {
        Place {
            file: "f".to_owned(),
            line,
        }
        .error("wrong")
    };
    let mut errors = LineErrors::default();
    (1..=103).rev().for_each(|line| errors.add(at(line)));
    errors.add(at(1));
    let text = errors.to_string();
    assert!(
        text.starts_with("f:1: wrong\nf:1: wrong\nf:2: wrong\n"),
        "{text}"
    );
    assert!(text.ends_with("f:99: wrong\nand 4 more"), "{text}");
    assert_eq!(
        (errors.listed().count(), errors.more()),
        (MAX_LISTED_ERRORS, 4)
    );
}

#[test]
fn a_wrong_value_is_named_by_its_path_and_a_field_only_once() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[expect(dead_code, reason = "only the shape is read")]
        flags: Vec<bool>,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "only the shape is read")]
        inner: Option<Inner>,
    }
    let place = Place {
        file: "f".to_owned(),
        line: 1,
    };
    for (line, told) in [
        (
            r#"{"inner":{"flags":[true,"a secret"]}}"#,
            "f:1: inner.flags[1]: invalid type: string, expected a boolean (column ",
        ),
        (
            r#"{"inner":{"flag":[]}}"#,
            "f:1: inner: unknown field `flag`, expected `flags` (column ",
        ),
        ("5", "f:1: invalid type: integer `5`, expected struct Outer"),
    ] {
        let error = parse::<Outer>(&place, line).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
    }
}
