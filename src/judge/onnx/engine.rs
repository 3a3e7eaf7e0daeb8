//! A model folder, read and checked: everything that can be wrong with it is found before the first trace.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rten::ThreadPool;

use super::OnnxError;
use super::network::{Network, Row};
use super::words::Words;
use crate::artifact::digest::sha256_hex;
use crate::artifact::model_folder::{self, Calibration, Contract, ModelKind};

/// A model that can be asked.
pub(super) struct Engine {
    pub(super) contract: Contract,
    pub(super) calibration: Calibration,
    pub(super) words: Words,
    pub(super) network: Network,
    threads: Threads,
}

/// Pools of one thread each, so that a run takes one processor; a run has one for itself.
#[derive(Default)]
pub(super) struct Threads(Mutex<Vec<Arc<ThreadPool>>>);

impl Threads {
    /// Does something on a pool of one thread.
    pub(super) fn with<T>(&self, work: impl FnOnce(&Arc<ThreadPool>) -> T) -> T {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let thread = free.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        let done = work(&thread);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
        done
    }
}

impl Engine {
    /// Reads a folder and runs the model once.
    pub(super) fn open(dir: &Path) -> Result<Self, OnnxError> {
        let named = |name: &str| dir.join(name).display().to_string();
        let text = text(dir, "judge.toml")?;
        let contract = model_folder::read(&named("judge.toml"), &text);
        let contract = contract.map_err(|error| OnnxError(error.to_string()))?;
        let model = digested(dir, "model.onnx", "sha256", Some(&contract.sha256))?;
        let tokenizer = digested(
            dir,
            "tokenizer.json",
            "tokenizer_sha256",
            contract.tokenizer_sha256.as_ref(),
        )?;
        let calibration = match text_if_any(dir, "calibration.json")? {
            Some(text) => {
                model_folder::read_calibration(&named("calibration.json"), &text, &contract)
                    .map_err(|error| OnnxError(error.to_string()))?
            }
            None => Calibration::default(),
        };
        let about = |name: &str| {
            let file = named(name);
            move |message: String| OnnxError(format!("{file}: {message}"))
        };
        let counts = contract.kind == ModelKind::PromptClassifier;
        let (words, pad_id) = Words::read(&tokenizer, counts).map_err(about("tokenizer.json"))?;
        let (inputs, output) = (contract.inputs.as_ref(), contract.output.as_deref());
        let network = Network::load(model, inputs, output, pad_id).map_err(about("model.onnx"))?;
        let engine = Self {
            contract,
            calibration,
            words,
            network,
            threads: Threads::default(),
        };
        let (file, message) = match engine.warm_up() {
            Ok(()) => return Ok(engine),
            Err(problem) => problem,
        };
        Err(about(file)(message))
    }

    /// Does something on a pool of one thread.
    pub(super) fn on_a_thread<T>(&self, work: impl FnOnce(&Arc<ThreadPool>) -> T) -> T {
        self.threads.with(work)
    }

    /// How many numbers of an output of this shape belong together, if the shape is that of the kind.
    pub(super) fn width(&self, shape: &[usize]) -> Result<usize, String> {
        let is_one = self.contract.width == Some(1);
        let (per_text, per_token) = match self.contract.kind {
            ModelKind::PairClassifier | ModelKind::PairRegressor => (true, false),
            ModelKind::TokenClassifier => (false, true),
            ModelKind::PromptClassifier | ModelKind::Embedding => (true, true),
        };
        match shape {
            [_] if per_text && is_one => Ok(1),
            [_, width] if per_text => Ok(*width),
            [_, _, width] if per_token => Ok(*width),
            _ => Err(format!(
                "its output has the shape {shape:?}, which no `{}` has",
                self.contract.kind
            )),
        }
    }

