// A process that forks before it calls HIP: both sides have devices of their own.
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

__global__ void set(int* out) { *out = 7; }

int main() {
    const pid_t child = fork();
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    int *memory, value = 0;
    if (hipMalloc(&memory, 4) != hipSuccess) return 1;
    set<<<1, 1>>>(memory);
    if (hipMemcpy(&value, memory, 4, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    printf("%s %d\n", child ? "parent" : "child", value);
    return status;
}
