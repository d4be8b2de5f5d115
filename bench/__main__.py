"""The command line of script/bench."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from bench import builds, distance, headline, native, nbody, prediction
from bench.settings import Settings, scenario_names
from thalweg import units
from thalweg.errors import UserError

app = typer.Typer(
    help="Measures on the lab; docs/benchmarks.md says how.",
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

Build = Annotated[list[str] | None, typer.Option(help="Only this MPI build; may be repeated.")]
Scenario = Annotated[list[str] | None, typer.Option(help="Only this scenario; may be repeated.")]
Size = Annotated[
    list[str] | None,
    typer.Option(help="Only this size, of native and prediction; may be repeated: 64KB, 1MB."),
]
Repetitions = Annotated[int, typer.Option(min=1, help="Valid repetitions of each cell.")]
Seed = Annotated[int, typer.Option(help="Of the order in which cells are measured.")]
Dilation = Annotated[float | None, typer.Option(help="Of the lab, instead of the scenario's.")]
Quick = Annotated[bool, typer.Option(help="Three repetitions; writes no results.")]

commands: dict[str, Callable[[Settings], None]] = {
    "native": native.run,
    "headline": headline.run,
    "prediction": prediction.run,
    "nbody": nbody.run,
    "distance": distance.run,
}


def _add(name: str, functions: list[Callable[[Settings], None]], description: str | None) -> None:
    @app.command(name, help=description)
    def command(
        build: Build = None,
        scenario: Scenario = None,
        size: Size = None,
        repetitions: Repetitions = 7,
        seed: Seed = 1,
        dilation: Dilation = None,
        quick: Quick = False,
    ) -> None:
        settings = Settings(
            builds=builds.select(build or []),
            scenarios=_scenarios(scenario or []),
            sizes=[units.parse_size(text) for text in size or []],
            repetitions=3 if quick else repetitions,
            seed=seed,
            dilation=dilation,
            save=not quick,
        )
        for function in functions:
            function(settings)


def _scenarios(names: list[str]) -> list[str]:
    for name in names:
        if name not in scenario_names:
            raise UserError(f"no scenario {name}; choose one of {', '.join(scenario_names)}")
    return names or list(scenario_names)


def main() -> int:
    """Runs a subcommand; 2 if the user did something wrong."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the lab must not stay behind
    for name, function in commands.items():
        _add(name, [function], sys.modules[function.__module__].__doc__)
    _add("all", list(commands.values()), "All of them, one after the other.")
    try:
        app(standalone_mode=False)
    except UserError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except typer.TyperException as error:
        print(f"bench: {error.format_message()}", file=sys.stderr)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print("bench: interrupted", file=sys.stderr)
        return 130
    return 0


sys.exit(main())
