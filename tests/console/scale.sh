plimsoll generate cap --preset embedding --vocab 512 --dim 64 --seq 32 --entries 5
