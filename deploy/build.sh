#!/bin/sh
# Build the wheel and the source distribution of this tree: deploy/build.sh dist
# The wheel has the same bytes whenever and wherever it is built: all its files are dated SOURCE_DATE_EPOCH, by default
# the time of the last commit. PYTHON=python3.12 in front chooses another Python than python3.
set -eu
umask 022
mkdir -p "$1"
out=$(cd "$1" && pwd)
tree=$(cd "$(dirname "$0")/.." && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$tree" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$tree/pyproject.toml" "$tree/README.md" "$tree/LICENSE" "$tree/src" "$copy"
find "$copy" -name __pycache__ -prune -exec rm -rf {} +
chmod -R u=rwX,go=rX "$copy"
"${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --require-hashes --target "$copy/tools" \
    --requirement "$tree/deploy/locks/build.txt"
cd "$copy"
PYTHONPATH=$copy/tools "${PYTHON:-python3}" -c "
import sys
from setuptools import build_meta
out = sys.argv[1]
build_meta.build_sdist(out)
build_meta.build_wheel(out)" "$out" > build.log 2>&1 || { cat build.log >&2; exit 1; }
