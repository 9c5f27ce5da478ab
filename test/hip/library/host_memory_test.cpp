// Memory of the program that is not there, may only be read, or goes away: codes and faults, and no signal.
#include <fcntl.h>
#include <sys/mman.h>

#include <functional>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

constexpr int kToDevice = 1, kToHost = 2, kDefault = 4;

class HostMemory : public Library {
  protected:
    static constexpr size_t kPage = 4096;
    void SetUp() override {
        Library::SetUp();
        memory = filled(Words(3 * kPage / 4, 7));
        ASSERT_EQ(hipMallocArray(&array, &channels, kPage / 4, 4, 0), hipSuccess);
    }
    void TearDown() override {
        EXPECT_EQ(hipFreeArray(array), hipSuccess);
        free_all({memory});
    }
    /// Three pages, of which the middle one may not be used so.
    static char* pages(int middle) {
        void* const at = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(at, MAP_FAILED);
        mprotect(static_cast<char*>(at) + kPage, kPage, middle);
        return static_cast<char*>(at);
    }
    static int add_one(const AddOne& kernel, void* out, void* x) {
        void* arguments[] = {&out, &x};
        return hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr);
    }
    void *memory = nullptr, *array = nullptr;
    ChannelFormat channels{32, 0, 0, 0, 2};
};

/// A copy between memory of a device and that of the host, of any kind.
struct HostCopy {
    const char* name;
    bool writes_host;
    std::function<int(void* host, size_t bytes)> call;
};

TEST_F(HostMemory, ThatIsNotThereIsNotCopied) {
    void* const device = memory;
    const auto later = [](int code) { return code == hipSuccess ? hipStreamSynchronize(nullptr) : code; };
    std::vector<char> other(3 * kPage);
    const std::vector<HostCopy> copies = {
        {"hipMemcpy", false, [&](void* host, size_t n) { return hipMemcpy(device, host, n, kToDevice); }},
        {"hipMemcpy", true, [&](void* host, size_t n) { return hipMemcpy(host, device, n, kToHost); }},
        {"hipMemcpy of the host", false, [&](void* host, size_t n) { return hipMemcpy(other.data(), host, n, 0); }},
        {"hipMemcpy of the host", true, [&](void* host, size_t n) { return hipMemcpy(host, other.data(), n, 0); }},
        {"hipMemcpyHtoD", false, [&](void* host, size_t n) { return hipMemcpyHtoD(device, host, n); }},
        {"hipMemcpyDtoH", true, [&](void* host, size_t n) { return hipMemcpyDtoH(host, device, n); }},
        {"hipMemcpyAsync", false,
         [&](void* host, size_t n) { return later(hipMemcpyAsync(device, host, n, kDefault, nullptr)); }},
        {"hipMemcpyAsync", true,
         [&](void* host, size_t n) { return later(hipMemcpyAsync(host, device, n, kDefault, nullptr)); }},
        {"hipMemcpy_spt", true, [&](void* host, size_t n) { return hipMemcpy_spt(host, device, n, kToHost); }},
        {"hipMemcpy2D", false,
         [&](void* host, size_t n) { return hipMemcpy2D(device, n / 4, host, n / 4, n / 4, 4, kToDevice); }},
        {"hipMemcpy2D", true,
         [&](void* host, size_t n) { return hipMemcpy2D(host, n / 4, device, n / 4, n / 4, 4, kToHost); }},
        {"hipMemcpyToArray", false,
         [&](void* host, size_t n) { return hipMemcpyToArray(array, 0, 0, host, n, kToDevice); }},
        {"hipMemcpyFromArray", true,
         [&](void* host, size_t n) { return hipMemcpyFromArray(host, array, 0, 0, n, kToHost); }},
    };
    char *const none = pages(PROT_NONE), *const read = pages(PROT_READ), *const hole = pages(PROT_READ | PROT_WRITE);
    ASSERT_EQ(munmap(hole + kPage, kPage), 0);
    for (const HostCopy& copy : copies) {
        for (char* host : {none + kPage, hole + kPage, none + 16, hole + 16, reinterpret_cast<char*>(16)})
            EXPECT_EQ(copy.call(host, 2 * kPage - 64), hipErrorInvalidValue) << copy.name << " " << copy.writes_host;
        EXPECT_EQ(copy.call(reinterpret_cast<char*>(uint64_t{0xdead} << 48), kPage), hipErrorInvalidValue) << copy.name;
        EXPECT_EQ(copy.call(read, kPage * 2), copy.writes_host ? hipErrorInvalidValue : hipSuccess) << copy.name;
        EXPECT_EQ(copy.call(none, kPage), hipSuccess) << copy.name << " of what is there";
    }
    for (char* at : {none, read, hole}) munmap(at, 3 * kPage);
}

