//! Texts as tokens: windows of them, pairs of them, and texts by a template.
//!
//! What looks like a control token inside a text is text: no trace can end its own side of a pair.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use tokenizers::{Encoding, Tokenizer};

use super::network::Row;

/// Tokens by which a text may come out longer once it stands in a template.
const TEMPLATE_MARGIN: usize = 8;

/// Tokens from texts.
pub(super) struct Words {
    tokenizer: Tokenizer,
    /// The control tokens.
    controls: Vec<String>,
    /// Whether what looks like one is one.
    controls_count: bool,
    pair_overhead: usize,
}

/// A text as tokens, without control tokens.
#[derive(Debug, Clone, Default)]
pub(super) struct Tokens {
    ids: Vec<u32>,
    /// Where each token stands in the text, in bytes.
    places: Vec<Range<usize>>,
}

/// A pair with the places of its second side.
pub(super) struct Pair {
    pub(super) row: Row,
    pub(super) second: Vec<usize>,
}

impl Tokens {
    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    pub(super) const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Where tokens in a row stand in their text, in bytes.
    pub(super) fn place(&self, window: &Range<usize>) -> Range<usize> {
        let places = self.places.get(window.clone()).unwrap_or_default();
        match (places.first(), places.last()) {
            (Some(first), Some(last)) => first.start..last.end.max(first.start),
            _ => 0..0,
        }
    }

    /// The tokens that touch a stretch of the text.
    pub(super) fn within(&self, stretch: &Range<usize>) -> impl Iterator<Item = usize> {
        let touches = |place: &Range<usize>| place.start < stretch.end && stretch.start < place.end;
        let places = self.places.iter().enumerate();
        places
            .filter(move |(_, place)| touches(place))
            .map(|(index, _)| index)
    }

    /// Windows of at most `width` tokens, each `stride` after the last, that leave nothing out.
    pub(super) fn windows(&self, width: usize, stride: Option<usize>) -> Vec<Range<usize>> {
        let width = width.max(1);
        let stride = stride
            .unwrap_or_else(|| width.div_ceil(4) * 3)
            .clamp(1, width);
        let mut windows = Vec::new();
        let mut start = 0;
        while start < self.len() {
            let end = (start + width).min(self.len());
            windows.push(start..end);
            if end == self.len() {
                break;
            }
            start += stride;
        }
        windows
    }

    fn encoding(&self, window: &Range<usize>) -> Encoding {
        let ids = self.ids.get(window.clone()).unwrap_or_default().to_vec();
        let count = ids.len();
        Encoding::new(
            ids,
            vec![0; count],
            vec![String::new(); count],
            vec![None; count],
            vec![(0, 0); count],
            vec![0; count],
            vec![1; count],
            Vec::new(),
            Default::default(),
        )
    }
}

