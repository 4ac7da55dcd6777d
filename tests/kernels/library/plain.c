/* Exports nothing of the ABI. */
int embedding(const void *input, const void *weight, void *output) { return input == weight && output == 0; }
