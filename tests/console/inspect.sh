ln -s "$PLIMSOLL_SOURCES/tests" tests
