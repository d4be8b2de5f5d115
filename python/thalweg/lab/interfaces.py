"""Makes the script that sets a host's interface up: addresses, neighbours, rates, TCP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thalweg.lab import tcp
from thalweg.lab.scenario import Scenario

MOST_HOSTS = 250
INTERFACE = "eth0"
LARGEST_FRAME = tcp.MTU + 14
QUEUE = 10000  # frames; TCP keeps far fewer waiting
UNLIMITED = 1.25e9  # real bytes per second, for a host with limits of pairs only


def address(host: int) -> str:
    """Returns the IPv4 address of a host, by its position."""
    return f"10.84.0.{host + 1}"


def hardware_address(host: int) -> str:
    """Returns the address that src/lab/host.cpp gives to the TAP."""
    return f"02:54:57:00:{host >> 8:02x}:{host & 255:02x}"


def hosts_file(names: Sequence[str]) -> str:
    """Returns the content of /etc/hosts on every host."""
    return "127.0.0.1 localhost\n" + "".join(
        f"{address(n)} {name}\n" for n, name in enumerate(names)
    )


def script(scenario: Scenario, dilation: float, host: int, settings: Mapping[str, str]) -> str:
    """Returns a shell script for the host, which must exit at the first failure."""
    return "\n".join(
        [
            "set -e",
            *_sysctls(settings),
            "ip -batch - <<END",
            *_links(len(scenario.hosts), dilation, host),
            "END",
            "tc -batch - <<END",
            *_shaping(scenario, dilation, host),
            "END",
            "",
        ]
    )


def _sysctls(settings: Mapping[str, str]) -> list[str]:
    lines = [f"echo {value} > /proc/sys/net/ipv4/tcp_{key}" for key, value in settings.items()]
    lines.append("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true")
    return lines


def _links(hosts: int, dilation: float, host: int) -> list[str]:
    rto = round(tcp.MINIMAL_RETRANSMISSION_TIMEOUT * dilation * 1000)
    own = address(host)
    return [
        "link set lo up",
        # No segments larger than a frame: a host's frames leave one by one, at its rate.
        f"link set {INTERFACE} mtu {tcp.MTU} txqueuelen 2000 gso_max_segs 1 up",
        f"address add {own}/24 dev {INTERFACE} noprefixroute",
        f"route add 10.84.0.0/24 dev {INTERFACE} src {own} rto_min {rto}ms",
        *(
            f"neighbour add {address(n)} lladdr {hardware_address(n)} dev {INTERFACE} nud permanent"
            for n in range(hosts)
            if n != host
        ),
    ]


Rate = float | None  # bytes per second; None: unlimited


@dataclass(frozen=True)
class Rates:
    """The rates at which a host may send from some time on."""

    at: float  # seconds since the lab was ready, un-dilated
    egress: Rate
    to: tuple[Rate, ...]  # by target


def rates(scenario: Scenario, host: int) -> list[Rates]:
    """Returns a host's rates over time: at first, and after each instant of relevant changes."""
    egress = scenario.hosts[host].egress
    to = list(scenario.plain["bandwidth"][host])
    history = [Rates(0.0, egress, tuple(to))]
    for change in scenario.plain["timeline"]:
        if host in change.get("hosts", ()):
            egress = change.get("egress", egress)
        if host in change.get("from", ()) and "bandwidth" in change:
            for target in change["to"]:
                to[target] = change["bandwidth"]
        now = Rates(change["at"], egress, tuple(to))
        if (now.egress, now.to) == (history[-1].egress, history[-1].to):
            continue
        if len(history) > 1 and history[-1].at == now.at:
            history.pop()
        history.append(now)
    return history


def changes(scenario: Scenario, dilation: float) -> list[dict[str, object]]:
    """Returns the commands of hosts over the timeline: at (real seconds), host, arguments."""
    result: list[dict[str, object]] = []
    for host, each in enumerate(scenario.hosts):
        history = rates(scenario, host)
        for now in history[1:]:
            lines = _classes("change", history, now, host, dilation)
            command = "tc -batch - <<END\n" + "\n".join(lines) + "\nEND\n"
            # Ranks that spin share the core.
            arguments = ["nice", "-n", "-20", "/bin/sh", "-c", command]
            result.append({"at": now.at * dilation, "host": each.name, "arguments": arguments})
    return sorted(result, key=lambda each: float(str(each["at"])))


def _shaping(scenario: Scenario, dilation: float, host: int) -> list[str]:
    """Imposes the host's rate, and those of its slower pairs, as back-pressure on its sockets.

    The switch imposes the same rates, but can only queue or drop frames that arrive too fast,
    where a network card makes the sender wait.
    """
    history = rates(scenario, host)
    slower = _slower_pairs(history, host)
    if not slower and all(each.egress is None for each in history):
        return []
    lines = [
        f"qdisc add dev {INTERFACE} root handle 1: htb default 1",
        *_classes("add", history, history[0], host, dilation),
        f"qdisc add dev {INTERFACE} parent 1:1 pfifo limit {QUEUE}",
    ]
    if slower:
        lines += [
            f"filter add dev {INTERFACE} parent 1: prio 1 handle 2: protocol ip u32 divisor 256",
            f"filter add dev {INTERFACE} parent 1: prio 1 protocol ip u32 ht 800:: "
            "match ip dst 10.84.0.0/24 hashkey mask 0x000000ff at 16 link 2:",
        ]
    for target in slower:
        lines += [
            f"qdisc add dev {INTERFACE} parent {_class_of(target)} pfifo limit {QUEUE}",
            f"filter add dev {INTERFACE} parent 1: prio 1 protocol ip u32 ht 2:{target + 1:x}: "
            f"match ip dst {address(target)}/32 flowid {_class_of(target)}",
        ]
    return lines


def _slower_pairs(history: Sequence[Rates], host: int) -> list[int]:
    """Returns the targets with a rate below the host's own at some time."""

    def slower(now: Rates, target: int) -> bool:
        rate = now.to[target]
        return rate is not None and (now.egress is None or rate < now.egress)

    return [
        target
        for target in range(len(history[0].to))
        if target != host and any(slower(now, target) for now in history)
    ]


def _class_of(target: int) -> str:
    return f"1:{target + 16:x}"


def _classes(
    verb: str, history: Sequence[Rates], now: Rates, host: int, dilation: float
) -> list[str]:
    """Returns the host's class, the class of its fast pairs, and one for each slower pair."""
    slower = _slower_pairs(history, host)
    total = UNLIMITED if now.egress is None else now.egress / dilation
    lines = [
        _htb_class(verb, "1:", "1:ffff", total, total),
        # The sum of guaranteed rates would exceed the host's: classes borrow all of it, in turn.
        _htb_class(verb, "1:ffff", "1:1", total / 100 if slower else total, total),
    ]
    for target in slower:
        rate = now.to[target]
        ceil = total if rate is None else min(total, rate / dilation)
        lines.append(_htb_class(verb, "1:ffff", _class_of(target), ceil / 100, ceil))
    return lines


def _htb_class(verb: str, parent: str, name: str, rate: float, ceil: float) -> str:
    # A timer may be late by up to the burst's duration without loss of rate.
    burst = max(LARGEST_FRAME, round(ceil * 1e-3))
    guaranteed = max(1.0, rate)  # less would be none
    return (
        f"class {verb} dev {INTERFACE} parent {parent} classid {name} htb "
        f"rate {guaranteed * 8:.0f}bit "
        f"ceil {ceil * 8:.0f}bit burst {burst} cburst {burst} quantum {LARGEST_FRAME}"
    )
