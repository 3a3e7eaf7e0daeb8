//! The list of models that a service keeps beside its judge.
//!
//! A service without such a list is as good as one with it: that is told apart from a failure. The list stands beside
//! the judge whatever its path ends with, and is asked for with the query of that path.

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use tokio::time::Instant;

use super::scalar::{Object, Scalar};
use crate::domain::failure::FailureReason;
use crate::domain::outcome::JudgeRole;
use crate::judge::egress::{Egress, Fault, Incoming, Outgoing};
use crate::judge::wire;
use crate::judge::{CallContext, JudgeError};

/// Asks for the list of the service whose judge is at `path`.
pub(in crate::judge) async fn list(
    egress: &Egress,
    path: &str,
    headers: Vec<(HeaderName, HeaderValue)>,
    deadline: Instant,
) -> Result<Option<Vec<String>>, JudgeError> {
    let request = Outgoing {
        headers,
        ..wire::get(path_of(path))
    };
    let context = CallContext::until(deadline, JudgeRole::Atomic);
    egress
        .send(&request, &context, read)
        .await
        .map(|sent| sent.value)
}

/// The path of the list beside that of a judge: `/v1/systemone` and `/v1/chat/completions` have `/v1/models`.
fn path_of(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/completions").unwrap_or(path);
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    format!("{parent}/models{query}")
}

fn read(incoming: &Incoming) -> Result<Option<Vec<String>>, Fault> {
    if [404, 405, 501].contains(&incoming.status.as_u16()) {
        return Ok(None);
    }
    if !incoming.status.is_success() {
        return Err(Fault::of_status(incoming));
    }
    let Ok(Object(Some(list))) = serde_json::from_slice::<Object<List>>(&incoming.body) else {
        return Err(Fault::new(
            FailureReason::Protocol,
            "the list of models is not JSON",
        ));
    };
    let entries = list.models.or(list.data);
    let entries =
        entries.ok_or_else(|| Fault::new(FailureReason::Protocol, "there is no list of models"))?;
    let names = entries.into_iter().filter_map(|Object(entry)| {
        let entry = entry?;
        // Where there is an id, a name beside it is for people.
        let id = entry.id.text().or_else(|| entry.name.text());
        id.map(str::to_owned)
    });
    Ok(Some(names.collect()))
}

#[derive(Deserialize)]
struct List {
    models: Option<Vec<Object<Entry>>>,
    data: Option<Vec<Object<Entry>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    id: Scalar,
    name: Scalar,
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn listed(status: u16, body: &'static str) -> Result<Option<Vec<String>>, Fault> {
        read(&Incoming {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.into(),
        })
    }

    #[test]
    fn the_list_stands_beside_the_judge() {
        for (path, expected) in [
            ("/v1/systemone", "/v1/models"),
            ("/typesafe/v1/systemone", "/typesafe/v1/models"),
            ("/v1/chat/completions", "/v1/models"),
            (
                "/openai/v1/chat/completions?api-version=v1",
                "/openai/v1/models?api-version=v1",
            ),
            ("/v1/messages", "/v1/models"),
            ("/systemone/", "/models"),
            ("/", "/models"),
        ] {
            assert_eq!(path_of(path), expected, "{path}");
        }
    }

    #[test]
    fn a_service_without_a_list_is_no_failure() {
        let two = Ok(Some(vec!["a".to_owned(), "b".to_owned()]));
        let ours = r#"{"models":[{"name":"a","description":"x"},{"name":"b"}]}"#;
        assert_eq!(listed(200, ours), two);
        let openai = r#"{"object":"list","data":[{"id":"a","name":"For people"},{"id":"b"}]}"#;
        assert_eq!(listed(200, openai), two);
        assert_eq!(listed(404, "<html>"), Ok(None));
        assert_eq!(listed(405, ""), Ok(None));
        for (status, body, reason) in [
            (200, "<html>", FailureReason::Protocol),
            (200, "{}", FailureReason::Protocol),
            (401, "{}", FailureReason::Unauthenticated),
            (500, "", FailureReason::Unavailable),
        ] {
            assert_eq!(listed(status, body).unwrap_err().reason, reason, "{body}");
        }
    }
}
