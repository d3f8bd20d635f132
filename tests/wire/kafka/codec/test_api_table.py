"""What is generated is what is checked in, and it is used without kio."""

import subprocess
import sys

from tools.generate_messages import ROOT, generate

IMPORTS = """
import importlib, pkgutil, sys
import wire.kafka.codec
import wire.kafka.messages as messages
for module in pkgutil.iter_modules(messages.__path__):
    importlib.import_module(f"{messages.__name__}.{module.name}")
wire.kafka.codec.request_decoder(18, 4), wire.kafka.codec.response_encoder(18, 4)
print(any(name.split(".")[0] == "kio" for name in sys.modules))
"""


def test_the_generated_files_are_current() -> None:
    stale = [path for path, source in generate().items() if (ROOT / path).read_text() != source]
    assert not stale, "run python -m tools.generate_messages"


def test_messages_and_codec_are_imported_and_used_without_kio() -> None:
    command = [sys.executable, "-c", IMPORTS]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "False"
