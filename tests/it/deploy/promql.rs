//! The series that a text asks for, as far as names, labels and values can be told without parsing PromQL as a whole.

/// One use of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) matchers: Vec<Matcher>,
}

/// One condition on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Matcher {
    pub(crate) label: String,
    pub(crate) operator: &'static str,
    pub(crate) value: String,
}

/// Labels by which series are put together, with the metrics that they are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grouping {
    pub(crate) labels: Vec<String>,
    pub(crate) metrics: Vec<String>,
}

/// What a text asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) selectors: Vec<Selector>,
    pub(crate) groupings: Vec<Grouping>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// Words before a list of labels.
const GROUPINGS: [&str; 6] = [
    "by",
    "without",
    "on",
    "ignoring",
    "group_left",
    "group_right",
];

/// Whether a name is one of ours: a metric, or a recording rule over one.
pub(crate) fn is_ours(name: &str) -> bool {
    name.starts_with("judge_cascade_")
        || name
            .split(':')
            .any(|part| part.starts_with("judge_cascade"))
            && name.contains(':')
}

/// Reads an expression, or a text in which there are some.
pub(crate) fn read(text: &str) -> Asked {
    let tokens = tokens(text);
    let mut asked = Asked::default();
    for (place, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        if is_ours(word) {
            let matchers = matchers(&tokens[place + 1..]);
            asked.selectors.push(Selector {
                metric: word.clone(),
                matchers,
            });
        } else if GROUPINGS.contains(&word.as_str())
            && tokens.get(place + 1) == Some(&Token::Sign('('))
        {
            let end = matching(&tokens, place + 1);
            let labels = words(&tokens[place + 1..end]);
            let metrics = if ["by", "without"].contains(&word.as_str()) {
                ours(grouped(&tokens, place, end))
            } else {
                ours(&tokens)
            };
            asked.groupings.push(Grouping { labels, metrics });
        }
    }
    asked
}

/// What is put together: the parentheses behind the labels, or before the word.
fn grouped(tokens: &[Token], word: usize, end: usize) -> &[Token] {
    if tokens.get(end + 1) == Some(&Token::Sign('(')) {
        return &tokens[end + 1..matching(tokens, end + 1)];
    }
    let mut depth = 0_i32;
    for place in (0..word).rev() {
        match tokens[place] {
            Token::Sign(')') => depth += 1,
            Token::Sign('(') => depth -= 1,
            Token::Word(_) | Token::Text(_) | Token::Sign(_) => {}
        }
        if depth <= 0 {
            return &tokens[place..word];
        }
    }
    &[]
}

/// The place of the parenthesis that closes the one at a place, or the end.
fn matching(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_i32;
    for (place, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            Token::Word(_) | Token::Text(_) | Token::Sign(_) => {}
        }
        if depth == 0 {
            return place;
        }
    }
    tokens.len()
}

fn words(tokens: &[Token]) -> Vec<String> {
    let words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.clone()),
        Token::Text(_) | Token::Sign(_) => None,
    });
    words.collect()
}

fn ours(tokens: &[Token]) -> Vec<String> {
    words(tokens)
        .into_iter()
        .filter(|word| is_ours(word))
        .collect()
}

