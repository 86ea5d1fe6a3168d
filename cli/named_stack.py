"""The stack that a command names: its options, the files beside it, and its composition."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cli import stackfile, stackname
from cli.stackfile import StackFile
from composition import Composition, Given, Live, LockFile, Refusal, Target, compose
from facts import facts_file, hosts, platform_file
from models.platform import PlatformOutputs
from models.problems import Problem, warnings
from planning.ground.cluster_facts import NOTHING_READ, ClusterFacts
from planning.ground.marks import StackName


@dataclass(frozen=True, slots=True)
class NamedStack:
    """A stack file, the name of its stack, and the content of the files that other options name."""

    file: StackFile
    name: StackName
    facts: ClusterFacts | None
    """Facts of the cluster; None if no file with facts is named."""
    outputs: PlatformOutputs | None
    """Outputs of the platform; None if no file with outputs is named."""

    @property
    def target(self) -> Target:
        """The facts of the file, or else the live cluster."""
        if self.facts is None:
            return Live(None, Path.cwd())
        return Given(self.facts)

    def compose(
        self,
        adapt: Callable[[object], object] = lambda tree: tree,
        *,
        report: Callable[[Iterable[Problem]], None] = lambda _: None,
        asks_sources: bool = True,
    ) -> Composition:
        """Return the composition of the stack, without reading a cluster.

        `adapt` changes the configuration. `report` gets the warnings about sources and those of planning, even if the
        stack is refused. `asks_sources` is that of `composition.compose`. Raises `ConfigError` with all mistakes of the
        user.
        """

        def work(tree: object) -> Composition:
            target = Given(self.facts or NOTHING_READ)
            composition = compose(
                adapt(tree),
                target,
                self.name,
                platform=self.outputs,
                lock=LockFile(Path.cwd()),
                asks_sources=asks_sources,
            )
            report((*composition.source_warnings, *composition.plan_warnings))
            if isinstance(composition, Refusal):
                raise composition.error
            return composition

        return self.file.apply(work)


def read(
    file_or_stack: str, name: str | None = None, facts: ClusterFacts | None = None, platform: str | None = None
) -> NamedStack:
    """Read a stack file. The first argument is its path, or the name of the stack.

    `name` is `project/stack`; if it is None, `Pulumi.yaml` names the project, and the stack file names the stack.
    `platform` is the path of a file with the outputs of the platform. Raises `ConfigError` for a file that cannot be
    read, and for an unknown name.
    """
    path = stackfile.locate(file_or_stack)
    file = stackfile.parse(path)
    outputs = None
    if platform is not None:
        outputs = platform_file.read(Path(platform))
    return NamedStack(file, stackname.of(path, name), facts, outputs)


def of(options: Namespace) -> NamedStack:
    """Read the stack that the options of a command name. Raises `ConfigError` as `read` does."""
    return read(options.stack, getattr(options, "name", None), facts_of(options), options.platform)


def facts_of(options: Namespace) -> ClusterFacts | None:
    """Return the facts that `--facts` names; None without this option. Raises `ConfigError` if they cannot be read."""
    path = getattr(options, "facts", None)
    if path is None:
        return None
    return facts_file.from_option(path, "--facts")


def add_stack(parser: ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the argument that names a stack."""
    parser.add_argument("stack", nargs=nargs, metavar="FILE|STACK", help="a stack file, or the name of a stack")


def add_name(parser: ArgumentParser) -> None:
    """Add the option `--as`."""
    text = "name of the stack; absent: from Pulumi.yaml and the file"
    parser.add_argument("--as", dest="name", metavar="PROJECT/STACK", help=text)


def add_facts(parser: ArgumentParser) -> None:
    """Add the option `--facts`, and the options of `add_surroundings`."""
    parser.add_argument("--facts", metavar="FILE", help="facts of the cluster, as `facts` prints them")
    add_surroundings(parser)


def add_surroundings(parser: ArgumentParser) -> None:
    """Add the options about what is outside of a stack: outputs of its platform, and servers."""
    text = "outputs of the platform's stack, as `pulumi stack output --json` prints them"
    parser.add_argument("--platform", metavar="FILE", help=text)
    offline = f"contact nobody, and say what went unchecked; {hosts.OFFLINE}=true says the same"
    parser.add_argument("--offline", action="store_true", help=offline)


def print_warnings(problems: Iterable[Problem]) -> None:
    """Print the warnings among some problems to standard error."""
    for problem in warnings(problems):
        sys.stderr.write(f"warning: {problem}\n")
