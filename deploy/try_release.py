"""Installs a built wheel and source distribution on several Pythons, as a user would, and translates with each.

    python deploy/try_release.py dist python3.11 python3.12 python3.13 --out results.json

Each gets a virtual environment of its own with the versions and hashes of deploy/locks/runtime.txt, so nothing of this
tree is used. All must give the same translations. From the first one the SBOM is made, dist/sbom.cdx.json: a list of
what is installed, with versions and licences, in CycloneDX's format. Needs the packages of the extra dev.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from uv import find_uv_bin

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "deploy" / "locks"
SENTENCES = "Guten Morgen!\nDer kleine Hund schläft im Garten, weil es regnet.\nWir sehen uns um 12.30 Uhr.\n"
SBOM_FILE = "sbom.cdx.json"


def main() -> None:
    """Install, translate, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--out", type=Path, help="JSON file for the result")
    arguments = parser.parse_args()
    files = [*arguments.dist.glob("*.whl"), *arguments.dist.glob("*.tar.gz")]
    if len(files) != 2:
        sys.exit(f"{arguments.dist} must have one wheel and one source distribution; run deploy/build.sh.")
    results = []
    for python in arguments.pythons:
        for file in files:
            with TemporaryDirectory() as home:
                environment = Path(home) / "environment"
                install(python, environment, file)
                results.append(_tried(environment, file))
                print(json.dumps(results[-1], ensure_ascii=False), file=sys.stderr)
                if len(results) == 1:
                    write_sbom(environment, arguments.dist / SBOM_FILE)
    same = len({result["translations"] for result in results}) == 1
    text = json.dumps({"same_translations": same, "installations": results}, indent=1, ensure_ascii=False) + "\n"
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(0 if same else "the translations differ")


def install(python: str, environment: Path, file: Path) -> None:
    """Install a wheel or a source distribution into a new virtual environment."""
    _uv("venv", "--python", python, str(environment))
    into = ["pip", "install", "--python", str(environment / "bin" / "python")]
    _uv(*into, "--require-hashes", "--requirement", str(LOCKS / "runtime.txt"))
    _uv(*into, "--no-deps", "--build-constraint", str(LOCKS / "build.txt"), str(file.resolve()))
    _uv("pip", "check", "--python", str(environment / "bin" / "python"))


def write_sbom(environment: Path, path: Path) -> None:
    """List the packages of a virtual environment, the same way each time."""
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    _run([*tool, "--output-reproducible", "--output-file", str(path), str(environment / "bin" / "python")])


def _tried(environment: Path, file: Path) -> dict[str, str]:
    binaries = environment / "bin"
    version = _run([str(binaries / "python"), "-c", "import platform; print(platform.python_version())"])
    translations = _run([str(binaries / "maskpredict"), "translate", "-m", "de-en-shallow"], input=SENTENCES)
    kind = "wheel" if file.suffix == ".whl" else "source distribution"
    return {"python": version.strip(), "from": kind, "translations": translations}


def _uv(*arguments: str) -> None:
    _run([find_uv_bin(), *arguments])


def _run(command: Sequence[str], input: str = "") -> str:
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, input=input, capture_output=True, text=True, env=clean, cwd="/")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
