#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "strata/asm/emu/gpu.h"

// Kernels for the emulator's tests: small HIP C compiled by clang-19 as a subprocess, and buffers on a device.
namespace strata::emu::harness {

inline const char* kPrelude = R"(
typedef unsigned int uint; typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned long ulong;
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((amdgpu_flat_work_group_size(1, n)))
#define KERNEL extern "C" __global__
#define TX __builtin_amdgcn_workitem_id_x()
#define TY __builtin_amdgcn_workitem_id_y()
#define TZ __builtin_amdgcn_workitem_id_z()
#define BX __builtin_amdgcn_workgroup_id_x()
#define BY __builtin_amdgcn_workgroup_id_y()
#define BZ __builtin_amdgcn_workgroup_id_z()
#define NX __builtin_amdgcn_workgroup_size_x()
#define NY __builtin_amdgcn_workgroup_size_y()
#define NZ __builtin_amdgcn_workgroup_size_z()
static __device__ inline void sync() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
)";

inline std::vector<uint8_t> read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Compiles HIP C with the prelude above; fails the test with clang's message. A source that the test program has
/// compiled before is not compiled again.
inline std::vector<uint8_t> compile_hip(const std::string& source, const std::string& options = "-O3",
                                        std::string_view arch = "gfx1100") {
    static std::map<std::string, std::vector<uint8_t>> compiled;
    const std::string flags = "--offload-arch=" + std::string(arch) + " " + options;
    std::vector<uint8_t>& code = compiled[flags + "\n" + source];
    if (!code.empty()) return code;
    char folder[] = "/tmp/strata-emu-XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    std::string in = std::string(folder) + "/kernel.hip", out = std::string(folder) + "/kernel.co",
                log = std::string(folder) + "/log";
    std::ofstream(in) << kPrelude << "#line 1 \"kernel.hip\"\n" << source;
    std::string command =
        "clang++-19 -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -nostdinc -nostdinc++ " +
        flags + " -o " + out + " " + in + " > " + log + " 2>&1";
    int status = system(command.c_str());
    std::vector<uint8_t> log_bytes = read_file(log);
    code = read_file(out);
    EXPECT_EQ(status, 0) << std::string(log_bytes.begin(), log_bytes.end());
    for (const std::string& file : {in, out, log}) unlink(file.c_str());
    rmdir(folder);
    return code;
}

/// A typed array in device memory.
template <class T>
class Buffer {
  public:
    Buffer(Gpu& gpu, std::vector<T> values, std::string_view label = "buffer") : gpu_(gpu), count_(values.size()) {
        address_ = gpu.allocate(count_ * sizeof(T), label).value();
        gpu.write(address_, values.data(), count_ * sizeof(T)).value();
    }
    Buffer(Gpu& gpu, size_t count, std::string_view label = "buffer") : Buffer(gpu, std::vector<T>(count), label) {}
    ~Buffer() { (void)gpu_.free(address_); }
    Buffer(const Buffer&) = delete;

    DeviceAddress address() const { return address_; }
    std::vector<T> values() const {
        std::vector<T> out(count_);
        gpu_.read(out.data(), address_, count_ * sizeof(T)).value();
        return out;
    }

  private:
    Gpu& gpu_;
    DeviceAddress address_ = 0;
    size_t count_;
};

/// Explicit kernel arguments, each at its natural alignment.
class Arguments {
  public:
    template <class T>
    Arguments& operator<<(T value) {
        bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
        const auto* from = reinterpret_cast<const uint8_t*>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof(T));
        return *this;
    }
    template <class T>
    Arguments& operator<<(const Buffer<T>& buffer) {
        return *this << buffer.address();
    }
    std::span<const uint8_t> bytes() const { return bytes_; }

  private:
    std::vector<uint8_t> bytes_;
};

inline LaunchConfig config(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block) {
    LaunchConfig c;
    c.grid = grid;
    c.block = block;
    return c;
}

}  // namespace strata::emu::harness
