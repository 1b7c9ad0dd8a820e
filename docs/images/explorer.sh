#!/usr/bin/env bash
# Makes docs/images/explorer.png: the first screen of the plan explorer around examples/heart.toml. Needs Chromium.
#   bash docs/images/explorer.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/discreet plan examples/heart.toml --html "$work/explorer.html" > /dev/null
PYTHONPATH=$PWD .venv/bin/python docs/images/shots.py "$work/explorer.html" docs/images/explorer.png 1000 1180
