#!/bin/sh
# Install this tree into a virtual environment of its own, with the versions of constraints.txt:
#   deploy/install.sh /opt/maskpredict          translates; needs no PyTorch
#   deploy/install.sh /opt/maskpredict serve    and serves; extras stand between commas
# PYTHON=python3.12 in front chooses another Python than python3.
set -eu
folder=$1
extras=${2:+[$2]}
tree=$(cd "$(dirname "$0")/.." && pwd)
# Built from a copy: a build folder in the tree would bring back files that have been deleted since.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$tree/pyproject.toml" "$tree/README.md" "$tree/LICENSE" "$tree/src" "$copy"
"${PYTHON:-python3}" -m venv "$folder"
# The wheel is only a step on the way: stored without compression, which would do nothing for the models in it.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$tree/constraints.txt" \
    --config-settings=--build-option=--compression=stored "$copy$extras"
