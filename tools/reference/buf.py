"""buf, whose `breaking` judges changes of Protobuf schemas: the one on the path, or that of npm, fetched once."""

import shutil
import subprocess

from tools.reference.maven import CACHE, InstallError

VERSION = "1.74.0"
HOME = CACHE / f"buf-{VERSION}"


def program() -> str:
    """Where it is."""
    found = shutil.which("buf")
    if found is not None:
        return found
    place = HOME / "node_modules" / ".bin" / "buf"
    if not place.exists():
        HOME.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(HOME)]
        try:
            subprocess.run([*install, f"@bufbuild/buf@{VERSION}"], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise InstallError(f"buf cannot be had by npm: {getattr(error, 'stderr', '') or error}") from None
    return str(place)
