# A program whose table is larger on a branch, and two states of it side by side.
git init --quiet --initial-branch main
git config user.name Reader
git config user.email reader@example.org
program() { printf 'import time\ntable = b"x" * (%s << 20)\ntime.sleep(0.05)\n' "$1"; }
program 70 > old.py
program 79 > new.py
program 70 > load.py
git add load.py
git commit --quiet --message 'Load a table'
git switch --quiet --create larger-table
program 78 > load.py
git commit --quiet --all --message 'Load a larger table'
git switch --quiet main
