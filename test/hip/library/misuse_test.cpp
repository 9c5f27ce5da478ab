// Misuse by programs, or nearly so, of memory, grids, events, streams and modules: the code that HIP documents, and no
// harm.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

constexpr int kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3, kDefault = 4;

class Misuse : public Library {
  protected:
    static void* behind(void* memory, size_t bytes) { return static_cast<char*>(memory) + bytes; }
    int launch(Dim3 grid, Dim3 block, unsigned lds = 0) {
        void* arguments[] = {&out, &x};
        return hipModuleLaunchKernel(kernel.function, grid.x, grid.y, grid.z, block.x, block.y, block.z, lds, nullptr,
                                     arguments, nullptr);
    }
    void SetUp() override {
        Library::SetUp();
        x = filled(counted(1)), out = filled(Words(kCount));
    }
    void TearDown() override {
        EXPECT_EQ(launch({1, 1, 1}, {kCount, 1, 1}), hipSuccess) << "the device is as it was";
        EXPECT_EQ(read(out), counted(2));
        free_all({x, out});
    }
    const AddOne kernel;
    void *x = nullptr, *out = nullptr;
};

TEST_F(Misuse, GridsAndBlocksThatNoDispatchCountsAreRefused) {
    EXPECT_EQ(launch({0, 1, 1}, {1, 1, 1}), hipErrorInvalidValue);
    EXPECT_EQ(launch({1, 1, 0}, {1, 1, 1}), hipErrorInvalidValue);
    EXPECT_EQ(launch({1, 1, 1}, {1, 0, 1}), hipErrorInvalidValue);
    EXPECT_EQ(launch({1, 1, 1}, {257, 1, 1}), hipErrorInvalidValue) << "more than the kernel was compiled for";
    EXPECT_EQ(launch({1, 1, 1}, {1, 1025, 1}), hipErrorInvalidValue);
    EXPECT_EQ(launch({1, 1, 1}, {65536, 65536, 1}), hipErrorInvalidValue) << "a product beyond 32 bits";
    EXPECT_EQ(launch({0x80000000, 1, 1}, {1, 1, 1}), hipErrorInvalidValue);
    EXPECT_EQ(launch({1, 0x80000000, 1}, {1, 1, 1}), hipErrorInvalidValue);
    // 2^32 work-items of one dimension: a packet of the queue counts them in 32 bits.
    EXPECT_EQ(launch({1 << 27, 1, 1}, {kCount, 1, 1}), hipErrorInvalidConfiguration);
    EXPECT_EQ(launch({0x7fffffff, 1, 1}, {256, 1, 1}), hipErrorInvalidConfiguration);
    EXPECT_EQ(launch({1, 1, 1}, {kCount, 1, 1}, 65537), hipErrorInvalidValue) << "more LDS than there is";
    EXPECT_EQ(launch({1, 1, 1}, {kCount, 1, 1}, ~0u), hipErrorInvalidValue);
}

