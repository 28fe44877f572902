#!/bin/sh
# Install this tree into a virtual environment of its own, with the versions of constraints.txt:
#   deploy/install.sh /opt/maskpredict          translates; needs no PyTorch
#   deploy/install.sh /opt/maskpredict serve    and serves; extras stand between commas
# PYTHON=python3.12 in front chooses another Python than python3.
# These two check the hash of every file that is downloaded (deploy/locks). Other extras bring PyTorch, whose files
# for CPUs are not those of the package registry, so they have pinned versions without hashes.
set -eu
folder=$1
extras=${2:-}
tree=$(cd "$(dirname "$0")/.." && pwd)
# Built from a copy: a build folder in the tree would bring back files that have been deleted since.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$tree/pyproject.toml" "$tree/README.md" "$tree/LICENSE" "$tree/src" "$copy"
"${PYTHON:-python3}" -m venv "$folder"
install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@"; }

# The tool that builds the package, in a folder that is deleted again.
install --require-hashes --target "$copy/tools" --requirement "$tree/deploy/locks/build.txt"
lock=$tree/deploy/locks/${extras:-runtime}.txt
if [ -f "$lock" ]; then
    install --require-hashes --requirement "$lock"
fi
# The wheel is only a step on the way: stored without compression, which would do nothing for the models in it.
PYTHONPATH=$copy/tools install --no-build-isolation --constraint "$tree/constraints.txt" \
    --config-settings=--build-option=--compression=stored "$copy${extras:+[$extras]}"