    /// Runs one pair, the greatest token and the longest text; what is wrong, with the file that says so.
    fn warm_up(&self) -> Result<(), (&'static str, String)> {
        let max_tokens = self.contract.max_tokens;
        if let Some(length) = self.network.fixed_length().filter(|&l| l < max_tokens) {
            let message =
                format!("max_tokens: `{max_tokens}` is more than the {length} of model.onnx");
            return Err(("judge.toml", message));
        }
        let row = self
            .first_row()
            .map_err(|message| ("tokenizer.json", message))?;
        let run = |row: &Row| {
            self.on_a_thread(|thread| self.network.run(std::slice::from_ref(row), thread))
        };
        let in_model = |message| ("model.onnx", message);
        let output = run(&row).map_err(|error| in_model(format!("it does not run: {error}")))?;
        let width = self.width(&output.shape).map_err(in_model)?;
        if let Some(count) = self.contract.width.filter(|&count| count != width) {
            let message =
                format!("labels: the model gives {width} numbers where judge.toml tells {count}");
            return Err(("judge.toml", message));
        }
        if !output.row(0).iter().all(|number| number.is_finite()) {
            return Err(in_model("it gives no numbers for a short text".to_owned()));
        }
        let greatest = self.words.greatest_id();
        let of = |id: i32, count: usize| Row {
            ids: vec![id; count],
            types: vec![0; count],
        };
        // Without a mask the row must have a length that the model is known to take.
        let count = row.ids.len();
        let greatest_row = of(i32::try_from(greatest).unwrap_or(i32::MAX), count);
        run(&greatest_row).map_err(|error| {
            let message = format!(
                "its vocabulary is larger than the embedding of model.onnx: token {greatest} does not run: {error}"
            );
            ("tokenizer.json", message)
        })?;
        let longest = of(row.ids.first().copied().unwrap_or_default(), max_tokens);
        run(&longest).map_err(|error| {
            let message =
                format!("max_tokens: the model does not take `{max_tokens}` tokens: {error}");
            ("judge.toml", message)
        })?;
        Ok(())
    }

    /// A short text as the kind has it.
    fn first_row(&self) -> Result<Row, String> {
        let (first, second) = (self.words.tokens("a b")?, self.words.tokens("a")?);
        let template = self.contract.template.as_deref().unwrap_or_default();
        match self.contract.kind {
            ModelKind::PairClassifier | ModelKind::PairRegressor | ModelKind::TokenClassifier => {
                let pair = self
                    .words
                    .pair((&first, 0..first.len()), (&second, 0..second.len()))?;
                if pair.second.len() != second.len() {
                    return Err("it does not keep the sides of a pair apart".to_owned());
                }
                Ok(pair.row)
            }
            ModelKind::PromptClassifier => self.words.prompt(template, "a b", "a"),
            ModelKind::Embedding => self.words.single(&first, &(0..first.len())),
        }
    }
}

fn text(dir: &Path, name: &str) -> Result<String, OnnxError> {
    let file = dir.join(name);
    fs::read_to_string(&file)
        .map_err(|error| OnnxError(format!("cannot read `{}`: {error}", file.display())))
}

fn text_if_any(dir: &Path, name: &str) -> Result<Option<String>, OnnxError> {
    match fs::metadata(dir.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Ok(_) | Err(_) => text(dir, name).map(Some),
    }
}

/// A file whose digest is as `judge.toml` tells.
fn digested(
    dir: &Path,
    name: &str,
    key: &str,
    wanted: Option<&String>,
) -> Result<Vec<u8>, OnnxError> {
    let file = dir.join(name);
    let bytes = fs::read(&file)
        .map_err(|error| OnnxError(format!("cannot read `{}`: {error}", file.display())))?;
    let Some(wanted) = wanted else {
        return Ok(bytes);
    };
    let digest = sha256_hex(&bytes);
    if digest == *wanted {
        return Ok(bytes);
    }
    let file = file.display();
    Err(OnnxError(format!(
        "{file}: its SHA-256 is {digest}, and `{key}` of judge.toml is {wanted}"
    )))
}
