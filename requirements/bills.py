"""Bills of materials in CycloneDX JSON, of what shiftdp runs with and of what it is developed with.

    make bom

Each set is installed from its lock, hashes checked, into an environment that holds nothing else,
and `cyclonedx-py` reads names, versions, licences and dependencies from it. They are those of the
Python and the platform at hand; the files are kept in requirements/, and a test holds them to the
locks. Addresses of projects are left out: packages are identified by their package URL.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
WORK = ROOT / ".release"
SETS = {"runtime": ("runtime.txt",), "dev": ("dev.txt", "torch.txt")}
PIP = (sys.executable, "-m", "pip", "--quiet", "--quiet")


def installed(name: str, locks: tuple[str, ...]) -> Path:
    """The interpreter of an environment with exactly what the locks name."""
    home = WORK / name
    say(f"{name}: a new environment")
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    for lock in locks:
        say(f"{name}: installing what {lock} names, which may take a minute")
        words = ["install", "--no-deps", "--require-hashes", "--requirement", str(HERE / lock)]
        if lock == "torch.txt":
            words += ["--no-index", "--find-links", str(fetched(lock))]
        subprocess.run([*PIP, "--python", str(python), *words], check=True)
    return python


def fetched(lock: str) -> Path:
    """A folder with the build of PyTorch that pip takes where no hash prefers another."""
    folder = WORK / "torch"
    say("torch: downloading")
    (pin,) = re.findall(r"^torch==\S+", (HERE / lock).read_text(), re.MULTILINE)
    subprocess.run([*PIP, "download", "--no-deps", "--dest", str(folder), pin], check=True)
    return folder


def bill(python: Path) -> dict[str, Any]:
    """What `cyclonedx-py` finds, with the version of shiftdp and without addresses."""
    say(f"{python.parents[1].name}: reading what is installed")
    tool = Path(sys.executable).parent / "cyclonedx-py"
    words = ["environment", "--output-reproducible", "--mc-type", "library"]
    words += ["--pyproject", str(ROOT / "pyproject.toml"), str(python)]
    output = subprocess.run([tool, *words], check=True, capture_output=True, text=True).stdout
    found: dict[str, Any] = json.loads(output)
    main = found["metadata"]["component"]
    main["version"] = version()
    for component in (main, *found["components"], *found["metadata"]["tools"]["components"]):
        for key in ("description", "externalReferences"):  # they are full of addresses
            component.pop(key, None)
    return found


def version() -> str:
    text = (ROOT / "src" / "shiftdp" / "_version.py").read_text()
    (found,) = re.findall(r'"(\d+\.\d+\.\d+)"', text)
    return str(found)


def say(text: str) -> None:
    """Progress, at once also where the output is a pipe."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    for name, locks in SETS.items():
        found = bill(installed(name, locks))
        target = HERE / f"bom-{name}.json"
        target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        say(f"{target.relative_to(ROOT)}: {len(found['components'])} packages")


if __name__ == "__main__":
    main()
