"""The page of a run: from its record, its events, or both."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from thalweg import hierarchy, operations, placement_picture, plan_picture, record, units
from thalweg.analysis import words
from thalweg.analysis.findings import Findings
from thalweg.errors import UserError
from thalweg.network import Network, host_numbers
from thalweg.plans import Setting
from thalweg.printable import plural
from thalweg.report import (
    elements,
    event_parts,
    network_parts,
    placement_parts,
    record_parts,
    run_lead,
    story_parts,
    tree_parts,
)
from thalweg.report.elements import Page, Section


def page(
    title: str,
    run: record.Run | None,
    findings: Findings | None,
    network: Network | None,
    why_not: str = "",
    summary: Mapping[str, Any] | None = None,
    faults: Sequence[str] = (),
) -> Page:
    """Returns a run's page. `run` is None for a folder of --trace, which has no record; `findings`
    is None without events, and `why_not` says why. `faults`: what else couldn't be read."""
    sections = [
        *_calls(run, findings), *story_parts.sections(summary), *_inside(findings)
    ]  # fmt: skip
    if run is not None:
        if findings is None:
            rows = record_parts.ranks(run, ())
            sections += _section("Ranks", record_parts.time_by_rank(run, rows))
            sections += _section("Plans", planned(run, network))
        sections += _section("Links", [*_ratios(findings), *record_parts.links(run)])
        sections += placement_parts.sections(run, network)
        sections.append(
            record_parts.communication(run, record_parts.ranks(run, _sites(run, network)))
        )
    elif findings is not None:
        sections += _section("Links", _ratios(findings))
    if network is not None and len(network.hosts) <= hierarchy.MOST_HOSTS:
        sections += network_parts.sections(network, hierarchy.build(network, plan_picture.SMALL))
    return Page(
        title,
        *_first_screen(run, findings, why_not),
        sections,
        warnings=[*(run_lead.warnings(run) if run else []), *faults],
        about=_about(run, findings),
    )


def _first_screen(
    run: record.Run | None, findings: Findings | None, why_not: str
) -> tuple[Sequence[str], Sequence[tuple[str, str, str]]]:
    if run is not None:
        costs = run_lead.costs(run, findings)
        return run_lead.lead(run, costs, findings, why_not), run_lead.facts(costs, findings)
    assert findings is not None, "a folder has a record, events, or both"
    ranks, calls = findings.run.ranks, int(findings.shapes["calls"].sum())
    hosts = len(set(findings.run.hosts))
    spent = float(findings.shapes["ranks_ns"].sum()) * 1e-9 / max(ranks, 1)
    lead = [
        f"{plural(ranks, 'rank')} on {plural(hosts, 'host')} spent {units.time_to_text(spent)} "
        f"each, on average, in {plural(calls, 'collective call')}. What was saved is in a run "
        "record only (thalweg run --record).",
        *words.sentences(findings.verdict),
    ]
    return lead, [("In collectives", units.time_to_text(spent), "a rank, on average")]


def _section(title: str, blocks: Sequence[elements.Block]) -> list[Section]:
    return [Section(title, blocks)] if blocks else []


def _calls(run: record.Run | None, findings: Findings | None) -> list[Section]:
    blocks = []
    if findings is not None:
        blocks += [*event_parts.causes(findings), event_parts.shapes(findings)]
    if run is not None and len(run.calls):
        blocks.append(record_parts.calls(run))
    return _section("Collectives", blocks)


def _inside(findings: Findings | None) -> list[Section]:
    if findings is None:
        return []
    late = [
        *event_parts.lateness(findings),
        *event_parts.imbalance(findings),
        *event_parts.groups(findings),
    ]
    return [
        *_section("Ranks and load imbalance", late),
        *_section("Plans and timemaps", tree_parts.plans(findings)),
        *_section("Waits and outliers", event_parts.waits(findings)),
    ]


def _ratios(findings: Findings | None) -> list[elements.Block]:
    return event_parts.links(findings) if findings is not None else []


def planned(run: record.Run, network: Network | None) -> list[elements.Block]:
    """The costliest planned calls, planned anew by their algorithms: a record has no messages."""
    hosts = host_numbers(network) if network else {}
    small = run.ranks <= network_parts.MOST_DRAWN and hosts.keys() >= set(run.hosts)
    if network is None or not small:
        return []
    placement = [hosts[name] for name in run.host_of_rank]
    setting = Setting(network, placement, str(run.description.get("library", "")))
    tree = hierarchy.build(network, plan_picture.SMALL)
    blocks = []
    for kind, size, root, algorithm in record_parts.costliest(run):
        with contextlib.suppress(UserError):  # a declared tree can't be planned anew
            plan = setting.plan(operations.make(kind, f"{size}B", root), algorithm)
            blocks.append(network_parts.plan_drawing(plan, tree))
    return blocks


def _sites(run: record.Run, network: Network | None) -> Sequence[str]:
    """Each rank's site; nothing unless all hosts are in the network's sites."""
    if network is None or len(network.sites) < 2:
        return ()
    site_of = placement_picture.sites(network)
    found = [site_of.get(name, "") for name in run.host_of_rank]
    return found if all(found) else ()


def _about(run: record.Run | None, findings: Findings | None) -> list[str]:
    found = []
    if run is not None:
        about = run.description
        found.append(
            f"Run {about['run']} of {about.get('start', 'unknown time')}, "
            f"{about.get('library_version', '')}, "
            f"recorded by Thalweg {about.get('version', 'of unknown version')} in {run.folder}."
        )
    if findings is not None:
        error = findings.run.clock_error_ns
        if error:
            found.append(f"Clocks of hosts agree within {units.ns_to_text(error)}.")
        if findings.run.left_out:
            found.append(
                f"{plural(findings.run.left_out, 'call')} of which records are missing are left "
                "out."
            )
        if findings.run.nonblocking:
            found.append(words.left_out(findings.run.nonblocking))
    return found
