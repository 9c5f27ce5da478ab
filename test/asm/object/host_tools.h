#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Running LLVM's command line tools from tests, in a temporary folder that is removed.
namespace strata::test {

using Bytes = std::vector<uint8_t>;

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "strata-test-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    std::string file(std::string_view name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

inline void write_file(const std::string& path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
}
inline void write_file(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}
inline Bytes read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

struct CommandResult {
    int status = -1;
    std::string output;  ///< standard output and standard error
};
inline CommandResult run(const std::string& command) {
    CommandResult result;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) return result;
    std::array<char, 4096> buffer;
    while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) result.output.append(buffer.data(), n);
    const int status = pclose(pipe);
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
}

/// Compiles freestanding HIP source to a code object, or to a relocatable object with `options` "-c -fgpu-rdc"-like
/// flags.
inline Bytes compile_hip(std::string_view source, const std::string& options, const std::string& arch = "gfx1100") {
    TemporaryFolder folder;
    write_file(folder.file("k.hip"), source);
    const std::string command = "clang++-19 -x hip --offload-arch=" + arch +
                                " --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -O2 " + options +
                                " -o " + folder.file("k.out") + " " + folder.file("k.hip");
    CommandResult result = run(command);
    EXPECT_EQ(result.status, 0) << command << "\n" << result.output;
    return read_file(folder.file("k.out"));
}

/// Kernels with arguments of several kinds, LDS, device variables, a function call and a pointer that needs relocation.
inline constexpr std::string_view kHipSample = R"(
#define KERNEL __attribute__((global))
#define DEVICE __attribute__((device))
extern "C" {
DEVICE int counter = 5;
DEVICE int zeroes[100];
DEVICE int* pointer = &counter;
DEVICE __attribute__((noinline)) float helper(float x) { return x * x + zeroes[3]; }
KERNEL void saxpy(float* y, const float* x, float a, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
    if (i < n) y[i] += a * x[i];
}
KERNEL void other(float* y, int n) {
    __attribute__((shared)) static float t[64];
    t[__builtin_amdgcn_workitem_id_x()] = n;
    __builtin_amdgcn_s_barrier();
    counter += 1;
    y[0] = helper(t[3]) + *pointer;
}
}
)";

}  // namespace strata::test