impl Words {
    /// Reads a `tokenizer.json`; also the token that fills rows up.
    ///
    /// With `controls_count` a template may hold control tokens.
    pub(super) fn read(bytes: &[u8], controls_count: bool) -> Result<(Self, u32), String> {
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| error.to_string())?;
        let pad_id = match tokenizer.get_padding() {
            Some(padding) => Some(padding.pad_id),
            None => ["[PAD]", "<pad>"]
                .iter()
                .find_map(|name| tokenizer.token_to_id(name)),
        };
        tokenizer
            .with_truncation(None)
            .map_err(|error| error.to_string())?;
        tokenizer.with_padding(None);
        let added = tokenizer.get_added_tokens_decoder();
        let controls = added.values().filter(|token| token.special);
        let mut controls: Vec<_> = controls.map(|token| token.content.clone()).collect();
        controls.retain(|token| !token.trim().is_empty());
        controls.sort_by_key(|token| (Reverse(token.len()), token.clone()));
        tokenizer.set_encode_special_tokens(!controls_count);
        let mut words = Self {
            tokenizer,
            controls,
            controls_count,
            pair_overhead: 0,
        };
        let empty = Tokens::default();
        words.pair_overhead = words.pair((&empty, 0..0), (&empty, 0..0))?.row.ids.len();
        Ok((words, pad_id.unwrap_or(0)))
    }

    /// The greatest token that there is.
    pub(super) fn greatest_id(&self) -> u32 {
        let vocabulary = self.tokenizer.get_vocab(true);
        vocabulary.into_values().max().unwrap_or(0)
    }

    /// Control tokens of a pair.
    pub(super) const fn pair_overhead(&self) -> usize {
        self.pair_overhead
    }

    /// A text as tokens.
    pub(super) fn tokens(&self, text: &str) -> Result<Tokens, String> {
        let encoding = self
            .tokenizer
            .encode(text, false)
            .map_err(|error| error.to_string())?;
        let places = encoding.get_offsets().iter();
        Ok(Tokens {
            ids: encoding.get_ids().to_vec(),
            places: places.map(|&(start, end)| start..end).collect(),
        })
    }

    /// A pair with its control tokens.
    pub(super) fn pair(
        &self,
        (first, first_window): (&Tokens, Range<usize>),
        (second, second_window): (&Tokens, Range<usize>),
    ) -> Result<Pair, String> {
        let first = first.encoding(&first_window);
        let second = second.encoding(&second_window);
        let encoding = self
            .tokenizer
            .post_process(first, Some(second), true)
            .map_err(|error| error.to_string())?;
        let sides = encoding.get_sequence_ids();
        let is_second = |side: &Option<usize>| *side == Some(1);
        let places = sides.iter().enumerate();
        Ok(Pair {
            second: places
                .filter(|(_, side)| is_second(side))
                .map(|(place, _)| place)
                .collect(),
            row: row(&encoding)?,
        })
    }

    /// A text alone with its control tokens.
    pub(super) fn single(&self, tokens: &Tokens, window: &Range<usize>) -> Result<Row, String> {
        let encoding = self
            .tokenizer
            .post_process(tokens.encoding(window), None, true)
            .map_err(|error| error.to_string())?;
        row(&encoding)
    }

    /// A text by a template, whose control tokens count; the texts must be [`Self::plain`].
    pub(super) fn prompt(
        &self,
        template: &str,
        premise: &str,
        hypothesis: &str,
    ) -> Result<Row, String> {
        let texts = [("{premise}", premise), ("{hypothesis}", hypothesis)];
        let encoding = self
            .tokenizer
            .encode(filled(template, &texts), true)
            .map_err(|error| error.to_string())?;
        row(&encoding)
    }

    /// How many tokens of a premise fit into a template beside a hypothesis.
    pub(super) fn room(
        &self,
        template: &str,
        hypothesis: &str,
        max_tokens: usize,
    ) -> Result<Option<usize>, String> {
        let taken = self.prompt(template, "", hypothesis)?.ids.len() + TEMPLATE_MARGIN;
        Ok(max_tokens.checked_sub(taken).filter(|&room| 0 < room))
    }

    /// The text with blanks in place of control tokens, byte by byte, if they would count in it.
    pub(super) fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        let controls = self.controls.iter();
        for control in controls.filter(|_| self.controls_count) {
            if text.contains(control) {
                text = Cow::Owned(text.replace(control, &" ".repeat(control.len())));
            }
        }
        text
    }
}

/// A template with its placeholders filled, each text as it is.
pub(super) fn filled(template: &str, texts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    loop {
        let found = texts
            .iter()
            .filter_map(|(name, text)| rest.find(name).map(|at| (at, *name, *text)))
            .min_by_key(|(at, _, _)| *at);
        let Some((at, name, text)) = found else {
            out.push_str(rest);
            return out;
        };
        out.push_str(&rest[..at]);
        out.push_str(text);
        rest = &rest[at + name.len()..];
    }
}

/// A stretch of a text, moved to where characters begin.
pub(super) fn slice<'t>(text: &'t str, place: &Range<usize>) -> &'t str {
    let start = text.floor_char_boundary(place.start);
    let end = text.ceil_char_boundary(place.end).max(start);
    &text[start..end]
}

/// A stretch in code points.
pub(super) fn in_code_points(text: &str, place: &Range<usize>) -> Range<usize> {
    let start = text[..text.floor_char_boundary(place.start)]
        .chars()
        .count();
    start..start + slice(text, place).chars().count()
}

fn row(encoding: &Encoding) -> Result<Row, String> {
    let signed = |numbers: &[u32]| -> Result<Vec<i32>, String> {
        let numbers = numbers.iter().map(|&number| i32::try_from(number));
        numbers
            .collect::<Result<_, _>>()
            .map_err(|_| "a token has too great a number".to_owned())
    };
    Ok(Row {
        ids: signed(encoding.get_ids())?,
        types: signed(encoding.get_type_ids())?,
    })
}