TEST_F(Misuse, CopiesReachNothingButWhatIsAllocated) {
    void* freed = filled(counted(1));
    free_all({freed});
    Words host(kCount);
    for (const int kind : {kHostToDevice, kDeviceToDevice, kDefault}) {
        EXPECT_EQ(hipMemcpy(freed, host.data(), kBytes, kind), hipErrorInvalidValue);
        EXPECT_EQ(hipMemcpy(behind(x, 4), host.data(), kBytes, kind), hipErrorInvalidValue) << "a word too long";
        EXPECT_EQ(hipMemcpy(x, host.data(), SIZE_MAX, kind), hipErrorInvalidValue);
        EXPECT_EQ(hipMemcpy(nullptr, host.data(), kBytes, kind), hipErrorInvalidValue);
        EXPECT_EQ(hipMemcpy(x, nullptr, kBytes, kind), hipErrorInvalidValue);
        EXPECT_EQ(hipMemcpy(nullptr, nullptr, 0, kind), hipSuccess) << "nothing is copied";
    }
    EXPECT_EQ(hipMemcpy(host.data(), freed, kBytes, kDeviceToHost), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy(host.data(), behind(x, kBytes - 1), 2, kDeviceToHost), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy(host.data(), x, kBytes, 5), hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpy(host.data(), x, kBytes, -1), hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpyDtoD(freed, x, kBytes), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyDtoD(out, behind(x, 4), kBytes), hipErrorInvalidValue);
    EXPECT_EQ(hipMemset(freed, 0, 4), hipErrorInvalidValue);
    EXPECT_EQ(hipMemset(host.data(), 0, 4), hipErrorInvalidValue) << "the host's";
    EXPECT_EQ(hipMemset(x, 0, kBytes + 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemset(x, 0, SIZE_MAX), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD32(x, 0, SIZE_MAX / 2), hipErrorInvalidValue) << "bytes beyond 64 bits";
    EXPECT_EQ(hipMemset2D(x, SIZE_MAX, 0, 4, 3), hipErrorInvalidValue);
    EXPECT_EQ(hipMemset3D({x, 16, 16, SIZE_MAX / 8}, 0, {4, 1, 3}), hipErrorInvalidValue) << "a slice beyond 64 bits";
    EXPECT_EQ(hipMemcpy2D(x, 4, host.data(), 4, 8, 2, kHostToDevice), hipErrorInvalidPitchValue) << "wider than rows";
    EXPECT_EQ(hipMemcpy2D(x, SIZE_MAX / 2, host.data(), SIZE_MAX / 2, 8, 4, kHostToDevice), hipErrorInvalidValue);
    EXPECT_EQ(read(x), counted(1)) << "nothing was written";
}

TEST_F(Misuse, CopiesThatOverlapAreThoseOfMemmove) {
    EXPECT_EQ(hipMemcpyDtoD(behind(x, 4), x, kBytes - 4), hipSuccess);
    Words wanted = counted(1);
    std::copy_backward(wanted.begin(), wanted.end() - 1, wanted.end());
    EXPECT_EQ(read(x), wanted);
    EXPECT_EQ(hipMemcpyDtoD(x, behind(x, 8), kBytes - 8), hipSuccess);
    std::copy(wanted.begin() + 2, wanted.end(), wanted.begin());
    EXPECT_EQ(read(x), wanted);
    EXPECT_EQ(hipMemcpyDtoD(x, x, kBytes), hipSuccess);
    EXPECT_EQ(read(x), wanted);
    const Words again = counted(1);
    EXPECT_EQ(hipMemcpy(x, again.data(), kBytes, kDeviceToDevice), hipSuccess) << "what an address is counts";
}

TEST_F(Misuse, MemoryIsGivenBackByItsStartAndOnce) {
    void *host = nullptr, *managed = nullptr;
    ASSERT_EQ(hipHostMalloc(&host, 256, 0), hipSuccess);
    ASSERT_EQ(hipMallocManaged(&managed, 256, 1), hipSuccess);
    int local = 0;
    for (void* memory : {x, host, managed}) EXPECT_EQ(hipFree(behind(memory, 16)), hipErrorInvalidValue);
    for (void* memory : {behind(host, 4), x, managed, static_cast<void*>(&local)})
        EXPECT_EQ(hipHostFree(memory), hipErrorInvalidValue);
    EXPECT_EQ(hipFree(&local), hipErrorInvalidValue);
    EXPECT_EQ(hipFreeAsync(&local, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipFreeAsync(behind(x, 4), nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipFreeAsync(nullptr, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipHostUnregister(host), hipErrorHostMemoryNotRegistered);
    free_all({managed});
    EXPECT_EQ(hipFree(managed), hipErrorInvalidValue);
    EXPECT_EQ(hipHostFree(host), hipSuccess);
    EXPECT_EQ(hipHostFree(host), hipErrorInvalidValue);
    EXPECT_EQ(hipFree(nullptr), hipSuccess);
    EXPECT_EQ(hipHostFree(nullptr), hipSuccess);
}

TEST_F(Misuse, NoSizeIsTooLargeToBeRefused) {
    void* memory = &memory;
    size_t pitch = 0, before = 0, now = 0, total = 0;
    ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 255, SIZE_MAX / 2 + 1, total + 1}) {
        EXPECT_EQ(hipMalloc(&memory, bytes), hipErrorOutOfMemory) << bytes;
        EXPECT_EQ(memory, nullptr);
        EXPECT_EQ(hipHostMalloc(&memory, bytes, 0), hipErrorOutOfMemory) << bytes;
        EXPECT_EQ(hipMallocManaged(&memory, bytes, 1), hipErrorOutOfMemory) << bytes;
        EXPECT_EQ(hipMallocAsync(&memory, bytes, nullptr), hipErrorOutOfMemory) << bytes;
        EXPECT_EQ(hipMallocPitch(&memory, &pitch, bytes, 1),
                  bytes > SIZE_MAX - 256 ? hipErrorInvalidValue : hipErrorOutOfMemory)
            << bytes;
        EXPECT_EQ(hipMallocPitch(&memory, &pitch, 16, bytes), hipErrorOutOfMemory) << bytes;
        PitchedPointer rows{};
        EXPECT_EQ(hipMalloc3D(&rows, {16, bytes, 3}), hipErrorOutOfMemory) << bytes;
    }
    Words host(kCount);
    EXPECT_EQ(hipHostRegister(host.data(), SIZE_MAX, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipHostRegister(host.data(), 0, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemPrefetchAsync(x, SIZE_MAX, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemAdvise(x, SIZE_MAX, 1, 0), hipErrorInvalidValue);
    ASSERT_EQ(hipMemGetInfo(&now, &total), hipSuccess);
    EXPECT_EQ(now, before);
}

TEST_F(Misuse, MemoryOfTheHostThatIsNotThereIsNotRegistered) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const pages = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    EXPECT_EQ(hipHostRegister(behind(pages, 5), 3 * page - 5, 0), hipSuccess) << "from within a page on";
    EXPECT_EQ(hipHostRegister(behind(pages, page), page, 0), hipErrorHostMemoryAlreadyRegistered);
    EXPECT_EQ(hipHostUnregister(behind(pages, page)), hipErrorHostMemoryNotRegistered) << "not its start";
    EXPECT_EQ(hipHostUnregister(behind(pages, 5)), hipSuccess);
    ASSERT_EQ(munmap(behind(pages, page), page), 0);
    EXPECT_EQ(hipHostRegister(pages, 3 * page, 0), hipErrorInvalidValue) << "a page is missing";
    EXPECT_EQ(hipHostRegister(pages, page, 0), hipSuccess);
    EXPECT_EQ(hipHostUnregister(pages), hipSuccess);
    for (const size_t at : {size_t{0}, 2 * page}) munmap(behind(pages, at), page);
}

TEST_F(Misuse, TheSameNameInTwoModulesIsTwoKernels) {
    std::string text(kAddOne);
    const std::string adds_one = "v_add_nc_u32_e32 v2, 1, v2";
    text.replace(text.find(adds_one), adds_one.size(), "v_add_nc_u32_e32 v2, 9, v2");
    void *module = nullptr, *other = nullptr;
    ASSERT_EQ(hipModuleLoadData(&module, isa::assemble(text, isa::Arch::gfx1100).value().data()), hipSuccess);
    ASSERT_EQ(hipModuleGetFunction(&other, module, "add_one"), hipSuccess);
    EXPECT_NE(other, kernel.function);
    void* arguments[] = {&out, &x};
    const auto run = [&](void* function) {
        return hipModuleLaunchKernel(function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr);
    };
    EXPECT_EQ(run(other), hipSuccess);
    EXPECT_EQ(read(out), counted(10));
    EXPECT_EQ(run(kernel.function), hipSuccess);
    EXPECT_EQ(read(out), counted(2));
    void* again = nullptr;
    EXPECT_EQ(hipModuleGetFunction(&again, module, "add_one"), hipSuccess);
    EXPECT_EQ(again, other);
    EXPECT_EQ(hipModuleGetFunction(&again, module, "add_two"), hipErrorNotFound);
    EXPECT_EQ(hipModuleUnload(module), hipSuccess);
    EXPECT_EQ(run(other), hipErrorInvalidHandle) << "its module is unloaded";
    EXPECT_EQ(hipModuleUnload(module), hipErrorNotFound) << "twice";
    EXPECT_EQ(run(module), hipErrorInvalidHandle) << "no function at all";
}

TEST_F(Misuse, EventsThatWereNeverRecordedAreDoneAndHaveNoTime) {
    void *event = nullptr, *recorded = nullptr, *untimed = nullptr;
    float ms = -1;
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    ASSERT_EQ(hipEventCreate(&recorded), hipSuccess);
    ASSERT_EQ(hipEventCreateWithFlags(&untimed, 2), hipSuccess);
    for (void* one : {recorded, untimed}) EXPECT_EQ(hipEventRecord(one, nullptr), hipSuccess);
    EXPECT_EQ(hipEventQuery(event), hipSuccess);
    EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
    EXPECT_EQ(hipStreamWaitEvent(nullptr, event, 0), hipSuccess);
    EXPECT_EQ(hipEventElapsedTime(&ms, event, recorded), hipErrorInvalidHandle);
    EXPECT_EQ(hipEventElapsedTime(&ms, recorded, event), hipErrorInvalidHandle);
    EXPECT_EQ(hipEventElapsedTime(&ms, recorded, untimed), hipErrorInvalidHandle);
    EXPECT_EQ(hipEventElapsedTime(nullptr, recorded, recorded), hipErrorInvalidValue);
    EXPECT_EQ(ms, -1);
    EXPECT_EQ(hipEventElapsedTime(&ms, recorded, recorded), hipSuccess);
    EXPECT_EQ(ms, 0);
    for (void* one : {event, recorded, untimed}) EXPECT_EQ(hipEventDestroy(one), hipSuccess);
    EXPECT_EQ(hipEventDestroy(event), hipErrorContextIsDestroyed) << "twice";
    EXPECT_EQ(hipEventQuery(event), hipErrorInvalidHandle);
    EXPECT_EQ(hipEventRecord(event, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipStreamWaitEvent(nullptr, event, 0), hipErrorInvalidHandle);
}

TEST_F(Misuse, AStreamThatIsDestroyedDoesItsWorkFirst) {
    void *stream = nullptr, *event = nullptr, *memory = nullptr;
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), hipSuccess);
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    ASSERT_EQ(hipHostMalloc(&memory, 64, 0), hipSuccess);
    std::atomic_ref<uint32_t> word(*static_cast<uint32_t*>(memory));
    word = 0;
    EXPECT_EQ(hipStreamWaitValue32(stream, memory, 1, 1, ~0u), hipSuccess);
    EXPECT_EQ(hipMemcpyDtoDAsync(out, x, kBytes, stream), hipSuccess);
    EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
    EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
    EXPECT_EQ(read(out), Words(kCount)) << "another stream: the copy has not begun";
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        word = 1;
    });
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    writer.join();
    EXPECT_EQ(hipEventQuery(event), hipSuccess);
    EXPECT_EQ(read(out), counted(1));
    EXPECT_EQ(hipStreamDestroy(stream), hipErrorContextIsDestroyed) << "twice";
    EXPECT_EQ(hipMemcpyDtoDAsync(out, x, kBytes, stream), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    EXPECT_EQ(hipHostFree(memory), hipSuccess);
}

TEST_F(Misuse, AResetGivesBackWhatIsAllocatedAndLeavesADeviceThatWorks) {
    size_t before = 0, now = 0, total = 0;
    void *memory = nullptr, *host = nullptr, *stream = nullptr, *event = nullptr;
    free_all({x, out});
    ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    ASSERT_EQ(hipMalloc(&memory, 1 << 20), hipSuccess);
    ASSERT_EQ(hipHostMalloc(&host, 4096, 0), hipSuccess);
    ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    ASSERT_EQ(hipEventRecord(event, stream), hipSuccess);
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    ASSERT_EQ(hipMemGetInfo(&now, &total), hipSuccess);
    EXPECT_EQ(now, before);
    EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
    EXPECT_EQ(hipHostFree(host), hipErrorInvalidValue);
    EXPECT_EQ(hipMemset(memory, 0, 4), hipErrorInvalidValue);
    EXPECT_EQ(hipEventQuery(event), hipSuccess);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    EXPECT_EQ(hipDeviceReset(), hipSuccess) << "twice";
    x = filled(counted(1)), out = filled(Words(kCount));
    (void)hipStreamDestroy(stream);
}

}  // namespace
}  // namespace strata::hip::library
