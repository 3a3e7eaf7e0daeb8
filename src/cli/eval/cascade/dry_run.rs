//! `--dry-run`: what an evaluation would ask, send and cost, in words.

use super::Args;
use super::progress::told_seconds;
use super::setup::Setup;
use crate::cli::output;
use crate::dataset::load;
use crate::domain::outcome::NanoUsd;
use crate::eval::dry_run::{DryRun, Part, Plans, Use};
use crate::eval::rows::Shard;
use crate::pricing::PriceTable;

pub(super) fn tell(args: &Args, setup: &Setup) -> anyhow::Result<()> {
    let profile = setup.profile()?;
    let mut parts = Vec::new();
    for use_ in Use::of(&setup.modes) {
        let composite = match use_ {
            Use::Atomic => Some(&profile.atomic),
            Use::Fallback | Use::Baseline => profile.fallback.as_ref(),
        };
        for info in composite
            .into_iter()
            .flat_map(|composite| composite.members())
        {
            let remote = setup.remote(&info.judge_id);
            parts.push(Part::new(info, remote, use_));
        }
    }
    let plans = Plans {
        policy: &profile.policy.policy,
        limits: setup.config.limits,
    };
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let rows = load::rows(&args.data)?.filter(|row| {
        let row = row.as_ref().ok();
        row.is_none_or(|row| shard.holds(row.index))
    });
    let run = DryRun::of(rows, parts, &plans)?;
    let pricing = setup.app.content.cascade.pricing();
    for line in lines(&run, pricing.map(|pricing| &pricing.table)) {
        output::line(&line)?;
    }
    if let Some(pricing) = pricing {
        let (id, day) = (&pricing.id.id, &pricing.as_of);
        output::line(&format!("prices of {id}, as of {day}"))?;
    }
    let rows_at_once = setup.rows_at_once(args);
    if let Some(told) = setup.told_narrowest(args) {
        output::line(&told)?;
    }
    let most = run.most_time(&setup.config.time, &setup.modes, rows_at_once);
    let (least, most) = (run.least_time().as_secs_f64(), most.as_secs_f64());
    output::line(&format!(
        "time with {rows_at_once} rows at once: at least {} by the configured rates, at most {} by the deadlines",
        told_seconds(least),
        told_seconds(most),
    ))?;
    Ok(())
}

fn lines(run: &DryRun, prices: Option<&PriceTable>) -> Vec<String> {
    let mut lines = vec![
        "dry run: nobody is asked and nothing is written".to_owned(),
        format!(
            "{} rows: {} for judges, {} decided without one, {} not assessable, {} over a limit",
            run.row_count,
            run.asked_count(),
            run.unasked_count,
            run.not_assessable_count,
            run.over_limit_count,
        ),
    ];
    lines.extend(
        run.over_limit
            .iter()
            .map(|told| format!("  over a limit: {told}")),
    );
    if (run.over_limit.len() as u64) < run.over_limit_count {
        let more = run.over_limit_count - run.over_limit.len() as u64;
        lines.push(format!("  and {more} more over a limit"));
    }
    lines.extend(run.parts.iter().flat_map(|part| of_part(part, prices)));
    lines
}

fn of_part(part: &Part, prices: Option<&PriceTable>) -> Vec<String> {
    let (least, most) = part.calls();
    let calls = if least == most {
        format!("{least} calls")
    } else {
        format!("{least} to {most} calls")
    };
    let up_to = match part.use_ {
        Use::Fallback => "up to ",
        Use::Atomic | Use::Baseline => "about ",
    };
    let tokens = match &part.remote {
        None if part.info.is_local => "no tokens: it runs in this program".to_owned(),
        None => "no tokens: its answers are recorded".to_owned(),
        Some(_) => {
            let output = match part.max_output_token_count() {
                Some(most) => format!("at most {most} output tokens"),
                None => "output tokens unknown".to_owned(),
            };
            format!("{up_to}{} input tokens, {output}", part.input_token_count)
        }
    };
    let (id, type_) = (&part.info.judge_id, part.info.judge_type);
    let model = match &part.info.requested_model {
        Some(model) => format!("{type_}, model {model}"),
        None => type_.to_string(),
    };
    let mut lines = vec![
        format!("{}: {id} ({model})", part.use_.told()),
        format!("  {calls}; {tokens}; cost {}", told_cost(part.cost(prices))),
    ];
    if part.cut_count > 0 {
        lines.push(format!(
            "  {} rows are too long for it to see them whole",
            part.cut_count
        ));
    }
    lines
}

fn told_cost(cost: (Option<NanoUsd>, Option<NanoUsd>)) -> String {
    match cost {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}, at most unknown"),
        (None, _) => "unknown".to_owned(),
    }
}
