#pragma once
// The header of every program of this folder: one source for two machines. A kernel is HIP; the part under `#if HOST`
// is a function `void program(Run& run)` that makes buffers and launches kernels. The tests call it once on the host,
// where this header gives HIP's words their meaning and every work-item is a fiber. They call it once more for every
// emulated GPU and optimisation level, where device.h gives the meaning. Every buffer must end with the same bytes.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#define HOST 1
#define __global__
#define __device__
#define __constant__
#define __shared__ static
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __restrict__ __restrict
#define DYNAMIC_SHARED(T, name) T* name = reinterpret_cast<T*>(programs::dynamic_shared())
#define NOINLINE __attribute__((noinline))
#define WAVE programs::wave_size()

using uchar = unsigned char;
using half = _Float16;

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    unsigned count() const { return x * y * z; }
};

/// The work-item that runs at the moment.
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace programs {

void* dynamic_shared();
int wave_size();
int lane();
/// All work-items of a wave that get here give up to 8 bytes; the result is theirs by lane, and which lanes there were.
struct Gathered {
    const uint64_t* values;
    uint64_t lanes;
};
Gathered gather(uint64_t value);

template <class T>
T from_lane(T value, int source) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    Gathered all = gather(bits);
    bits = all.lanes >> source & 1 ? all.values[source] : 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/// Where a program runs. Pointers are those of the machine that runs it.
class Run {
  public:
    struct Region {
        void* address;
        size_t bytes;
        size_t float_size;  ///< of an element, or 0 for integers, which compare as bytes
        double ulps;        ///< allowed between this machine and the host
    };

    virtual ~Run() = default;
    virtual void* allocate(const void* from, size_t bytes) = 0;
    virtual void read(void* to, const void* from, size_t bytes) = 0;
    virtual void write(void* to, const void* from, size_t bytes) = 0;
    /// A device global, given its name and its host twin, which holds its first value.
    virtual void* global(const char* name, void* host, size_t bytes) = 0;
    virtual void run(const char* kernel, const std::function<void()>& work_item, std::span<const uint8_t> arguments,
                     dim3 grid, dim3 block) = 0;

    /// A fact that does not depend on the reference run, e.g. a known answer.
    void expect(bool holds, const std::string& what) {
        if (!holds) failures.push_back(what);
    }
    template <class T>
    class Buffer {
      public:
        Buffer(Run& run, T* data, size_t size) : run_(&run), data_(data), size_(size) {}
        operator T*() const { return data_; }
        size_t size() const { return size_; }
        std::vector<T> values() const {
            std::vector<T> out(size_);
            run_->read(out.data(), data_, size_ * sizeof(T));
            return out;
        }
        void set(const std::vector<T>& values) { run_->write(data_, values.data(), size_ * sizeof(T)); }

      private:
        Run* run_;
        T* data_;
        size_t size_;
    };
    template <class T>
    Buffer<T> buffer(const std::vector<T>& values, double ulps = 0) {
        return add(static_cast<T*>(allocate(values.data(), values.size() * sizeof(T))), values.size(), ulps);
    }
    template <class T>
    Buffer<T> zeros(size_t count, double ulps = 0) {
        return buffer(std::vector<T>(count), ulps);
    }
    template <class T>
    Buffer<T> add(T* data, size_t size, double ulps = 0) {
        constexpr bool real = std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, half>;
        regions.push_back({data, size * sizeof(T), real ? sizeof(T) : 0, ulps});
        return {*this, data, size};
    }
    template <class... P, class... A>
    void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, const A&... arguments) {
        std::vector<uint8_t> bytes;
        (append<P>(bytes, static_cast<P>(arguments)), ...);
        run(name, [&] { kernel(static_cast<P>(arguments)...); }, bytes, grid, block);
    }

    size_t dynamic_lds = 0;  ///< bytes, of the launches to come
    std::vector<Region> regions;
    std::vector<std::string> failures;

  private:
    template <class T>
    static void append(std::vector<uint8_t>& bytes, const T& value) {
        bytes.resize((bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T));
        const auto* from = reinterpret_cast<const uint8_t*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof(T));
    }
};

/// Reproducible numbers: integers of all bits, floats in [-1, 1).
uint64_t random_bits(uint64_t seed, uint64_t index);
template <class T>
std::vector<T> random(size_t count, uint64_t seed = 1) {
    std::vector<T> out(count);
    for (size_t i = 0; i < count; ++i)
        if constexpr (std::is_integral_v<T>)
            out[i] = static_cast<T>(random_bits(seed, i));
        else
            out[i] = static_cast<T>(static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-23f - 1);
    return out;
}

}  // namespace programs

using programs::random;
using programs::Run;

#define LAUNCH(kernel, grid, block, ...) run.launch(#kernel, kernel, grid, block, __VA_ARGS__)
/// A __device__ or __constant__ array or variable as a buffer that the host can read and set.
#define GLOBAL(variable)                                                                     \
    run.add(static_cast<std::remove_extent_t<decltype(variable)>*>(                          \
                run.global(#variable, reinterpret_cast<void*>(&variable), sizeof variable)), \
            sizeof variable / sizeof(std::remove_extent_t<decltype(variable)>))

#include "host_words.h"
