"""Write SHA256SUMS beside the files of a release, in the form that `sha256sum --check` reads.

python requirements/digests.py dist
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path


def main(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines))
    sys.stdout.write("".join(lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
