// Memory and events of another process; test_hip_programs.py has two programs that share theirs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

constexpr unsigned kLazyPeers = 1, kForProcesses = 4 | 2;  // hipEventInterprocess, ...DisableTiming

class Ipc : public Library {};

/// The contents of a handle, as anybody can write them.
struct Told {
    uint32_t what;
    int32_t process, file, number;
    uint64_t inode, bytes, offset;
};
IpcHandle with(const IpcHandle& handle, const std::function<void(Told&)>& change) {
    Told told;
    std::memcpy(&told, &handle, sizeof told);
    change(told);
    IpcHandle out = handle;
    std::memcpy(&out, &told, sizeof told);
    return out;
}

/// A handle names a file that its process has open. A file that this library did not make is not mapped, whatever the
/// handle says of it.
TEST_F(Ipc, AHandleThatWasChangedOpensNoOtherFile) {
    void* memory = filled(counted(5, 2000));
    IpcHandle handle;
    ASSERT_EQ(hipIpcGetMemHandle(&handle, memory), hipSuccess);
    char path[] = "/tmp/strata-ipc-XXXXXX";
    const int regular = mkstemp(path), plain = memfd_create("strata-memory", MFD_CLOEXEC),
              named = memfd_create("strata-other", MFD_CLOEXEC | MFD_ALLOW_SEALING), device = open("/dev/zero", O_RDWR);
    for (const int file : {regular, plain, named}) ASSERT_EQ(ftruncate(file, 1 << 16), 0);
    ASSERT_EQ(fcntl(named, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    for (const int file : {regular, plain, named, device, 0, 1000}) {
        struct stat about{};
        (void)fstat(file, &about);
        const IpcHandle changed = with(handle, [&](Told& told) { told.file = file, told.inode = about.st_ino; });
        EXPECT_TRUE(in_child([&] {
            void* theirs = nullptr;
            return hipIpcOpenMemHandle(&theirs, changed, kLazyPeers) == hipErrorInvalidDevicePointer && !theirs;
        })) << file;
    }
    for (const auto& change : std::vector<std::function<void(Told&)>>{
             [](Told& told) { told.bytes = 0; }, [](Told& told) { told.bytes = ~0ull; },
             [](Told& told) { told.bytes = 1 << 20; }, [](Told& told) { told.offset = told.bytes; },
             [](Told& told) { told.offset = ~0ull; }, [](Told& told) { told.number = 1000; },
             [](Told& told) { told.process = 1; }, [](Told& told) { told.process = -1; },
             [](Told& told) { told.inode ^= 1; }, [](Told& told) { told.what ^= 1; }})
        EXPECT_TRUE(in_child([&] {
            void* theirs = nullptr;
            return hipIpcOpenMemHandle(&theirs, with(handle, change), kLazyPeers) != hipSuccess && !theirs;
        }));
    for (const int file : {regular, plain, named, device}) close(file);
    unlink(path);
    free_all({memory});
}

TEST_F(Ipc, WhoSharesMemoryCannotMakeItShorter) {
    void *memory = filled(counted(5, 2000)), *event = nullptr;
    IpcHandle of_memory, of_event;
    ASSERT_EQ(hipEventCreateWithFlags(&event, kForProcesses), hipSuccess);
    ASSERT_EQ(hipIpcGetMemHandle(&of_memory, memory), hipSuccess);
    ASSERT_EQ(hipIpcGetEventHandle(&of_event, event), hipSuccess);
    for (const IpcHandle& handle : {of_memory, of_event})
        (void)with(handle, [](const Told& told) {
            EXPECT_NE(ftruncate(told.file, 0), 0);
            EXPECT_EQ(errno, EPERM);
        });
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    free_all({memory});
}

TEST_F(Ipc, MemoryIsTheSameInBothProcesses) {
    void *memory = filled(counted(5, 2000)), *neighbour = filled(counted(9));
    IpcHandle handle, inner, again;
    ASSERT_EQ(hipIpcGetMemHandle(&handle, memory), hipSuccess);
    ASSERT_EQ(hipIpcGetMemHandle(&inner, static_cast<char*>(memory) + 400), hipSuccess);
    ASSERT_EQ(hipIpcGetMemHandle(&again, memory), hipSuccess);
    EXPECT_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
    EXPECT_EQ(read(memory, 2000), counted(5, 2000)) << "it holds what it held";
    EXPECT_TRUE(in_child([&] {
        void *theirs = nullptr, *twice = nullptr, *part = nullptr;
        AddOne kernel;
        PointerAttributes about{};
        const bool opened = hipIpcOpenMemHandle(&theirs, handle, kLazyPeers) == hipSuccess &&
                            hipIpcOpenMemHandle(&twice, handle, kLazyPeers) == hipSuccess && theirs == twice &&
                            hipIpcOpenMemHandle(&part, inner, kLazyPeers) == hipSuccess &&
                            part == static_cast<char*>(theirs) + 400 && read(part) == counted(105);
        void* arguments[] = {&theirs, &part};
        const bool used = hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, nullptr, arguments,
                                                nullptr) == hipSuccess &&
                          read(theirs) == counted(106) && hipMemcpyDtoD(theirs, theirs, 8001) == hipErrorInvalidValue &&
                          hipFree(theirs) == hipErrorInvalidValue;
        bool closed = true;
        for (int reference = 0; reference < 3; ++reference) {
            closed &= hipPointerGetAttributes(&about, theirs) == hipSuccess && about.type == 2;
            closed &= hipIpcCloseMemHandle(theirs) == hipSuccess;
        }
        return opened && used && closed && hipIpcCloseMemHandle(theirs) == hipErrorInvalidValue;
    }));
    EXPECT_EQ(read(memory), counted(106)) << "what the child's kernel wrote";
    EXPECT_EQ(read(neighbour), counted(9));
    free_all({memory, neighbour});
    EXPECT_TRUE(in_child([&] {
        void* theirs = nullptr;
        return hipIpcOpenMemHandle(&theirs, handle, kLazyPeers) == hipErrorInvalidDevicePointer;
    })) << "it was freed";
    void* next = filled(counted(1, 2000));
    EXPECT_EQ(hipIpcGetMemHandle(&again, next), hipSuccess);
    EXPECT_NE(std::memcmp(&handle, &again, sizeof handle), 0) << "other memory has another handle";
    free_all({next});
}

TEST_F(Ipc, MemoryThatIsNotOfTheDeviceOrNotOfAnotherProcessIsRefused) {
    void *memory = filled(counted(5)), *host = nullptr, *out = nullptr;
    IpcHandle handle, bad{};
    ASSERT_EQ(hipHostMalloc(&host, 64, 0), hipSuccess);
    EXPECT_EQ(hipIpcGetMemHandle(nullptr, memory), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetMemHandle(&handle, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetMemHandle(&handle, static_cast<char*>(memory) + kCount * 4), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetMemHandle(&handle, host), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetMemHandle(&handle, memory), hipSuccess);
    EXPECT_EQ(hipIpcOpenMemHandle(&out, handle, kLazyPeers), hipErrorInvalidContext) << "it is this process's own";
    EXPECT_EQ(hipIpcOpenMemHandle(nullptr, handle, kLazyPeers), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcOpenMemHandle(&out, handle, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcOpenMemHandle(&out, bad, kLazyPeers), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcCloseMemHandle(memory), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcCloseMemHandle(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipHostFree(host), hipSuccess);
    free_all({memory});
    EXPECT_EQ(hipIpcGetMemHandle(&handle, memory), hipErrorInvalidValue) << "it was freed";
}

TEST_F(Ipc, EventsAreSeenAndRecordedInBothProcesses) {
    void *event = nullptr, *memory = nullptr, *stream = nullptr;
    IpcHandle handle;
    int to_child[2], to_parent[2];
    char byte = 0;
    ASSERT_EQ(hipEventCreateWithFlags(&event, kForProcesses), hipSuccess);
    ASSERT_EQ(hipHostMalloc(&memory, 64, 0), hipSuccess);
    ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
    std::memset(memory, 0, 64);
    EXPECT_EQ(hipStreamWaitValue32(stream, memory, 1, 1, ~0u), hipSuccess);
    EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
    ASSERT_EQ(hipIpcGetEventHandle(&handle, event), hipSuccess);
    ASSERT_EQ(pipe(to_child), 0);
    ASSERT_EQ(pipe(to_parent), 0);
    const pid_t child = fork();
    if (child == 0) {
        void *theirs = nullptr, *own = nullptr, *value = nullptr;
        bool good = hipDeviceReset() == hipSuccess;  // what the parent's streams wait for is not this process's affair
        good &= hipHostMalloc(&value, 64, 0) == hipSuccess && hipStreamCreate(&own) == hipSuccess;
        auto* const words = static_cast<uint32_t*>(value);
        *words = 0;
        good &= hipIpcOpenEventHandle(&theirs, handle) == hipSuccess && hipEventQuery(theirs) == hipErrorNotReady;
        good &= hipStreamWaitEvent(own, theirs, 0) == hipSuccess && hipStreamWriteValue32(own, words, 3, 0) == 0;
        good &= hipStreamQuery(own) == hipErrorNotReady && *words == 0;
        good &= write(to_parent[1], "x", 1) == 1 && hipEventSynchronize(theirs) == hipSuccess;
        good &= hipStreamSynchronize(own) == hipSuccess && *words == 3;
        good &= hipStreamWaitValue32(own, words, 4, 1, ~0u) == hipSuccess && hipEventRecord(theirs, own) == hipSuccess;
        good &= write(to_parent[1], "y", 1) == 1 && ::read(to_child[0], &byte, 1) == 1;
        *words = 4;
        good &= hipStreamSynchronize(own) == hipSuccess && hipEventDestroy(theirs) == hipSuccess;
        _exit(good ? 0 : 1);
    }
    EXPECT_EQ(::read(to_parent[0], &byte, 1), 1);
    EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
    EXPECT_EQ(hipStreamWriteValue32(nullptr, static_cast<char*>(memory) + 8, 1, 0), hipSuccess);
    *static_cast<uint32_t*>(memory) = 1;
    EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
    EXPECT_EQ(::read(to_parent[0], &byte, 1), 1);
    EXPECT_EQ(hipEventQuery(event), hipErrorNotReady) << "the child has recorded it";
    EXPECT_EQ(write(to_child[1], "z", 1), 1);
    EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    for (const int end : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(end);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipHostFree(memory), hipSuccess);
}

TEST_F(Ipc, EventsThatAreNotForProcessesAreRefused) {
    void *event = nullptr, *plain = nullptr, *out = nullptr;
    IpcHandle handle, bad{};
    ASSERT_EQ(hipEventCreateWithFlags(&event, kForProcesses), hipSuccess);
    ASSERT_EQ(hipEventCreateWithFlags(&plain, 2), hipSuccess);
    EXPECT_EQ(hipIpcGetEventHandle(nullptr, event), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetEventHandle(&handle, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcGetEventHandle(&handle, plain), hipErrorInvalidConfiguration);
    EXPECT_EQ(hipIpcGetEventHandle(&handle, event), hipSuccess);
    EXPECT_EQ(hipIpcOpenEventHandle(&out, handle), hipErrorInvalidContext) << "it is this process's own";
    EXPECT_EQ(hipIpcOpenEventHandle(nullptr, handle), hipErrorInvalidValue);
    EXPECT_EQ(hipIpcOpenEventHandle(&out, bad), hipErrorInvalidValue);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    EXPECT_TRUE(in_child([&] { return hipIpcOpenEventHandle(&out, handle) == hipErrorInvalidValue; }))
        << "it is no more";
    EXPECT_EQ(hipEventDestroy(plain), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
