#!/usr/bin/env bash
# Makes docs/images/report.png: the first screen of the report of examples/heart.toml. Needs Chromium.
#   bash docs/images/report.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed 's/^compare = true/compare = true\nseed = 1/' examples/heart.toml > "$work/heart.toml"
.venv/bin/discreet run "$work/heart.toml" --out "$work/run" --quiet
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$work/profile" --hide-scrollbars \
  --window-size=1000,1480 --screenshot="$PWD/docs/images/report.png" "file://$work/run/report.html"
