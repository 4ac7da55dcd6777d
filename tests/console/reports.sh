echo 'x = b"x" * (16 << 20)' > train.py
plimsoll run --record before.json -- python3 train.py
plimsoll run --record after.json -- python3 train.py
