"""Carries out the Dockerfile without Docker: each step in a fresh Debian, then the server, then one translation.

    sudo python3 deploy/try_dockerfile.py [FOLDER]

It needs root, debootstrap and 2 GB in FOLDER, by default a temporary one that is deleted in the end. Packages of Debian
come from where this machine's apt takes them; variables such as PIP_INDEX_URL tell pip. In place of `python:3.11-slim`
there is Debian 12 with its own Python 3.11, so what is tested are the steps, not that image.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).parents[1]
IMAGES = {"python:3.11-slim": ("bookworm", "python3,python3-venv")}
"""The Debian release that stands for an image, and the packages that it needs."""
PATIENCE = 120.0
"""Seconds until the server must be healthy."""
SENTENCE = {"q": "Der Hund schläft.", "source": "de", "target": "en"}
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass
class Stage:
    """A root folder, and what the Dockerfile has said of it so far."""

    root: Path
    folder: str = "/"
    user: str = "root"
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    settings: dict[str, str] = field(default_factory=dict)
    """ENTRYPOINT, CMD and HEALTHCHECK, as they are written."""

    def command(self, *words: str) -> list[str]:
        """Return a command inside the root, as its user."""
        return ["chroot", f"--userspec={self.user}", str(self.root), "env", f"--chdir={self.folder}", *words]

    def inside(self, path: str) -> Path:
        """Return the place of a path inside the root; one without a slash in front is below the working folder."""
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def variables(self) -> dict[str, str]:
        """Return the environment inside the root."""
        passed = [name for name in os.environ if name.startswith("PIP_") or name.lower().endswith("_proxy")]
        return {**{name: os.environ[name] for name in passed}, "HOME": "/tmp", **self.environment}

    def expanded(self, value: str) -> str:
        """Return a value with its variables replaced."""
        return re.sub(r"\$(\w+)", lambda match: self.environment[match[1]], value)


def instructions(dockerfile: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile, each with its arguments."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE))
    for line in filter(None, joined.splitlines()):
        name, _, arguments = line.partition(" ")
        yield name, arguments.strip()


def build(folder: Path) -> Stage:
    """Carry out all instructions, and return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for name, arguments in instructions((TREE / "Dockerfile").read_text(encoding="utf-8")):
        print(f"{name} {arguments}", flush=True)
        if name == "FROM":
            image, _, alias = arguments.partition(" AS ")
            stage = stages[alias] = Stage(base(image, folder, folder / f"stage{len(stages)}"))
        elif name == "WORKDIR":
            stage.folder = arguments
            stage.inside(".").mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            copy(stage, stages, shlex.split(arguments))
        elif name == "RUN":
            subprocess.run(stage.command("sh", "-c", arguments), env=stage.variables(), check=True)
        elif name == "ENV":
            key, _, value = arguments.partition("=")
            stage.environment[key] = stage.expanded(value)
        elif name == "USER":
            stage.user = arguments
        elif name in ("ENTRYPOINT", "CMD", "HEALTHCHECK"):
            stage.settings[name] = arguments
        elif name != "EXPOSE":
            raise SystemExit(f"{name} is not known here; add it to {Path(__file__).name}.")
    return stage


def base(image: str, folder: Path, root: Path) -> Path:
    """Make a root folder of what stands for an image."""
    release, packages = IMAGES[image]
    archive = folder / f"{release}.tar"
    if not archive.exists():
        fresh = folder / release
        source = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=True
        ).stdout.split()[0]
        options = ["--variant=minbase", f"--include=ca-certificates,{packages}"]
        subprocess.run(["debootstrap", *options, release, str(fresh), source], stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["tar", "-C", str(fresh), "-cf", str(archive), "."], check=True)
        shutil.rmtree(fresh)
    root.mkdir()
    subprocess.run(["tar", "-C", str(root), "-xf", str(archive)], check=True)
    for path in ("/etc/resolv.conf", "/etc/hosts", os.environ.get("PIP_CERT", "")):
        if path:
            shutil.copy(path, root / path.lstrip("/"))
    return root


def copy(stage: Stage, stages: dict[str, Stage], words: list[str]) -> None:
    """Copy files from the tree or from an earlier stage; of a folder its content, as Docker does."""
    origin = TREE
    if words[0].startswith("--from="):
        origin = stages[words.pop(0).removeprefix("--from=")].root
    *sources, target = words
    for source in sources:
        path, place = origin / source.lstrip("/"), stage.inside(target)
        if path.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, place, symlinks=True, dirs_exist_ok=True, ignore=ignore)
        else:
            place = place / path.name if target.endswith("/") else place
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


@contextmanager
def running(stage: Stage, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run the image's command, at a port that is free here; in the end, stop it as Docker does."""
    processes = stage.root / "proc"  # which tells the runtime what the CPU can do
    subprocess.run(["mount", "-t", "proc", "proc", str(processes)], check=True)
    words = [*json.loads(stage.settings["ENTRYPOINT"]), *json.loads(stage.settings["CMD"]), "--port", str(port)]
    server = subprocess.Popen(stage.command(*words), env=stage.variables())
    try:
        yield server
        server.terminate()
        status = server.wait(PATIENCE)
        if status not in (0, -15):
            raise SystemExit(f"the server ended with status {status}.")
    finally:
        server.kill()
        server.wait()
        subprocess.run(["umount", str(processes)], check=True)


def try_out(stage: Stage) -> str:
    """Wait until the image's own health check succeeds, and return the translation of a sentence."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    check = json.loads(stage.settings["HEALTHCHECK"].partition("CMD ")[2].replace(":8000/", f":{port}/"))
    with running(stage, port) as server:
        deadline = time.monotonic() + PATIENCE
        while subprocess.run(stage.command(*check), env=stage.variables(), stderr=subprocess.DEVNULL).returncode:
            if server.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the server did not become healthy.")
            time.sleep(0.5)
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/translate", json.dumps(SENTENCE).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return str(json.load(answer)["translatedText"])


def main(folder: Path) -> None:
    """Build, start, translate."""
    if os.geteuid() or shutil.which("debootstrap") is None:
        raise SystemExit("this needs root and debootstrap: sudo apt-get install debootstrap, and run it with sudo.")
    print(f"{SENTENCE['q']} -> {try_out(build(folder))}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
