# The sources that the page compiles, a capture, and a kernel that leaves the first row of its output unwritten.
ln -s "$PLIMSOLL_SOURCES/tests" tests
ln -s "$PLIMSOLL_SOURCES/harness" harness
plimsoll generate captures/embedding --preset gemma4-e2b-gb10 --scale 1/512 --entries 4
sed 's/i = 0; i < count/i = 1; i < count/' harness/examples/embedding.c > wrong.c
cc -O2 -shared -fPIC -I harness/examples -o wrong.so wrong.c
