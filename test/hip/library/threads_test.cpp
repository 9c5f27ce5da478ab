// Many threads call at once: launches, copies, memory, modules, events, streams of their own and of the device;
// processes that fork.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "fixture.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

class Threads : public Library {
  protected:
    /// Calls body(number of the thread, of the turn) until each thread has had `turns` turns.
    static void side_by_side(int threads, int turns, const std::function<void(int, int)>& body) {
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                for (int turn = 0; turn < turns; ++turn) body(t, turn);
            });
        for (std::thread& thread : all) thread.join();
    }
    static int launch(void* function, void* out, void* x, void* stream) {
        void* arguments[] = {&out, &x};
        return hipModuleLaunchKernel(function, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr);
    }
    static int launch_is_right(void* function, uint32_t first, void* stream) {
        const Words words = counted(first);
        Words got(kCount);
        void *x = nullptr, *out = nullptr;
        EXPECT_EQ(hipMallocAsync(&x, kBytes, stream), hipSuccess);
        EXPECT_EQ(hipMalloc(&out, kBytes), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(x, words.data(), kBytes, 1, stream), hipSuccess);
        EXPECT_EQ(launch(function, out, x, stream), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(got.data(), out, kBytes, 2, stream), hipSuccess);
        EXPECT_EQ(hipFreeAsync(x, stream), hipSuccess);
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        EXPECT_EQ(hipFree(out), hipSuccess);
        return got == counted(first + 1);
    }
};

TEST_F(Threads, LaunchOnStreamsWhileOthersLoadAndUnloadModules) {
    const AddOne shared;
    std::atomic<int> right = 0;
    side_by_side(8, 12, [&](int t, int turn) {
        void *stream = nullptr, *event = nullptr;
        switch (t % 4) {
            case 0: right += launch_is_right(shared.function, static_cast<uint32_t>(t * 1000 + turn), nullptr); break;
            case 1: {  // a module of its own
                const AddOne own;
                right += launch_is_right(own.function, static_cast<uint32_t>(t * 1000 + turn), per_thread_stream());
                break;
            }
            case 2:
                EXPECT_EQ(hipStreamCreate(&stream), hipSuccess);
                EXPECT_EQ(hipEventCreate(&event), hipSuccess);
                right += launch_is_right(shared.function, static_cast<uint32_t>(t * 1000 + turn), stream);
                EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
                EXPECT_EQ(hipStreamWaitEvent(nullptr, event, 0), hipSuccess);
                EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
                EXPECT_EQ(hipEventDestroy(event), hipSuccess);
                EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
                break;
            default: {
                const AddOne loaded;  // and unloaded
                EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
                ++right;
            }
        }
    });
    EXPECT_EQ(right, 8 * 12);
}

TEST_F(Threads, FirstUseOfADeviceMayBeOfAll) {
    const int last = static_cast<int>(devices().size()) - 1;
    std::atomic<int> right = 0;
    side_by_side(8, 1, [&](int t, int) {
        EXPECT_EQ(hipSetDevice(last - t % 2), hipSuccess);
        void* memory = filled(counted(static_cast<uint32_t>(t)));
        right += read(memory) == counted(static_cast<uint32_t>(t));
        EXPECT_EQ(hipFree(memory), hipSuccess);
    });
    EXPECT_EQ(right, 8);
}

TEST_F(Threads, OneOfThoseThatFreeTheSameMemoryDoesSo) {
    for (int round = 0; round < 20; ++round) {
        void *memory = filled(counted(1)), *event = nullptr;
        ASSERT_EQ(hipEventCreate(&event), hipSuccess);
        std::atomic<int> freed = 0, destroyed = 0;
        side_by_side(4, 1, [&](int, int) {
            freed += hipFree(memory) == hipSuccess;
            destroyed += hipEventDestroy(event) == hipSuccess;
        });
        EXPECT_EQ(freed, 1);
        EXPECT_EQ(destroyed, 1);
    }
}

TEST_F(Threads, OneOfThoseThatUnloadAModuleOrDestroyAStreamDoesSo) {
    for (int round = 0; round < 20; ++round) {
        void *stream = nullptr, *module = nullptr;
        ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
        ASSERT_EQ(hipModuleLoadData(&module, add_one_code().data()), hipSuccess);
        std::atomic<int> unloaded = 0, destroyed = 0;
        side_by_side(4, 1, [&](int, int) {
            unloaded += hipModuleUnload(module) == hipSuccess;
            destroyed += hipStreamDestroy(stream) == hipSuccess;
        });
        EXPECT_EQ(unloaded, 1);
        EXPECT_EQ(destroyed, 1);
    }
}

/// The status of a child that calls body() and exits with what it returns; -1: it does not end within 20 s.
int status_of_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    for (int i = 0; i < 2000; ++i) {
        if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
        usleep(10'000);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
}

TEST_F(Threads, AChildOfAForkGoesOnWithoutTheParentsMemoryChanging) {
    const AddOne kernel;
    void *x = filled(counted(1)), *out = filled(Words(kCount));
    EXPECT_EQ(launch(kernel.function, out, x, nullptr), hipSuccess);
    const int status = status_of_child([&] { return launch_is_right(kernel.function, 7, nullptr); });
    EXPECT_EQ(status, 1) << "the child computes with memory of its own";
    EXPECT_EQ(read(out), counted(2));
    free_all({x, out});
}

TEST_F(Threads, AChildOfAForkAmidLaunchesGetsCodesAndDoesNotHang) {
    const AddOne kernel;
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            while (!stop) EXPECT_EQ(launch_is_right(kernel.function, 3, per_thread_stream()), 1);
        });
    for (int round = 0; round < 10; ++round) {
        const int status = status_of_child([] {
            void* memory = nullptr;
            const int code = hipMalloc(&memory, kBytes);
            return code == hipSuccess || code == hipErrorUnknown ? 7 : 8;
        });
        EXPECT_EQ(status, 7) << "round " << round;
    }
    stop = true;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace strata::hip::library
