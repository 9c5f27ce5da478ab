// The Lorenz system by RK4, doubles and floats, a trajectory for each work-item; the right side is called by pointer.
#include "program.h"

template <class T>
struct State {
    T x, y, z;
};

template <class T>
__device__ NOINLINE State<T> lorenz(State<T> s) {
    return {T(10) * (s.y - s.x), s.x * (T(28) - s.z) - s.y, s.x * s.y - T(2.6640625) * s.z};
}

template <class T>
__device__ State<T> step(State<T> s, T h, State<T> (*f)(State<T>)) {
    auto along = [](State<T> a, State<T> d, T t) { return State<T>{a.x + d.x * t, a.y + d.y * t, a.z + d.z * t}; };
    State<T> k1 = f(s), k2 = f(along(s, k1, h / 2)), k3 = f(along(s, k2, h / 2)), k4 = f(along(s, k3, h));
    return {s.x + h / 6 * (k1.x + 2 * k2.x + 2 * k3.x + k4.x), s.y + h / 6 * (k1.y + 2 * k2.y + 2 * k3.y + k4.y),
            s.z + h / 6 * (k1.z + 2 * k2.z + 2 * k3.z + k4.z)};
}

__global__ void runge_kutta(double* out, float* out_float, int steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    State<double> d = {1 + i * 0.01, 1, 1};
    State<float> f = {1 + (float)i * 0.25f, 1, 1};
    for (int k = 0; k < steps; ++k) {
        d = step(d, 0.01, &lorenz<double>);
        f = step(f, 0.0078125f, &lorenz<float>);
    }
    out[i] = d.x + d.y + d.z;
    out_float[i] = f.x + f.y + f.z;
}

#if HOST
void program(Run& run) {
    auto out = run.zeros<double>(70);
    auto out_float = run.zeros<float>(70);
    LAUNCH(runge_kutta, 2, 35, out, out_float, 40);
}
#endif
