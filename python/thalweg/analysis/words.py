"""A verdict in two or three sentences: what costs most, whose fault it is, and what to do."""

from thalweg import units
from thalweg.analysis.compare import SIGNIFICANCE, Difference, Match
from thalweg.analysis.faults import Fault
from thalweg.analysis.verdict import Suspect, Verdict
from thalweg.units import factor_to_text

REMEDIES = {
    Fault.late_rank: "give it less work, or look what its host does besides",
    Fault.rotating_straggler: "the work changes place from call to call: balance it, or let "
    "fewer calls wait for all",
    Fault.slow_host: "look what else runs there, or leave it out, or let its ranks be leaves",
    Fault.busy_core: "look what else runs on its host (daemons, interrupts), and bind ranks "
    "to cores",
    Fault.serialising_node: "give it fewer children: one level more in the tree, or another leader",
    Fault.slow_link: "probe the network again and plan anew, so that less goes over it",
    Fault.saturated_trunk: "probe the network again and plan anew, so that fewer messages cross it",
}
MEANINGS = {
    "program late": "waiting for ranks whose program came late",
    "latency": "the network's latency",
    "data on the link": "moving data at the links' rate",
    "link busy": "waiting for other messages on the same links",
    "link below its rate": "messages that took longer than the network file says",
    "host busy": "ranks that went on later than usual",
    "combine": "combining data",
    "library overhead": "the usual time of ranks and library between messages",
    "unexplained": "nothing that the records explain",
}

MOST_TIMES = 1000
"""Where two times of a stage differ by more, one run hardly has it."""


def sentences(verdict: Verdict) -> list[str]:
    """Returns the verdict in words."""
    if not verdict.total_ns:
        return ["No blocking collective was planned, so there is nothing to see inside."]
    cause, share = max(verdict.shares.items(), key=lambda item: item[1])
    meaning = MEANINGS[cause]
    if not verdict.network_known:
        meaning = meaning.replace("the network file says", "the same messages at best")
    took = units.ns_to_text(verdict.total_ns)
    found = [
        f"Planned collectives took the ranks {took} together; most of it, "
        f"{100 * share:.0f} %, is {meaning}."
    ]
    if not verdict.suspects:
        return [*found, _nothing_wrong(verdict)]
    first = verdict.suspects[0]
    found.append(f"{_accusation(first)}: {REMEDIES[first.fault]}.")
    if rest := verdict.suspects[1:3]:
        found.append(f"Besides: {'; '.join(_accusation(each, short=True) for each in rest)}.")
    return found


def left_out(nonblocking: int) -> str:
    """Returns a sentence about Run.nonblocking, which isn't 0."""
    return (
        f"Nonblocking calls are left out, up to {nonblocking} of a rank: while they go on the "
        "program may compute, so that they don't say who is waited for."
    )


def _nothing_wrong(verdict: Verdict) -> str:
    if max(verdict.shares, key=verdict.shares.__getitem__) == "program late":
        return (
            "No rank, host or link stands out from the others: ranks come late in turn, or there "
            "are as many late ones as others. The program's work between the calls is uneven."
        )
    if verdict.network_known:
        return "Nothing is wrong: no rank, host or link stands out from the others."
    return (
        "Nothing is wrong with ranks and hosts: none stands out from the others. Whether links are "
        "slower than they should be can be said with --network."
    )


def _accusation(suspect: Suspect, *, short: bool = False) -> str:
    subject = {
        Fault.late_rank: f"{suspect.culprit} comes late to the calls",
        Fault.rotating_straggler: f"one of {len(suspect.ranks)} ranks comes late, "
        "each time another",
        Fault.slow_host: f"host {suspect.culprit} is slow in all that it does",
        Fault.busy_core: f"{suspect.culprit} is held up now and then, "
        "as if other work took its core",
        Fault.serialising_node: f"{suspect.culprit} sends to its children "
        "one after the other, slowly",
        Fault.slow_link: f"the link {suspect.culprit} is slower than the network file says",
        Fault.saturated_trunk: f"the trunk {suspect.culprit} is slower than the network file says",
    }[suspect.fault]
    share = f"{100 * suspect.share:.0f} % of the time"
    if short:
        return f"{subject} ({share})"
    whose = {"program": "The program is at fault", "network": "The network is at fault"}
    blame = whose.get(suspect.fault.at_fault, "A host is at fault")
    return f"{blame}, not the plans: {subject}, which costs {share}"


def shape_name(kind: str, size: int, ranks: int | None = None) -> str:
    """Returns the name of a shape, such as "bcast of 8MB, 16 ranks", or without its ranks."""
    name = f"{kind} of {units.size_to_text(size)}"
    return name if ranks is None else f"{name}, {ranks} ranks"


def name_of(match: Match) -> str:
    """Returns the shape of the calls that two runs have in common, in words."""
    return shape_name(match.kind, match.size, match.ranks)


def verdict_on(each: Difference) -> str:
    """Returns "noise", "too few calls", or text such as "1.25 times slower": B against A."""
    if doubt := _doubt(each):
        return doubt
    # A nanosecond is the clocks' grain.
    factor = max(each.a_ns, each.b_ns) / max(min(each.a_ns, each.b_ns), 1.0)
    text = factor_to_text(factor) if factor >= 10 else f"{factor:.2f}"
    return f"{text} times {'faster' if each.b_ns < each.a_ns else 'slower'}"


def verdict_on_stage(each: Difference) -> str:
    """Returns verdict_on(each), or "only in A" (or B) where the other hardly has the stage."""
    if _doubt(each) or min(each.a_ns, each.b_ns) * MOST_TIMES >= max(each.a_ns, each.b_ns):
        return verdict_on(each)
    return f"only in {'A' if each.b_ns < each.a_ns else 'B'}"


def _doubt(each: Difference) -> str:
    if not each.has_enough_calls:
        return "too few calls"
    return "noise" if each.p_value >= SIGNIFICANCE else ""
