"""For hatchling: a wheel carries the compiled form of what is written in C, if there is a compiler to build it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles in place; an editable install finds it there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add what was compiled to the wheel, which then is for this platform and version of Python."""
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from tools.compile import compiled

            built = compiled(root)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"nothing is compiled, the wheel carries the Python form alone: {error}")
            return
        finally:
            sys.path.remove(str(root))
        if version == "editable" or not built:
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for path in built:
            build_data["force_include"][str(path)] = f"tidegate/_packages/{path.relative_to(root).as_posix()}"
