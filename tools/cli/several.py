"""Several things asked for at once: some are done though others are refused, and both are told."""

from attrs import define, field

from tools.cli.errors import CliError
from tools.cli.output import Output


@define
class Several:
    """What became of each."""

    done: list[str] = field(factory=list)
    refused: dict[str, CliError] = field(factory=dict)

    def refusals(self) -> list[dict[str, str]]:
        """For programs."""
        return [{"name": name, "error": str(error)} for name, error in self.refused.items()]

    def tell(self, output: Output, happened: str) -> None:
        """What was done, in a sentence or as data; an error if something was refused."""
        if self.done or not output.is_for_people:
            output.done(f"{happened} {', '.join(self.done)}", **{happened: self.done, "refused": self.refusals()})
        self.end(output)

    def end(self, output: Output) -> None:
        """End with an error if something was refused: the last one's is the command's, the others are told before."""
        *others, last = self.refused.values() or [None]
        for error in others:
            if error is not None:
                output.note(error.line())
        if last is not None:
            raise last
