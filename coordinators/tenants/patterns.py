"""Regular expressions over the names of one tenant.

What a tenant's client sends is kept with whose it is before it, as text that is no regular expression by itself:
`(*tenant acme)or.*` matches names of `acme` as its clients see them, without the prefix; `(*within acme)acme\\.or.*`
matches them whole. Wrapping the expression itself into one that begins with the prefix would not do: an anchor in it
would match nothing, and one that is not well-formed might become so, and match everything.
"""

import re
from typing import NamedTuple

from coordinators.tenants.rows import SEPARATOR

_SCOPED = re.compile(r"\(\*(tenant|within) ([a-zA-Z0-9-]+)\)(.*)", re.DOTALL)


class TenantPattern(NamedTuple):
    """An expression and where it holds: of names that begin with the prefix, of which it matches the rest or all."""

    prefix: str
    expression: str
    is_bare: bool

    @classmethod
    def read(cls, text: str) -> "TenantPattern":
        """What a text stands for; without a tenant it is of all names."""
        found = _SCOPED.fullmatch(text)
        if found is None:
            return cls("", text, False)
        return cls(found[2] + SEPARATOR, found[3], found[1] == "tenant")

    @property
    def text(self) -> str:
        """As it is kept."""
        if not self.prefix:
            return self.expression
        return f"(*{'tenant' if self.is_bare else 'within'} {self.prefix.removesuffix(SEPARATOR)}){self.expression}"

    def subject(self, name: str) -> str | None:
        """What of a name the expression must match; None if the name is out of its reach."""
        if not name.startswith(self.prefix):
            return None
        return name[len(self.prefix) :] if self.is_bare else name