TEST_F(HostMemory, ThatIsNotThereHoldsNoArguments) {
    const AddOne kernel;
    void *out = memory, *x = memory;
    using Launch = std::function<int(void** parameters, void** extra)>;
    const std::vector<Launch> launches = {
        [&](void** p, void** e) {
            return hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, p, e);
        },
        [&](void** p, void** e) {
            return hipExtModuleLaunchKernel(kernel.function, kCount, 1, 1, kCount, 1, 1, 0, nullptr, p, e, nullptr,
                                            nullptr, 0);
        },
        [&](void** p, void** e) {
            return e ? hipErrorInvalidValue
                     : hipModuleLaunchCooperativeKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, p);
        },
    };
    char *const none = pages(PROT_NONE), *const end = none + kPage;
    void *const buffer = reinterpret_cast<void*>(1), *const size = reinterpret_cast<void*>(2),
                *const last = reinterpret_cast<void*>(3);
    void** const cut = reinterpret_cast<void**>(end) - 1;  // the second one is not there
    *cut = &out;
    void* both[] = {memory, memory};
    size_t bytes = sizeof both;
    for (const Launch& launch : launches) {
        for (void* bad : {static_cast<void*>(end), static_cast<void*>(end - 4), reinterpret_cast<void*>(16),
                          reinterpret_cast<void*>(uint64_t{0xdead} << 48)}) {
            void *first[] = {bad, &x}, *second[] = {&out, bad};
            EXPECT_EQ(launch(static_cast<void**>(bad), nullptr), hipErrorInvalidValue) << bad;
            EXPECT_EQ(launch(first, nullptr), hipErrorInvalidValue) << bad;
            EXPECT_EQ(launch(second, nullptr), hipErrorInvalidValue) << bad;
            void *bytes_bad[] = {buffer, bad, size, &bytes, last}, *size_bad[] = {buffer, both, size, bad, last};
            EXPECT_EQ(launch(nullptr, static_cast<void**>(bad)), hipErrorInvalidValue) << bad;
            EXPECT_EQ(launch(nullptr, bytes_bad), hipErrorInvalidValue) << bad;
            EXPECT_EQ(launch(nullptr, size_bad), hipErrorInvalidValue) << bad;
        }
        EXPECT_EQ(launch(cut, nullptr), hipErrorInvalidValue);
        void* right[] = {&out, &x};
        EXPECT_EQ(launch(right, nullptr), hipSuccess);
    }
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    munmap(none, 3 * kPage);
}

TEST_F(HostMemory, ThatCannotBeUsedIsNotRegistered) {
    char *const none = pages(PROT_NONE), *const read = pages(PROT_READ);
    EXPECT_EQ(hipHostRegister(none, 3 * kPage, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipHostRegister(none + kPage, 16, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipHostRegister(none, kPage, 0), hipSuccess) << "the page before";
    EXPECT_EQ(hipHostRegister(read + kPage, kPage, 0), hipSuccess);
    EXPECT_EQ(add_one(AddOne(), memory, read + kPage), hipSuccess) << "a kernel reads it";
    EXPECT_EQ(hipMemset(read + kPage, 1, 16), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD32(read + kPage, 1, 16), hipErrorInvalidValue);
    EXPECT_EQ(hipHostUnregister(none), hipSuccess);
    EXPECT_EQ(hipHostUnregister(read + kPage), hipSuccess);
    munmap(none, 3 * kPage), munmap(read, 3 * kPage);
}

TEST_F(HostMemory, ThatMayOnlyBeReadOrIsGoneIsAFaultOfTheKernelThatUsesIt) {
    const auto faults = [&](const char* what, const std::function<void*()>& registered, bool writes) {
        testing::internal::CaptureStderr();
        EXPECT_TRUE(in_child([&] {
            void* const host = registered();
            const auto* const kernel = new AddOne;  // a device that is lost unloads nothing
            const int code = writes ? add_one(*kernel, host, memory) : add_one(*kernel, memory, host);
            return (code == hipErrorIllegalAddress || hipDeviceSynchronize() == hipErrorIllegalAddress) &&
                   hipMemset(memory, 0, 4) == hipErrorIllegalAddress;
        })) << what;
        (void)testing::internal::GetCapturedStderr();
    };
    const auto whole = [](char* at) { return hipHostRegister(at, 3 * kPage, 0) == hipSuccess ? at : nullptr; };
    faults(
        "read-only",
        [&] {
            char* const at = pages(PROT_READ) + kPage;
            return hipHostRegister(at, kPage, 0) == hipSuccess ? at : nullptr;
        },
        true);
    faults(
        "a page that was written and is read-only now",
        [&] {
            char* const at = whole(pages(PROT_READ | PROT_WRITE));
            mprotect(at, 3 * kPage, PROT_READ);
            return at;
        },
        true);
    for (const bool writes : {false, true}) {
        faults(
            "unmapped",
            [&] {
                char* const at = whole(pages(PROT_READ | PROT_WRITE));
                munmap(at, 3 * kPage);
                return at;
            },
            writes);
        faults(
            "of a file that was cut",
            [&] {
                const int file = memfd_create("cut", 0);
                (void)!ftruncate(file, 3 * kPage);
                void* const at = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
                whole(static_cast<char*>(at));
                (void)!ftruncate(file, 0);
                return at;
            },
            writes);
    }
}

}  // namespace
}  // namespace strata::hip::library
