// Addresses, memory that is mapped there, who may use it, and how other processes get it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <tuple>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

constexpr size_t kPart = 4096;
constexpr size_t kWords = kPart / 4;
constexpr int kNone = 0, kRead = 1, kWrite = 3;

AllocationProperties properties(int handles = 0) { return {1, handles, {1, 0}, nullptr, 0, 0, 0}; }

class VirtualMemory : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipMemAddressReserve(&range, 4 * kPart, 0, nullptr, 0), hipSuccess);
    }
    void TearDown() override {
        for (size_t part = 0; part < 4; ++part) (void)hipMemUnmap(at(part * kPart), kPart);
        EXPECT_EQ(hipMemAddressFree(range, 4 * kPart), hipSuccess);
    }
    void* at(size_t byte) const { return static_cast<char*>(range) + byte; }
    static void* made(int handles = 0) {
        void* handle = nullptr;
        const AllocationProperties wanted = properties(handles);
        EXPECT_EQ(hipMemCreate(&handle, kPart, &wanted, 0), hipSuccess);
        return handle;
    }
    /// A part of the range is memory of its own, which device 0 may use so.
    void map(size_t part, int access) {
        void* const handle = made();
        EXPECT_EQ(hipMemMap(at(part * kPart), kPart, 0, handle, 0), hipSuccess);
        EXPECT_EQ(hipMemRelease(handle), hipSuccess) << "what is mapped stays";
        if (access != kNone) EXPECT_EQ(permit(part * kPart, kPart, access), hipSuccess);
    }
    int permit(size_t byte, size_t bytes, int access) const {
        const AccessDescription wanted{{1, 0}, access};
        return hipMemSetAccess(at(byte), bytes, &wanted, 1);
    }
    unsigned long long access_at(void* memory) const {
        const Location device{1, 0};
        unsigned long long access = 99;
        EXPECT_EQ(hipMemGetAccess(&access, &device, memory), hipSuccess);
        return access;
    }
    /// The library's text while one block of add_one ran from `from` to `to`, and the result.
    static std::pair<int, std::string> add_one(void* to, void* from) {
        AddOne kernel;
        void* arguments[] = {&to, &from};
        testing::internal::CaptureStderr();
        EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments, nullptr), 0);
        const int code = hipDeviceSynchronize();
        const std::string said = testing::internal::GetCapturedStderr();
        if (code != hipSuccess) {
            EXPECT_EQ(hipDeviceReset(), hipSuccess);
            EXPECT_EQ(hipModuleUnload(std::exchange(kernel.module, nullptr)), hipSuccess);
        }
        return {code, said};
    }
    void* range = nullptr;
};

