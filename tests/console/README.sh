# A training that loads and then indexes, each with more memory than before.
cat > train.py <<'PY'
import time

time.sleep(0.1)
print("== load", flush=True)
table = b"x" * (130 << 20)
time.sleep(0.3)
print("== index", flush=True)
index = b"y" * (45 << 20)
time.sleep(0.3)
PY
