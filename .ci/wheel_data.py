"""Build hook: carries templates/ and the prebuilt programs inside the wheel.

An editable install gets nothing: there `mcpsol_py` resolves to the source tree, whose templates/ and programs/ are
read in place; a copy in site-packages would only go stale.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: What a program ships: the binary, how it was built, and the sources that its tools are known by.
SHIPPED = ("{name}.so", "{name}.build.json", "idl.json", "spec.py")


class WheelData(BuildHookInterface[Any]):
    """Fills `force_include` of a standard wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds templates/ as mcpsol_py/_templates, and what each built program ships as mcpsol_py/_programs/<name>/."""
        if version == "editable":
            return
        root = Path(self.root)
        include: dict[str, str] = {}
        for template in sorted((root / "templates").rglob("*")):
            if not template.is_file() or "__pycache__" in template.parts:
                continue
            include[str(template)] = (
                f"mcpsol_py/_templates/{template.relative_to(root / 'templates').as_posix()}"
            )
        for binary in sorted((root / "programs").glob("*/*.so")):
            name = binary.stem
            if name != binary.parent.name:
                continue
            for file in (
                binary.parent / shipped.format(name=name) for shipped in SHIPPED
            ):
                include[str(file)] = f"mcpsol_py/_programs/{name}/{file.name}"
        build_data["force_include"].update(include)
