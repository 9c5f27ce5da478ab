// Virtual calls on objects made on the device: their tables hold addresses of device functions.
#include "program.h"

struct Shape {
    __device__ virtual int area() const = 0;
    __device__ virtual int scaled(int by) const { return area() * by; }
};
struct Rectangle : Shape {
    int a, b;
    __device__ Rectangle(int x, int y) : a(x), b(y) {}
    __device__ int area() const override { return a * b; }
};
struct Triangle : Shape {
    int base, height;
    __device__ Triangle(int x, int y) : base(x), height(y) {}
    __device__ int area() const override { return base * height / 2; }
    __device__ int scaled(int by) const override { return area() * by + 1; }
};

__device__ NOINLINE int measure(const Shape& shape, int by) { return shape.area() + shape.scaled(by); }

__global__ void virtual_functions(int* out) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    Rectangle rectangle(i, i % 7);
    Triangle triangle(i + 1, i % 11);
    out[i] = measure(i % 3 ? (const Shape&)rectangle : (const Shape&)triangle, i % 5);
}

#if HOST
void program(Run& run) {
    auto out = run.zeros<int>(150);
    LAUNCH(virtual_functions, 3, 50, out);
}
#endif
