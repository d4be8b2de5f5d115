"""The script that sets a host's interface up: addresses, neighbours, its own rate, TCP."""

from collections.abc import Mapping, Sequence

from thalweg.lab import tcp
from thalweg.lab.scenario import Scenario

MOST_HOSTS = 250
INTERFACE = "eth0"
LARGEST_FRAME = tcp.MTU + 14


def address(host: int) -> str:
    """The IPv4 address of a host, by its position."""
    return f"10.84.0.{host + 1}"


def hardware_address(host: int) -> str:
    """As src/lab/host.cpp gives it to the TAP."""
    return f"02:54:57:00:{host >> 8:02x}:{host & 255:02x}"


def hosts_file(names: Sequence[str]) -> str:
    """The content of /etc/hosts on every host."""
    return "127.0.0.1 localhost\n" + "".join(
        f"{address(n)} {name}\n" for n, name in enumerate(names)
    )


def script(scenario: Scenario, dilation: float, host: int, settings: Mapping[str, str]) -> str:
    """A shell script to be run on the host, which must exit at the first failure."""
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


def _shaping(scenario: Scenario, dilation: float, host: int) -> list[str]:
    """The host's own rate, and those of its slower pairs, as back-pressure on its sockets.

    The switch imposes the same rates; but what arrives there too fast it can only queue or drop,
    where a network card makes the sender wait.
    """
    egress = scenario.hosts[host].egress
    slower = {
        n: rate
        for n in range(len(scenario.hosts))
        if n != host
        and (rate := scenario.plain["bandwidth"][host][n]) is not None
        and (egress is None or rate < egress)
    }
    if egress is None and not slower:
        return []
    total = (egress if egress is not None else sum(slower.values())) / dilation
    lines = [
        f"qdisc add dev {INTERFACE} root handle 1: htb default 1",
        _htb_class("add", "1:", "1:ffff", total, total),
        _htb_class("add", "1:ffff", "1:1", total / 100 if slower else total, total),
        f"qdisc add dev {INTERFACE} parent 1:1 pfifo limit 10000",
    ]
    if slower:
        lines += [
            f"filter add dev {INTERFACE} parent 1: prio 1 handle 2: protocol ip u32 divisor 256",
            f"filter add dev {INTERFACE} parent 1: prio 1 protocol ip u32 ht 800:: "
            "match ip dst 10.84.0.0/24 hashkey mask 0x000000ff at 16 link 2:",
        ]
    for n, rate in slower.items():
        lines += [
            _htb_class("add", "1:ffff", f"1:{n + 16:x}", total / 100, rate / dilation),
            f"qdisc add dev {INTERFACE} parent 1:{n + 16:x} pfifo limit 10000",
            f"filter add dev {INTERFACE} parent 1: prio 1 protocol ip u32 ht 2:{n + 1:x}: "
            f"match ip dst {address(n)}/32 flowid 1:{n + 16:x}",
        ]
    return lines


def _htb_class(verb: str, parent: str, name: str, rate: float, ceil: float) -> str:
    # A timer may be late by up to the burst's duration without loss of rate.
    burst = max(LARGEST_FRAME, round(ceil * 1e-3))
    return (
        f"class {verb} dev {INTERFACE} parent {parent} classid {name} htb rate {rate * 8:.0f}bit "
        f"ceil {ceil * 8:.0f}bit burst {burst} cburst {burst} quantum {LARGEST_FRAME}"
    )
