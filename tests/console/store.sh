plimsoll generate captures/embedding --preset gemma4-e2b-gb10 --scale 1/1024
