//! The first contact with judges over HTTP, before a trace needs them.
//!
//! It opens a connection, compares names of models, and finds out whether a chat model gives log-probabilities. What
//! fails here is told and changes nothing: a judge that is away now may be back when it is needed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use crate::judge::Judge;

/// The longest time for the first contact.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks every judge that is not local for its models, all at the same time.
pub async fn up(judges: Vec<Arc<dyn Judge>>) {
    let remote = judges.iter().filter(|judge| !judge.info().is_local);
    join_all(remote.map(|judge| first_contact(&**judge))).await;
}

async fn first_contact(judge: &dyn Judge) {
    let info = judge.info();
    let (judge_id, model) = (&info.judge_id, info.requested_model.as_deref());
    match judge.models(Instant::now() + TIMEOUT).await {
        Ok(models) => {
            let listed = models.zip(model);
            if let Some((models, model)) = listed
                && !models.iter().any(|listed| listed == model)
            {
                tracing::warn!(%judge_id, model, "the judge does not list the model");
            }
        }
        Err(error) => {
            tracing::warn!(%judge_id, %error, "the models of the judge cannot be listed yet")
        }
    }
    if let Err(error) = judge.probe(Instant::now() + TIMEOUT).await {
        tracing::warn!(%judge_id, %error, "the judge cannot do what it is asked for, or not yet");
    }
}
