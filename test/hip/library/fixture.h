#pragma once
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <initializer_list>
#include <numeric>
#include <string>
#include <vector>

#include "../../providers/add_one.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/api/state.h"

namespace strata::hip::library {

inline constexpr size_t kCount = 32;  ///< elements that a block of add_one takes
inline constexpr size_t kBytes = kCount * 4;
using Words = std::vector<uint32_t>;

inline Words counted(uint32_t first, size_t count = kCount) {
    Words out(count);
    std::iota(out.begin(), out.end(), first);
    return out;
}

/// Device 0, and what the calls of a test need: memory with known words, a kernel.
class Library : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(hipSetDevice(0), hipSuccess);
        (void)hipGetLastError();
    }
    /// Runs a body in a child of a fork; true: it returned true there.
    template <class Body>
    static bool in_child(Body&& body) {
        const pid_t child = fork();
        if (child == 0)
            [&]() noexcept { _exit(body() ? 0 : 1); }();  // what it throws is not for gtest, which would go on
        int status = -1;
        return waitpid(child, &status, 0) == child && status == 0;
    }
    static void* filled(const Words& values) {
        void* memory = nullptr;
        EXPECT_EQ(hipMalloc(&memory, values.size() * 4), hipSuccess);
        EXPECT_EQ(hipMemcpyHtoD(memory, const_cast<uint32_t*>(values.data()), values.size() * 4), hipSuccess);
        return memory;
    }
    static Words read(void* memory, size_t count = kCount) {
        Words out(count);
        EXPECT_EQ(hipMemcpyDtoH(out.data(), memory, count * 4), hipSuccess);
        return out;
    }
    static void free_all(std::initializer_list<void*> all) {
        for (void* memory : all) EXPECT_EQ(hipFree(memory), hipSuccess);
    }
};

/// out[i] = x[i] + 1, with a variable: four words that hold 1, 2, 3, 4.
inline isa::Bytes add_one_code() {
    const std::string variable =
        ".data\n.globl numbers\n.type numbers,@object\n.p2align 4\nnumbers:\n .long 1\n .long 2\n .long 3\n .long 4\n"
        ".size numbers, 16\n";
    std::string text(kAddOne);
    return isa::assemble(text.insert(text.find(".rodata"), variable), isa::Arch::gfx1100).value();
}

/// The kernel in a module.
struct AddOne {
    AddOne() {
        EXPECT_EQ(hipModuleLoadData(&module, add_one_code().data()), hipSuccess);
        EXPECT_EQ(hipModuleGetFunction(&function, module, "add_one"), hipSuccess);
    }
    ~AddOne() {
        if (module) EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    }
    void *module = nullptr, *function = nullptr;
};

}  // namespace strata::hip::library
