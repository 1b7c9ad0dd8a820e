#!/usr/bin/env bash
# Makes docs/images/report.png and report-phone.png: the first screens of the report of examples/heart.toml, 1280
# and 400 pixels wide. Needs Chromium.
#   bash docs/images/report.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed 's/^compare = true/compare = true\nseed = 1/' examples/heart.toml > "$work/heart.toml"
.venv/bin/discreet run "$work/heart.toml" --out "$work/run" --quiet
PYTHONPATH=$PWD .venv/bin/python docs/images/shots.py "$work/run/report.html" docs/images/report.png 1280 1480
PYTHONPATH=$PWD .venv/bin/python docs/images/shots.py "$work/run/report.html" docs/images/report-phone.png 400 1480
