#!/usr/bin/env bash
# Makes docs/images/explorer.png: the first screen of the plan explorer around examples/heart.toml. Needs Chromium.
#   bash docs/images/explorer.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/discreet plan examples/heart.toml --html "$work/explorer.html" > /dev/null
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$work/profile" --hide-scrollbars \
  --window-size=1000,1180 --screenshot="$PWD/docs/images/explorer.png" "file://$work/explorer.html"
