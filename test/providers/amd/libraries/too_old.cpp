// A HIP runtime from before hipGetErrorName: what the loader says of a library that lacks a call.
extern "C" {
int hipInit(unsigned) { return 0; }
int hipRuntimeGetVersion(int*) { return 0; }
int hipDriverGetVersion(int*) { return 0; }
}
