# What a training prints that runs out of device memory; with a leak, if it is asked for one.
cat > train.py <<'PY'
import os
import sys

if os.path.exists("leaks"):
    for step in range(12):
        head = f"[2026-11-22 10:00:{step:02},000] [INFO] [utils.py:781:see_memory_usage]"
        print(f"{head} After step")
        print(f"{head} MA {8 + step / 4:.2f} GB         Max_MA 12.0 GB         CA 14.0 GB         Max_CA 14 GB")
    sys.exit()
open("leaks", "w").close()
print("step 1: loss 2.000")
print("step 2: loss 1.000")
print("Traceback (most recent call last):")
print('  File "train.py", line 12, in <module>')
print("    loss.backward()")
print(
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 23.69 GiB of "
    "which 1.03 GiB is free. Including non-PyTorch memory, this process has 22.65 GiB memory in use. Of the allocated "
    "memory 21.90 GiB is allocated by PyTorch, and 412.00 MiB is reserved by PyTorch but unallocated."
)
sys.exit(1)
PY
