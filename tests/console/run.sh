printf 'all: one two\none two:\n\t@head -c 1M /dev/zero | tail -c 1 > $@\n' > Makefile
for program in load train; do
    printf '#!/bin/sh\nexec head -c 1M /dev/zero > /dev/null\n' > $program
    chmod +x $program
done
cat > train.py <<'PY'
import sys

print("epoch 1", flush=True)
sys.exit(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of "
    "which 1.20 GiB is free."
)
PY