TEST_F(VirtualMemory, AddressesAreReservedAsTheyAreWanted) {
    void *memory = nullptr, *again = nullptr;
    for (size_t align = 1; align <= (1u << 22); align *= 4) {
        ASSERT_EQ(hipMemAddressReserve(&memory, kPart, align, nullptr, 0), hipSuccess);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % align, 0u);
        EXPECT_EQ(hipMemAddressFree(memory, kPart), hipSuccess);
    }
    EXPECT_EQ(hipMemAddressReserve(&again, kPart, 0, memory, 0), hipSuccess);
    EXPECT_EQ(again, memory) << "these are free";
    EXPECT_EQ(hipMemAddressReserve(&memory, kPart, 0, again, 0), hipSuccess);
    EXPECT_NE(again, memory) << "these are not";
    EXPECT_EQ(hipMemAddressFree(memory, kPart), hipSuccess);
    EXPECT_EQ(hipMemAddressFree(again, kPart), hipSuccess);
    EXPECT_EQ(hipMemAddressFree(again, kPart), hipErrorInvalidValue) << "freed twice";
    EXPECT_EQ(hipMemAddressReserve(nullptr, kPart, 0, nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemAddressReserve(&memory, kPart, 0, nullptr, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemAddressReserve(&memory, 0, 0, nullptr, 0), hipErrorOutOfMemory);
    EXPECT_EQ(hipMemAddressReserve(&memory, kPart - 1, 0, nullptr, 0), hipErrorOutOfMemory);
    EXPECT_EQ(hipMemAddressReserve(&memory, kPart, 3, nullptr, 0), hipErrorOutOfMemory);
    EXPECT_EQ(hipMemAddressReserve(&memory, size_t{1} << 62, 0, nullptr, 0), hipErrorOutOfMemory);
    EXPECT_EQ(hipMemAddressFree(range, kPart), hipErrorInvalidValue) << "not all of it";
    map(0, kNone);
    EXPECT_EQ(hipMemAddressFree(range, 4 * kPart), hipErrorInvalidValue) << "something is mapped there";
}

TEST_F(VirtualMemory, IsMadeOfWholePartsAndCounted) {
    AllocationProperties wanted = properties(1), told{};
    size_t part = 0, before = 0, with = 0, total = 0;
    void* handle = nullptr;
    EXPECT_EQ(hipMemGetAllocationGranularity(&part, &wanted, 0), hipSuccess);
    EXPECT_EQ(part, kPart);
    EXPECT_EQ(hipMemGetAllocationGranularity(&part, &wanted, 1), hipSuccess);
    EXPECT_EQ(part % kPart, 0u);
    EXPECT_EQ(hipMemGetAllocationGranularity(&part, &wanted, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetAllocationGranularity(nullptr, &wanted, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetAllocationGranularity(&part, nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    EXPECT_EQ(hipMemCreate(&handle, 3 * kPart, &wanted, 0), hipSuccess);
    EXPECT_EQ(hipMemGetInfo(&with, &total), hipSuccess);
    EXPECT_EQ(before - with, 3 * kPart);
    EXPECT_EQ(hipMemGetAllocationPropertiesFromHandle(&told, handle), hipSuccess);
    EXPECT_EQ(std::tie(told.kind, told.handles, told.location.kind, told.location.device), std::make_tuple(1, 1, 1, 0));
    EXPECT_EQ(hipMemGetAllocationPropertiesFromHandle(nullptr, handle), hipErrorInvalidValue);
    EXPECT_EQ(hipMemRelease(handle), hipSuccess);
    EXPECT_EQ(hipMemGetInfo(&with, &total), hipSuccess);
    EXPECT_EQ(before, with);
    EXPECT_EQ(hipMemRelease(handle), hipErrorInvalidValue) << "released twice";
    EXPECT_EQ(hipMemRelease(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetAllocationPropertiesFromHandle(&told, handle), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(nullptr, kPart, &wanted, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(&handle, kPart, nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(&handle, 0, &wanted, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(&handle, kPart - 1, &wanted, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(&handle, kPart, &wanted, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemCreate(&handle, (total / kPart + 1) * kPart, &wanted, 0), hipErrorOutOfMemory);
    wanted.handles = 2;
    EXPECT_EQ(hipMemCreate(&handle, kPart, &wanted, 0), hipErrorNotSupported) << "a handle of Windows";
    for (const AllocationProperties& bad :
         {AllocationProperties{0, 0, {1, 0}}, AllocationProperties{1, 0, {0, 0}}, AllocationProperties{1, 0, {1, -1}}})
        EXPECT_EQ(hipMemCreate(&handle, kPart, &bad, 0), hipErrorInvalidValue);
}

TEST_F(VirtualMemory, IsCopiedFilledAndUsedByKernelsWhereItIsMapped) {
    map(1, kWrite), map(2, kWrite);
    const Words in = counted(7, 2 * kWords);
    EXPECT_EQ(hipMemcpyHtoD(at(kPart), const_cast<uint32_t*>(in.data()), 2 * kPart), hipSuccess) << "over two mappings";
    EXPECT_EQ(read(at(kPart), 2 * kWords), in);
    EXPECT_EQ(hipMemsetD8(at(2 * kPart - 4), 1, 8), hipSuccess);
    EXPECT_EQ(read(at(2 * kPart - 8), 4), (Words{in[kWords - 2], 0x01010101, 0x01010101, in[kWords + 1]}));
    void* const own = filled(counted(40));
    EXPECT_EQ(add_one(at(2 * kPart), own).first, hipSuccess);
    EXPECT_EQ(read(at(2 * kPart)), counted(41));
    EXPECT_EQ(hipMemcpyDtoD(at(kPart), at(2 * kPart), 128), hipSuccess);
    EXPECT_EQ(hipMemcpyDtoD(own, at(kPart), 128), hipSuccess);
    EXPECT_EQ(read(own), counted(41));
    Words out(kWords + 1);
    EXPECT_EQ(hipMemcpyDtoH(out.data(), at(2 * kPart), kPart + 4), hipErrorInvalidValue) << "nothing is mapped there";
    EXPECT_EQ(hipMemcpyDtoH(out.data(), range, 4), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD8(at(3 * kPart - 4), 1, 8), hipErrorInvalidValue);
    PointerAttributes about{};
    EXPECT_EQ(hipPointerGetAttributes(&about, at(kPart + 8)), hipSuccess);
    EXPECT_EQ(about.type, 2);
    EXPECT_EQ(hipFree(at(kPart)), hipErrorInvalidValue);
    free_all({own});
}

TEST_F(VirtualMemory, IsMappedOnceAtATimeWithinWhatIsReserved) {
    void *handle = made(), *again = nullptr;
    EXPECT_EQ(hipMemMap(range, kPart, 0, handle, 0), hipSuccess);
    EXPECT_EQ(hipMemMap(range, kPart, 0, handle, 0), hipErrorInvalidValue) << "it is mapped there";
    EXPECT_EQ(hipMemMap(at(kPart), kPart, 0, handle, 0), hipSuccess) << "the same memory at another address";
    EXPECT_EQ(permit(0, 2 * kPart, kWrite), hipSuccess);
    EXPECT_EQ(hipMemsetD32(at(kPart), 5, kCount), hipSuccess);
    EXPECT_EQ(read(range), Words(kCount, 5));
    EXPECT_EQ(hipMemMap(at(2 * kPart), 2 * kPart, 0, handle, 0), hipErrorInvalidValue) << "more than there is";
    EXPECT_EQ(hipMemMap(at(4 * kPart), kPart, 0, handle, 0), hipErrorInvalidValue) << "after the range";
    EXPECT_EQ(hipMemMap(nullptr, kPart, 0, handle, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemMap(at(2 * kPart), kPart, kPart, handle, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemMap(at(2 * kPart), kPart, 0, handle, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemMap(at(2 * kPart), kPart, 0, range, 0), hipErrorInvalidValue) << "no handle";
    EXPECT_EQ(hipMemMap(at(2 * kPart), 0, 0, handle, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemRetainAllocationHandle(&again, at(kPart + 5)), hipSuccess);
    EXPECT_EQ(again, handle);
    EXPECT_EQ(hipMemRetainAllocationHandle(&again, at(2 * kPart)), hipErrorInvalidValue);
    EXPECT_EQ(hipMemRetainAllocationHandle(nullptr, range), hipErrorInvalidValue);
    for (int references = 2; references > 0; --references) EXPECT_EQ(hipMemRelease(handle), hipSuccess);
    EXPECT_EQ(hipMemRelease(handle), hipErrorInvalidValue);
    EXPECT_EQ(hipMemUnmap(range, kPart - 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemUnmap(range, 3 * kPart), hipErrorInvalidValue) << "the last part is not mapped";
    EXPECT_EQ(hipMemUnmap(nullptr, kPart), hipErrorInvalidValue);
    EXPECT_EQ(hipMemUnmap(range, 2 * kPart), hipSuccess);
    EXPECT_EQ(hipMemUnmap(range, kPart), hipErrorInvalidValue) << "unmapped twice";
}

TEST_F(VirtualMemory, IsUsedByWhoHasPermission) {
    const AccessDescription elsewhere{{1, 99}, kWrite}, wrong{{1, 0}, 2};
    const Location device{1, 0}, host{2, 0};
    unsigned long long access = 0;
    void* const own = filled(counted(40));
    map(0, kNone);
    EXPECT_EQ(access_at(range), 0u);
    EXPECT_EQ(hipMemsetD8(range, 1, 4), hipErrorInvalidValue);
    EXPECT_EQ(permit(0, kPart, kWrite), hipSuccess);
    EXPECT_EQ(access_at(at(kPart - 1)), 3u);
    EXPECT_EQ(hipMemsetD32(range, 6, kCount), hipSuccess);
    EXPECT_EQ(permit(0, kPart, kRead), hipSuccess);
    EXPECT_EQ(access_at(range), 1u);
    EXPECT_EQ(hipMemsetD8(range, 1, 4), hipErrorInvalidValue) << "it may be read alone";
    EXPECT_EQ(add_one(own, range).first, hipSuccess);
    EXPECT_EQ(read(own), Words(kCount, 7));
    EXPECT_EQ(hipMemSetAccess(range, kPart, &elsewhere, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemSetAccess(range, kPart, &wrong, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemSetAccess(range, kPart, nullptr, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemSetAccess(range, kPart, &elsewhere, 0), hipErrorInvalidValue);
    EXPECT_EQ(permit(0, kPart + 1, kRead), hipErrorInvalidValue);
    EXPECT_EQ(permit(kPart, kPart, kRead), hipErrorInvalidValue) << "nothing is mapped there";
    EXPECT_EQ(hipMemGetAccess(&access, &host, range), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetAccess(nullptr, &device, range), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetAccess(&access, &device, at(kPart)), hipErrorInvalidValue);
    free_all({own});
}

TEST_F(VirtualMemory, FaultsInKernelsThatMayNotUseIt) {
    map(0, kNone);
    void* own = filled(counted(40));
    auto [code, said] = add_one(range, own);
    EXPECT_EQ(code, hipErrorIllegalAddress);
    EXPECT_NE(said.find("mapped memory without permission for this device: hipMemSetAccess gives it"), said.npos)
        << said;
    map(0, kRead), map(1, kWrite);
    own = filled(counted(40));
    std::tie(code, said) = add_one(range, own);
    EXPECT_EQ(code, hipErrorIllegalAddress);
    EXPECT_NE(said.find("which is read-only: at byte 0 of allocation 'mapped memory' (4096 bytes"), said.npos) << said;
    map(0, kWrite);
    own = filled(counted(40));
    std::tie(code, said) = add_one(at(kPart - 64), own);
    EXPECT_EQ(code, hipErrorIllegalAddress) << "the reset unmapped the second part";
    EXPECT_NE(said.find("0 bytes past the end of allocation 'mapped memory' (4096 bytes"), said.npos) << said;
}

TEST_F(VirtualMemory, HoldsValuesOfStreamsWhereTheHostMayUseIt) {
    constexpr unsigned kEqual = 1, kAll = ~0u;
    auto* const word = static_cast<uint32_t*>(range);
    map(0, kNone);
    EXPECT_EQ(hipStreamWaitValue32(nullptr, word, 0, kEqual, kAll), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamWriteValue32(nullptr, word, 7, 0), hipErrorInvalidValue);
    EXPECT_EQ(permit(0, kPart, kRead), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue32(nullptr, word, 0, kEqual, kAll), hipSuccess) << "it is there";
    EXPECT_EQ(hipStreamWriteValue32(nullptr, word, 7, 0), hipErrorInvalidValue) << "read-only";
    EXPECT_EQ(permit(0, kPart, kWrite), hipSuccess);
    EXPECT_EQ(hipStreamWriteValue32(nullptr, word, 7, 0), hipSuccess);
    EXPECT_EQ(read(range, 1), Words{7});
    void *stream = nullptr, *graph = nullptr, *ready = nullptr;
    ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
    EXPECT_EQ(hipStreamBeginCapture(stream, 2), hipSuccess);
    EXPECT_EQ(hipStreamWriteValue32(stream, word, 8, 0), hipSuccess);
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
    ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(ready, stream), hipSuccess);
    EXPECT_EQ(read(range, 1), Words{8});
    EXPECT_EQ(hipMemUnmap(range, kPart), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(ready, stream), hipErrorInvalidValue) << "the memory is gone";
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_F(VirtualMemory, StaysMappedUntilWhatUsesItIsDone) {
    void *handle = made(), *stream = nullptr, *flag = filled({0}), *own = filled(counted(9));
    ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), hipSuccess);
    EXPECT_EQ(hipMemMap(range, kPart, 0, handle, 0), hipSuccess);
    EXPECT_EQ(hipMemMap(at(kPart), kPart, 0, handle, 0), hipSuccess);
    EXPECT_EQ(permit(0, 2 * kPart, kWrite), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue32(stream, flag, 1, 1, ~0u), hipSuccess);
    EXPECT_EQ(hipMemcpyAsync(range, own, kCount * 4, 3, stream), hipSuccess);
    std::thread writer([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::atomic_ref(*static_cast<uint32_t*>(flag)).store(1);
    });
    EXPECT_EQ(hipMemUnmap(range, kPart), hipSuccess);
    writer.join();
    EXPECT_EQ(read(at(kPart)), counted(9)) << "the copy was before";
    EXPECT_EQ(hipMemRelease(handle), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    free_all({flag, own});
}

TEST_F(VirtualMemory, IsOfTheDevicesMemoryAsAnyOtherIs) {
    size_t free = 0, total = 0;
    void *handle = nullptr, *memory = nullptr;
    ASSERT_EQ(hipMemGetInfo(&free, &total), hipSuccess);
    const AllocationProperties wanted = properties();
    ASSERT_EQ(hipMemCreate(&handle, (free / kPart - 1) * kPart, &wanted, 0), hipSuccess);
    EXPECT_EQ(hipMalloc(&memory, 16 * kPart), hipErrorOutOfMemory);
    EXPECT_EQ(hipMemGetInfo(&free, &total), hipSuccess);
    EXPECT_LT(free, 2 * kPart);
    EXPECT_EQ(hipMemRelease(handle), hipSuccess);
    EXPECT_EQ(hipMalloc(&memory, 16 * kPart), hipSuccess);
    free_all({memory});
}

TEST_F(VirtualMemory, GoesToOtherProcessesAsAFile) {
    void *handle = made(1), *private_handle = made(), *theirs = nullptr;
    int file = -1;
    EXPECT_EQ(hipMemExportToShareableHandle(&file, handle, 1, 0), hipSuccess);
    ASSERT_EQ(hipMemMap(range, kPart, 0, handle, 0), hipSuccess);
    ASSERT_EQ(permit(0, kPart, kWrite), hipSuccess);
    EXPECT_EQ(hipMemsetD32(range, 5, kCount), hipSuccess);
    const pid_t child = fork();
    const auto in_child = [&]() noexcept {  // maps the file, and adds one to what is there
        void *imported = nullptr, *mapped = nullptr;
        const AccessDescription wanted{{1, 0}, kWrite};
        const bool good = hipMemImportFromShareableHandle(&imported, &file, 1) == hipSuccess &&
                          hipMemAddressReserve(&mapped, kPart, 0, nullptr, 0) == hipSuccess &&
                          hipMemMap(mapped, kPart, 0, imported, 0) == hipSuccess &&
                          hipMemSetAccess(mapped, kPart, &wanted, 1) == hipSuccess &&
                          add_one(mapped, mapped).first == hipSuccess && read(mapped) == Words(kCount, 6);
        _exit(good ? 0 : 1);
    };
    if (child == 0) in_child();
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read(range), Words(kCount, 6)) << "what the child wrote";
    EXPECT_EQ(hipMemImportFromShareableHandle(&theirs, reinterpret_cast<void*>(static_cast<uintptr_t>(file)), 1),
              hipSuccess)
        << "as HIP 7.1 has it";
    EXPECT_EQ(hipMemMap(at(kPart), kPart, 0, theirs, 0), hipSuccess);
    EXPECT_EQ(permit(kPart, kPart, kRead), hipSuccess);
    EXPECT_EQ(read(at(kPart)), Words(kCount, 6));
    int no_memory = memfd_create("other", 0);
    EXPECT_EQ(hipMemImportFromShareableHandle(&theirs, &no_memory, 1), hipErrorInvalidValue) << "some other file";
    close(no_memory);
    EXPECT_EQ(hipMemImportFromShareableHandle(&theirs, &no_memory, 1), hipErrorInvalidValue) << "no file";
    EXPECT_EQ(hipMemImportFromShareableHandle(&theirs, &file, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipMemImportFromShareableHandle(nullptr, &file, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemImportFromShareableHandle(&theirs, nullptr, 1), hipErrorInvalidValue);
    close(file);
    EXPECT_EQ(hipMemExportToShareableHandle(nullptr, handle, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemExportToShareableHandle(&file, handle, 2, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemExportToShareableHandle(&file, handle, 1, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipMemExportToShareableHandle(&file, range, 1, 0), hipErrorInvalidValue) << "no handle";
    EXPECT_EQ(hipMemExportToShareableHandle(&file, private_handle, 1, 0), hipErrorInvalidValue) << "made without one";
    for (void* one : {handle, private_handle, theirs}) EXPECT_EQ(hipMemRelease(one), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
