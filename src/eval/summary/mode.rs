//! The rows of one mode.

use std::collections::BTreeMap;

use super::component::ComponentCounts;
use super::diagnosis::DiagnosisCounts;
use super::measured::{Detail, proportion};
use super::row::{Legs, Pairs, is_assessable};
use super::spent::{LatencyCounts, LegCounts, cost};
use crate::domain::dimension::{Dimension, DimensionMap};
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{FallbackUnavailableReason, Route};
use crate::eval::rows::{End, Row};
use crate::report::model::quality::{ComponentReport, Components};
use crate::report::model::spent::{CostReport, LatencyReport};
use crate::report::model::{Mode, ModeReport};
use crate::stats::tally::Precision;

/// The counts of one mode.
pub(super) struct ModeCounts {
    row_count: u64,
    not_assessable: u64,
    failures: BTreeMap<FailureReason, u64>,
    routes: BTreeMap<Route, u64>,
    fallback_unavailable: BTreeMap<FallbackUnavailableReason, u64>,
    diagnosis: DiagnosisCounts,
    components: DimensionMap<ComponentCounts>,
    verdicts: u64,
    judged: u64,
    latency: LatencyCounts,
    route_latency: BTreeMap<Route, LatencyCounts>,
    first: LegCounts,
    second: LegCounts,
    /// Rows of which a leg has no known cost.
    unknown_cost: u64,
}

impl ModeCounts {
    /// Nothing was counted yet.
    pub(super) fn new(precision: Precision) -> Self {
        Self {
            row_count: 0,
            not_assessable: 0,
            failures: BTreeMap::new(),
            routes: BTreeMap::new(),
            fallback_unavailable: BTreeMap::new(),
            diagnosis: DiagnosisCounts::new(precision),
            components: DimensionMap::from_fn(|_| ComponentCounts::new(precision)),
            verdicts: 0,
            judged: 0,
            latency: LatencyCounts::default(),
            route_latency: BTreeMap::new(),
            first: LegCounts::default(),
            second: LegCounts::default(),
            unknown_cost: 0,
        }
    }

    pub(super) fn add(&mut self, row: &Row, mode: Mode, end: &End, pairs: &Pairs) {
        self.row_count += 1;
        if !is_assessable(end) {
            self.not_assessable += 1;
            return;
        }
        let (route, unavailable) = match end {
            End::Failed {
                failed,
                route,
                fallback_unavailable,
            } => {
                *self.failures.entry(*failed).or_default() += 1;
                (*route, *fallback_unavailable)
            }
            End::NotAssessable { .. } => (None, None),
            End::Answered(answered) => (Some(answered.route), answered.fallback_unavailable),
        };
        if let Some(route) = route {
            *self.routes.entry(route).or_default() += 1;
        }
        if let Some(reason) = unavailable {
            *self.fallback_unavailable.entry(reason).or_default() += 1;
        }
        self.diagnosis.add(row, mode, end);
        let legs = Legs::of(row, mode);
        self.add_components(legs, end, pairs);
        self.add_spent(legs, route);
    }

    fn add_components(&mut self, legs: Legs<'_>, end: &End, pairs: &Pairs) {
        self.verdicts += u64::from(legs.has_verdict());
        let lost = match end {
            End::Failed { failed, .. } if legs.first.is_none() => Some(*failed),
            End::Failed { .. } | End::NotAssessable { .. } | End::Answered(_) => None,
        };
        for standing in legs.standings() {
            let is_judged = standing
                .cell
                .is_some_and(|cell| cell.probability().is_some());
            self.judged += u64::from(is_judged);
            self.components[standing.dimension].add(&standing, lost, pairs);
        }
    }

    fn add_spent(&mut self, legs: Legs<'_>, route: Option<Route>) {
        if let Some(latency_us) = legs.latency_us() {
            self.unknown_cost += u64::from(legs.nano_usd().is_none());
            self.latency.add(latency_us);
            if let Some(route) = route {
                self.route_latency.entry(route).or_default().add(latency_us);
            }
        }
        if let Some(leg) = legs.first {
            self.first.add(leg);
        }
        if let Some(leg) = legs.second {
            self.second.add(leg);
        }
    }

    /// Whether any value was rounded.
    pub(super) fn is_rounded(&self) -> bool {
        self.diagnosis.is_rounded()
            || self
                .components
                .iter()
                .any(|(_, counts)| counts.is_rounded())
    }

    pub(super) fn report(&self, mode: Mode, pairs: &Pairs, detail: Detail) -> ModeReport {
        let assessable = self.row_count - self.not_assessable;
        let failed = self.failures.values().sum();
        let of_route = |route| self.routes.get(&route).copied().unwrap_or_default();
        let needed_fallback = of_route(Route::Fallback) + of_route(Route::FallbackUnavailable);
        let route_latency = match detail {
            Detail::Full => Some(self.route_latency.iter()),
            Detail::Slice => None,
        };
        ModeReport {
            row_count: self.row_count,
            failed_count: failed,
            not_assessable_count: self.not_assessable,
            failures: self.failures.clone(),
            failure_rate: proportion(failed, assessable),
            coverage: proportion(of_route(Route::Auto), assessable),
            fallback_rate: proportion(needed_fallback, assessable),
            routes: self.routes.clone(),
            fallback_unavailable: self.fallback_unavailable.clone(),
            diagnosis: self.diagnosis.report(detail),
            components: self.components(mode, pairs, detail),
            band: (mode == Mode::Cascade).then(|| self.diagnosis.band()),
            latency: LatencyReport {
                all: self.latency.report(),
                routes: route_latency
                    .into_iter()
                    .flatten()
                    .map(|(route, counts)| (*route, counts.report()))
                    .collect(),
            },
            cost: CostReport {
                row_count: self.latency.count(),
                unknown_count: self.unknown_cost,
                ..cost(&self.first, &self.second, assessable)
            },
        }
    }

    /// The dimensions; none where a judge decided by whole verdicts, and none of a baseline that judged nothing.
    fn components(&self, mode: Mode, pairs: &Pairs, detail: Detail) -> Option<Components> {
        let is_judged = match mode {
            Mode::AtomicOnly => true,
            Mode::BaselineOnly => 0 < self.judged && self.verdicts == 0,
            Mode::Cascade => self.verdicts == 0,
        };
        let report = |dimension: Dimension| -> Option<(Dimension, ComponentReport)> {
            let counts = &self.components[dimension];
            let pair = pairs.of_mode(dimension, mode);
            (!counts.is_empty()).then(|| (dimension, counts.report(pair, detail)))
        };
        is_judged.then(|| Components {
            retrieval: Dimension::RETRIEVAL
                .into_iter()
                .filter_map(report)
                .collect(),
            generation: Dimension::GENERATION
                .into_iter()
                .filter_map(report)
                .collect(),
        })
    }
}
