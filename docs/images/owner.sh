#!/usr/bin/env bash
# Makes docs/images/owner.png: the first screen of the owner's page of a rehearsed silo. Needs Chromium.
#   bash docs/images/owner.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$PWD .venv/bin/python docs/images/owner.py "$work"
chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
  --disable-component-update --disable-sync --user-data-dir="$work/profile" --hide-scrollbars \
  --window-size=1000,2900 --screenshot="$PWD/docs/images/owner.png" "file://$work/page.html"
