"""cellward round | perturb | adjust …: protect a table by one method and write its release with a certificate."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cellward.cli.finish import finish
from cellward.cli.options import AS_JSON, ATTACKERS, SHOW, Options, in_panel, with_options
from cellward.cli.progress import best_of, told
from cellward.cli.reading import hierarchy_files, read_table, reads_a_table
from cellward.cli.writing import WRITING, Wished
from cellward.formats.attackers import read_attackers
from cellward.key import read_key
from cellward.outputs import KEPT, further_files, key_for, summary, write_outputs
from cellward.protect.method import Method
from cellward.protect.methods import flag_of, from_texts
from cellward.protect.option import Option, options_of, text_by_level
from cellward.solve.alarm import alarm
from cellward.solve.budget import Budget


def command(method: type[Method]) -> Callable[..., None]:
    """The command of a method, with its options read off their declarations."""

    @reads_a_table
    @with_options(WRITING, "writing")
    @with_options(_declared(method), "choosing")
    def protect(
        source: Annotated[
            Path,
            typer.Argument(
                metavar="INPUT",
                help="A .jj file, or a table in .csv, .tsv, .xlsx or .parquet (long, or wide with --across).",
            ),
        ],
        out: Annotated[
            Path,
            typer.Option(
                help="Folder for release.csv (public), protection.json and certificate.json.gz (confidential)."
            ),
        ],
        attackers: Annotated[Path | None, ATTACKERS] = None,
        key_file: Annotated[
            Path | None,
            typer.Option(
                help="File of the secret that draws and proofs are made of (cellward key new FILE); not given: that of the "
                "release in the folder, or a random one."
            ),
        ] = None,
        weights: Annotated[
            str | None,
            typer.Option(
                help="How deviations are weighted: table (the table's own), totals (ten times more from level to level of sums), "
                "relative (1/value), equal, or one a level, 0=1,1=20. "
                f"Default: {method.default_weights or 'equal'}."
            ),
        ] = None,
        time_limit_s: Annotated[
            float | None,
            typer.Option(
                "--time-limit-s", "--time-limit", help="Seconds; the best table found by then is given with its gap."
            ),
        ] = None,
        seed: Annotated[int, typer.Option(help="Breaks ties inside the solvers.")] = 0,
        threads: Annotated[int, typer.Option(help="Solver threads.")] = 1,
        resume: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR",
                help="Folder (confidential) in which a long search of a large table keeps what it finds; the same command goes on from there.",
            ),
        ] = None,
        as_json: Annotated[bool, AS_JSON] = False,
        show: Annotated[bool, SHOW] = False,
        *,
        choosing: dict[str, Any],
        reading: dict[str, Any],
        writing: dict[str, Any],
    ) -> None:
        chosen, wished = from_texts(method, choosing), Wished.of(writing)
        secret = key_for(out, None if key_file is None else read_key(key_file))
        budget = Budget(time_limit_s=time_limit_s, threads=threads, seed=seed, resume=method.resumed_from(resume))
        with alarm(budget):
            with told(budget, quiet=as_json):
                budget.enter("reading")
                table = read_table(source, reading)
                known = None if attackers is None else read_attackers(attackers, table)
                weighted = None if weights is None else text_by_level(weights, "--weights")
                result = best_of(
                    lambda: chosen.protect_within(budget, table, weights=weighted, attackers=known, key=secret)
                )

            def write() -> list[Path]:
                files = {
                    "input": source,
                    **({} if attackers is None else {"attackers": attackers}),
                    **hierarchy_files(reading),
                }
                more = further_files(table, result, ranges=chosen.publishes_ranges)
                facts = summary(result, verified=True, table=table)
                return write_outputs(result, out, facts, more, files, budget, wished.formats, wished.report)

            finish(result, table, out, write, budget, as_json=as_json, show=show)
        if key_file is None and secret is not None and not as_json:
            typer.echo(KEPT)

    return protect


def _declared(method: type[Method]) -> Options:
    """The method's options as typer takes them; None is not given."""
    found = {}
    for name, option in options_of(method).items():
        if option.on_command_line:
            found[name] = (
                _annotation(option),
                typer.Option(None, *_names(method, name, option), help=_help(method, name, option)),
            )
    return in_panel(found, "The method")


def _annotation(option: Option) -> Any:
    return list[str] | None if option.kind.texts is list else option.kind.texts | None


def _names(method: type[Method], name: str, option: Option) -> list[str]:
    """A flag that is true unless told has another form."""
    told = option.kind.texts is bool and _default(method, name) is True
    return [f"{flag_of(name)}/{flag_of(f'no_{name}')}"] if told else [flag_of(name)]


def _default(method: type[Method], name: str) -> Any:
    return method.__dataclass_fields__[name].default  # type: ignore[attr-defined]


def _help(method: type[Method], name: str, option: Option) -> str:
    default = _default(method, name) if option.unsaid is None else option.unsaid
    if default is None or default is False:
        return option.help
    words = "yes" if default is True else ",".join(default) if isinstance(default, tuple) else default
    return f"{option.help} Default: {words}."
