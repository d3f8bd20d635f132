"""What the headers of dead letters say, as Spark asks it of a frame (`coordinators/letters/fields.py`)."""

from coordinators.letters.fields import FIELDS as FIELDS
from coordinators.letters.fields import STYLES, TEXT


def field_expression(field: str) -> str:
    """The SQL by which a frame with `headers` gets a field as text."""
    return "coalesce(" + ", ".join(_header(name, kind) for name, kind in FIELDS[field]) + ")"


def style_expression() -> str:
    """The SQL for whose headers they are."""
    cases = " ".join(
        f"WHEN exists(headers, h -> startswith(h.key, '{prefix}')) THEN '{style}'" for prefix, style in STYLES
    )
    return f"CASE {cases} ELSE 'unknown' END"


def _header(name: str, kind: str) -> str:
    # A letter that was redriven and failed again has the headers twice: the last ones count.
    found = f"try_element_at(transform(filter(headers, h -> h.key = '{name}'), h -> h.value), -1)"
    if kind == TEXT:
        return f"CAST({found} AS STRING)"
    return f"CAST(conv(hex({found}), 16, 10) AS STRING)"