/// The conditions in the braces right behind a metric; a template in double braces is none.
fn matchers(tokens: &[Token]) -> Vec<Matcher> {
    let mut matchers = Vec::new();
    let Some((Token::Sign('{'), mut rest)) = tokens.split_first() else {
        return matchers;
    };
    loop {
        let (label, signs, value, more) = match rest {
            [
                Token::Word(label),
                Token::Sign('='),
                Token::Sign('~'),
                Token::Text(value),
                more @ ..,
            ] => (label, "=~", value, more),
            [
                Token::Word(label),
                Token::Sign('!'),
                Token::Sign('~'),
                Token::Text(value),
                more @ ..,
            ] => (label, "!~", value, more),
            [
                Token::Word(label),
                Token::Sign('!'),
                Token::Sign('='),
                Token::Text(value),
                more @ ..,
            ] => (label, "!=", value, more),
            [
                Token::Word(label),
                Token::Sign('='),
                Token::Text(value),
                more @ ..,
            ] => (label, "=", value, more),
            [Token::Sign(','), more @ ..] => {
                rest = more;
                continue;
            }
            _ => return matchers,
        };
        matchers.push(Matcher {
            label: label.clone(),
            operator: signs,
            value: value.clone(),
        });
        rest = more;
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_of_word(c) {
            let mut word = String::from(c);
            while let Some(c) = chars.next_if(|c| is_of_word(*c)) {
                word.push(c);
            }
            // A colon at the end is that of the text around.
            tokens.push(Token::Word(word.trim_end_matches(':').to_owned()));
        } else if c == '"' && is_value_next(&tokens) {
            let mut value = String::new();
            while let Some(c) = chars.next_if(|c| *c != '"') {
                value.push(c);
                if c == '\\' {
                    value.extend(chars.next());
                }
            }
            chars.next();
            tokens.push(Token::Text(value.replace("\\\\", "\\")));
        } else if !c.is_whitespace() {
            tokens.push(Token::Sign(c));
        }
    }
    tokens
}

/// Whether a quote begins a value; elsewhere it belongs to the text around the expression.
fn is_value_next(tokens: &[Token]) -> bool {
    matches!(
        tokens,
        [.., Token::Word(_), Token::Sign('=')]
            | [.., Token::Sign('=' | '!'), Token::Sign('~' | '=')]
    )
}

fn selector(metric: &str, matchers: &[(&str, &'static str, &str)]) -> Selector {
    let matchers = matchers.iter().map(|(label, operator, value)| Matcher {
        label: (*label).to_owned(),
        operator,
        value: (*value).to_owned(),
    });
    Selector {
        metric: metric.to_owned(),
        matchers: matchers.collect(),
    }
}

#[test]
fn selectors_are_found_with_their_conditions() {
    let asked = read(
        "rate(judge_cascade_a_total{x=\"1\", y=~\"a|b\",z!=\"\"}[5m]) / job:judge_cascade_b:rate5m{w!~\".+\"} > 0",
    );
    let a = selector(
        "judge_cascade_a_total",
        &[("x", "=", "1"), ("y", "=~", "a|b"), ("z", "!=", "")],
    );
    let b = selector("job:judge_cascade_b:rate5m", &[("w", "!~", ".+")]);
    assert_eq!(asked.selectors, [a, b]);
    let in_text = read("series: 'judge_cascade_a{job=\"j\"}' and `judge_cascade_b`: x");
    let names: Vec<_> = in_text
        .selectors
        .iter()
        .map(|selector| selector.metric.as_str())
        .collect();
    assert_eq!(names, ["judge_cascade_a", "judge_cascade_b"]);
}

#[test]
fn labels_belong_to_what_is_put_together() {
    let asked = read(
        "sum by (a, b) (rate(judge_cascade_x[5m])) / on (c) group_left () sum(judge_cascade_y) by (d)",
    );
    let told: Vec<_> = asked
        .groupings
        .iter()
        .map(|one| (one.labels.join(" "), one.metrics.join(" ")))
        .collect();
    let (x, y) = ("judge_cascade_x".to_owned(), "judge_cascade_y".to_owned());
    let both = format!("{x} {y}");
    assert_eq!(
        told,
        [
            ("a b".to_owned(), x),
            ("c".to_owned(), both.clone()),
            (String::new(), both),
            ("d".to_owned(), y),
        ]
    );
}

#[test]
fn words_that_only_look_alike_are_not_ours() {
    assert!(
        is_ours("judge_cascade_x")
            && is_ours("job:judge_cascade_x:rate5m")
            && is_ours("judge_cascade:x:threshold")
    );
    assert!(
        !is_ours("judge_cascade") && !is_ours("judgecascade_x") && !is_ours("my_judge_cascade_x")
    );
}
