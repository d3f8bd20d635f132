"""What spark-submit is given: `python -m tools.pipelines.bundle FOLDER` writes `pipelines.zip` and `pipeline.py`, and
with `--jars` the jars that Spark has not got.

    spark-submit --master yarn --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 \
        --py-files pipelines.zip pipeline.py archive --bootstrap ... --archive ...

The code is the same as in a checkout. It needs nothing but Python's own library, confluent-kafka for `backfill`, and
attrs, jsonschema-rs, msgspec and protobuf for `archive --schemas`.
"""

import argparse
import shutil
import zipfile
from pathlib import Path

from tools.reference.spark import MORE, connector_jars

PROGRAM = '''"""What spark-submit runs: a pipeline by name, out of pipelines.zip."""

import sys

from tools.pipelines.__main__ import main

sys.exit(main())
'''
HERE = Path(__file__).resolve().parent
CODE = HERE.parents[1]
PARENTS, FORMATS = ("coordinators", "coordinators/schemas", "coordinators/letters"), "coordinators/schemas/formats"
LETTERS = "coordinators/letters/fields.py"


def bundle(folder: Path) -> tuple[Path, Path]:
    """Writes both files; gives the archive of the code and the program."""
    folder.mkdir(parents=True, exist_ok=True)
    code, program = folder / "pipelines.zip", folder / "pipeline.py"
    with zipfile.ZipFile(code, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(HERE.parent / "__init__.py", "tools/__init__.py")
        for file in sorted(HERE.rglob("*.py")):
            archive.write(file, f"tools/pipelines/{file.relative_to(HERE)}")
        # What reads values that were written by schemas, and what headers of dead letters say.
        for file in (
            CODE / LETTERS,
            *(CODE / folder / "__init__.py" for folder in PARENTS),
            *sorted((CODE / FORMATS).rglob("*.py")),
        ):
            archive.write(file, str(file.relative_to(CODE)))
    program.write_text(PROGRAM)
    return code, program


def main() -> None:
    parser = argparse.ArgumentParser(prog="bundle", description="Write what spark-submit needs to run the pipelines.")
    parser.add_argument("folder", type=Path, help="where pipelines.zip and pipeline.py go")
    parser.add_argument(
        "--jars", nargs="*", choices=list(MORE), help="the Kafka connector's jars too, and those of what is named here"
    )
    given = parser.parse_args()
    for written in bundle(given.folder):
        print(written)
    if given.jars is not None:
        print(copied(given.folder / "jars", connector_jars(given.jars)))


def copied(folder: Path, jars: list[str]) -> Path:
    """A folder of these jars and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for jar in jars:
        shutil.copy(jar, folder)
    return folder


if __name__ == "__main__":
    main()
