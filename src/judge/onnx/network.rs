//! The network: rows of tokens in, numbers out.
//!
//! Rows of a batch are padded to one length and the mask says where they end. A network without a mask gets one row at a
//! time, and so does one that quantizes while it runs, for it takes its scale over the whole batch: a judgment must not
//! depend on what else is judged.

use std::sync::Arc;

use rten::{Dimension, Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value, ValueOrView};
use rten_tensor::Layout as _;

use crate::artifact::model_folder::Inputs;

/// The operator by which a model quantizes at run time.
const RUN_TIME_QUANTIZATION: &[u8] = b"DynamicQuantizeLinear";

/// One text, or one pair, as the network takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    /// The tokens.
    pub(super) ids: Vec<i32>,
    /// Which side each token is of.
    pub(super) types: Vec<i32>,
}

/// What the network gave for the rows of a batch.
pub(super) struct Output {
    /// Rows, then tokens if it gives numbers for each, then numbers.
    pub(super) shape: Vec<usize>,
    data: Vec<f32>,
}

/// A model, checked against its contract.
pub(super) struct Network {
    model: Model,
    ids: NodeId,
    mask: Option<NodeId>,
    types: Option<NodeId>,
    output: NodeId,
    fixed_length: Option<usize>,
    /// The token that fills rows up.
    pad_id: i32,
    is_quantized_at_run_time: bool,
    has_fixed_rows: bool,
}

impl Output {
    /// The numbers of a row.
    pub(super) fn row(&self, row: usize) -> &[f32] {
        let size = self.shape.iter().skip(1).product::<usize>();
        self.data
            .get(row * size..(row + 1) * size)
            .unwrap_or_default()
    }
}

impl Network {
    /// Loads a model whose inputs and output are those of the contract.
    pub(super) fn load(
        bytes: Vec<u8>,
        inputs: Option<&Inputs>,
        output: Option<&str>,
        pad_id: u32,
    ) -> Result<Self, String> {
        let is_quantized_at_run_time = contains(&bytes, RUN_TIME_QUANTIZATION);
        let model = ModelOptions::with_all_ops()
            .load(bytes)
            .map_err(|error| format!("it cannot be loaded: {}", one_line(&error.to_string())))?;
        let names = |ids: &[NodeId]| -> Vec<String> {
            let infos = ids.iter().filter_map(|&id| model.node_info(id));
            infos
                .map(|info| info.name().unwrap_or_default().to_owned())
                .collect()
        };
        let known = names(model.input_ids());
        let usual = usual_inputs(&known);
        let inputs = inputs.unwrap_or(&usual);
        let wanted = [
            Some(&inputs.input_ids),
            inputs.attention_mask.as_ref(),
            inputs.token_type_ids.as_ref(),
        ];
        let mut nodes = [None; 3];
        for (node, name) in nodes.iter_mut().zip(wanted) {
            let Some(name) = name else { continue };
            let place = known.iter().position(|known| known == name);
            let place = place.ok_or_else(|| {
                format!(
                    "it has no input `{name}`; its inputs are {}",
                    listed(&known)
                )
            })?;
            *node = model.input_ids().get(place).copied();
        }
        let unknown = known.iter().find(|name| !wanted.contains(&Some(*name)));
        if let Some(unknown) = unknown {
            return Err(format!(
                "it has the input `{unknown}`, which `inputs` of judge.toml does not name"
            ));
        }
        let [ids, mask, types] = nodes;
        let ids = ids.ok_or("it has no input of tokens")?;
        let outputs = names(model.output_ids());
        let place = match output {
            Some(output) => outputs.iter().position(|known| known == output),
            None => (outputs.len() == 1).then_some(0),
        };
        let output = place.and_then(|place| model.output_ids().get(place).copied());
        let output = output.ok_or_else(|| {
            let outputs = listed(&outputs);
            format!("`output` of judge.toml must be one of its outputs, which are {outputs}")
        })?;
        let shape = model.node_info(ids).and_then(|info| info.shape());
        let fixed = |axis: usize| match shape.as_ref().and_then(|shape| shape.get(axis)) {
            Some(Dimension::Fixed(size)) => Some(*size),
            Some(Dimension::Symbolic(_)) | None => None,
        };
        if fixed(0).is_some_and(|rows| rows != 1) {
            return Err("it takes a fixed number of rows other than 1".to_owned());
        }
        Ok(Self {
            ids,
            mask,
            types,
            output,
            fixed_length: fixed(1),
            has_fixed_rows: fixed(0).is_some(),
            pad_id: i32::try_from(pad_id).unwrap_or_default(),
            is_quantized_at_run_time,
            model,
        })
    }

    /// The one length of rows that it takes, if there is only one.
    pub(super) const fn fixed_length(&self) -> Option<usize> {
        self.fixed_length
    }

    /// Whether several rows may go in at once.
    pub(super) const fn takes_batches(&self) -> bool {
        !self.is_quantized_at_run_time && !self.has_fixed_rows && self.mask.is_some()
    }

    /// Runs the network on one thread.
    pub(super) fn run(&self, rows: &[Row], thread: &Arc<ThreadPool>) -> Result<Output, String> {
        let longest = rows.iter().map(|row| row.ids.len()).max().unwrap_or(0);
        let length = self.fixed_length.unwrap_or(longest);
        if length < longest || (self.mask.is_none() && rows.iter().any(|r| r.ids.len() != length)) {
            return Err(format!("it takes no row of {longest} tokens"));
        }
        let value = |of: &dyn Fn(&Row) -> Vec<i32>, filler: i32| {
            let mut data = Vec::with_capacity(rows.len() * length);
            for row in rows {
                let mut row = of(row);
                row.resize(length, filler);
                data.append(&mut row);
            }
            Value::from_shape([rows.len(), length], data).map_err(|error| error.to_string())
        };
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> =
            vec![(self.ids, value(&|row| row.ids.clone(), self.pad_id)?.into())];
        if let Some(mask) = self.mask {
            inputs.push((mask, value(&|row| vec![1; row.ids.len()], 0)?.into()));
        }
        if let Some(types) = self.types {
            inputs.push((types, value(&|row| row.types.clone(), 0)?.into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(thread)));
        let [output] = self
            .model
            .run_n(inputs, [self.output], Some(options))
            .map_err(|error| one_line(&error.to_string()))?;
        let output = output
            .into_tensor::<f32>()
            .ok_or("its output is no tensor of floats")?;
        let shape = output.shape().to_vec();
        if shape.first() != Some(&rows.len()) {
            return Err("its output has not one row for each row of the input".to_owned());
        }
        Ok(Output {
            shape,
            data: output.into_data(),
        })
    }
}

/// The usual names of inputs, as far as a model has them.
fn usual_inputs(known: &[String]) -> Inputs {
    let usual = |name: &str| known.iter().find(|known| *known == name).cloned();
    Inputs {
        input_ids: "input_ids".to_owned(),
        attention_mask: usual("attention_mask"),
        token_type_ids: usual("token_type_ids"),
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
