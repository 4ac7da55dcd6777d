cat > train.log <<'LOG'
step 409: loss 1.482
step 410: loss 1.479
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 88, in train
[rank1]:     loss.backward()
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 1 has a total capacity of 79.15 GiB of which 13.44 MiB is free. Including non-PyTorch memory, this process has 79.13 GiB memory in use. Of the allocated memory 61.20 GiB is allocated by PyTorch, and 16.90 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.
LOG
printf 'import time\ntable = b"x" * (64 << 20)\ntime.sleep(0.05)\n' > load.py
