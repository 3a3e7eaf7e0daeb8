//! One canonical name serves JSON, Protobuf, metrics and the command line.

use super::value;
use crate::cascade::plan::Scope;
use crate::cascade::profile::FallbackMode;
use crate::domain::Vocabulary;
use crate::domain::diagnosis::{Action, Diagnosis, NotAssessableReason, Rule};
use crate::domain::dimension::{Dimension, DimensionRole, Polarity};
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{JudgmentBasis, JudgmentDelivery, JudgmentSource};
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackUnavailableReason, JudgeRole, Route,
};
use crate::domain::trace::{RetrievalState, TurnRole};
use crate::policy::band::Band;
use crate::policy::{ChunkRule, UpstreamRule};
use crate::rpc::pb;
use crate::rpc::status::ErrorReason;

/// Expects the values of a Protobuf enum after "unspecified" to be the vocabulary in its order; `further` values of the
/// enum may follow.
#[track_caller]
fn check<V: Vocabulary>(
    prefix: &str,
    further: usize,
    name_of: impl Fn(i32) -> Option<&'static str>,
) {
    assert_eq!(name_of(0), Some(format!("{prefix}_UNSPECIFIED").as_str()));
    for (index, known) in V::ALL.iter().enumerate() {
        let number = index as i32 + 1;
        let expected = format!("{prefix}_{}", known.name().to_uppercase());
        assert_eq!(name_of(number), Some(expected.as_str()));
        assert_eq!(value::<V>(number), Ok(Some(*known)));
    }
    let end = (V::ALL.len() + further) as i32 + 1;
    assert_eq!(
        name_of(end),
        None,
        "{prefix} has more values than its vocabulary"
    );
    assert_eq!(value::<V>(end), Err(end));
    assert_eq!(value::<V>(-1), Err(-1));
    assert_eq!(value::<V>(0), Ok(None));
}

macro_rules! check_all {
    ($($vocabulary:ty => $message:ident, $prefix:literal, $further:literal;)+) => {
        #[test]
        fn the_names_of_the_domain_are_those_of_the_wire() {
            $( check::<$vocabulary>($prefix, $further, |number| {
                pb::$message::try_from(number).ok().map(|value| value.as_str_name())
            }); )+
        }
    };
}

check_all! {
    Dimension => Dimension, "DIMENSION", 0;
    Polarity => Polarity, "POLARITY", 0;
    DimensionRole => DimensionRole, "DIMENSION_ROLE", 0;
    Diagnosis => Diagnosis, "DIAGNOSIS", 0;
    Rule => Rule, "RULE", 0;
    Action => Action, "ACTION", 0;
    NotAssessableReason => NotAssessableReason, "NOT_ASSESSABLE_REASON", 0;
    NotApplicableReason => NotApplicableReason, "NOT_APPLICABLE_REASON", 0;
    FailureReason => FailureReason, "FAILURE_REASON", 0;
    JudgmentSource => JudgmentSource, "JUDGMENT_SOURCE", 0;
    JudgmentDelivery => JudgmentDelivery, "JUDGMENT_DELIVERY", 0;
    JudgmentBasis => JudgmentBasis, "JUDGMENT_BASIS", 0;
    Route => Route, "ROUTE", 0;
    FallbackUnavailableReason => FallbackUnavailableReason, "FALLBACK_UNAVAILABLE_REASON", 0;
    JudgeRole => JudgeRole, "JUDGE_ROLE", 0;
    CalibrationState => CalibrationState, "CALIBRATION_STATE", 0;
    DecisionVariant => DecisionVariant, "DECISION_VARIANT", 0;
    RetrievalState => RetrievalState, "RETRIEVAL_STATE", 0;
    TurnRole => TurnRole, "TURN_ROLE", 0;
    Band => Band, "BAND", 0;
    ChunkRule => ChunkRule, "CHUNK_RULE", 0;
    UpstreamRule => UpstreamRule, "UPSTREAM_RULE", 0;
    Scope => DiagnoseScope, "DIAGNOSE_SCOPE", 0;
    FallbackMode => FallbackMode, "FALLBACK_MODE", 1;
}

#[test]
fn every_error_reason_is_one_of_the_api() {
    for reason in ErrorReason::ALL {
        let name = format!("ERROR_REASON_{reason}");
        assert!(pb::ErrorReason::from_str_name(&name).is_some(), "{name}");
    }
    let in_api = (0..64)
        .filter(|&number| pb::ErrorReason::try_from(number).is_ok())
        .count();
    assert_eq!(in_api, ErrorReason::ALL.len() + 1);
}
