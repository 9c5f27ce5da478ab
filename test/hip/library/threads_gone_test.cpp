// Threads that use an object that another thread ends meanwhile: a module, a program's code, a stream, an event. Each
// call is done before or gets a code.
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "fixture.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

class Gone : public Library {
  protected:
    static int launch(void* function, void* out, void* x, void* stream) {
        void* arguments[] = {&out, &x};
        return hipModuleLaunchKernel(function, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr);
    }
};

/// The calls of a thread, and the codes of the calls that come after the end of what it uses.
struct Race {
    std::function<int()> call;
    std::set<int> behind;
};

/// Calls until each thread has had five successes, ends what they use, and goes on until each has had five codes.
void race(const std::vector<Race>& all, const std::function<int()>& end) {
    std::vector<std::atomic<int>> done(all.size()), refused(all.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < all.size(); ++i)
        threads.emplace_back([&, i] {
            while (refused[i] < 5) {
                const int code = all[i].call();
                ASSERT_TRUE(code == hipSuccess || all[i].behind.contains(code)) << "thread " << i << ": " << code;
                ++(code == hipSuccess ? done : refused)[i];
            }
        });
    for (const std::atomic<int>& one : done)
        while (one < 5) std::this_thread::yield();
    EXPECT_EQ(end(), hipSuccess);
    for (std::thread& thread : threads) thread.join();
}

TEST_F(Gone, EachUseOfAModuleIsDoneBeforeItIsUnloadedOrGetsACode) {
    for (int round = 0; round < 10; ++round) {
        void *module = nullptr, *function = nullptr, *x = filled(counted(1)), *out = filled(Words(kCount));
        void *graph = nullptr, *node = nullptr, *ready = nullptr, *arguments[] = {&out, &x};
        ASSERT_EQ(hipModuleLoadData(&module, add_one_code().data()), hipSuccess);
        ASSERT_EQ(hipModuleGetFunction(&function, module, "add_one"), hipSuccess);
        const KernelParameters kernel{{kCount, 1, 1}, nullptr, function, {1, 1, 1}, arguments, 0};
        ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
        ASSERT_EQ(hipGraphAddKernelNode(&node, graph, nullptr, 0, &kernel), hipSuccess);
        ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
        const auto launch_cooperative = [&] {
            return hipModuleLaunchCooperativeKernel(function, 1, 1, 1, kCount, 1, 1, 0, per_thread_stream(), arguments);
        };
        const auto look_up = [&] {
            void* again = nullptr;
            const int code = hipModuleGetFunction(&again, module, "add_one");
            EXPECT_EQ(again, code == hipSuccess ? function : nullptr);
            return code;
        };
        const auto copy_variable = [&] {
            void* variable = nullptr;
            size_t bytes = 0;
            Words words(4);
            const int code = hipModuleGetGlobal(&variable, &bytes, module, "numbers");
            return code == hipSuccess ? hipMemcpy_spt(words.data(), variable, bytes, 2) : code;
        };
        const auto ask = [&] {
            int value = 0;
            const int code = hipFuncGetAttribute(&value, 0, function);
            return code == hipSuccess ? hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 64, 0)
                                      : code;
        };
        race({{[&] { return launch(function, out, x, per_thread_stream()); }, {hipErrorInvalidHandle}},
              {[&] { return hipGraphLaunch(ready, per_thread_stream()); }, {hipErrorInvalidHandle}},
              {launch_cooperative, {hipErrorInvalidHandle}},
              {look_up, {hipErrorNotFound}},
              {copy_variable, {hipErrorNotFound, hipErrorInvalidValue}},
              {ask, {hipErrorInvalidDeviceFunction}}},
             [&] { return hipModuleUnload(module); });
        EXPECT_EQ(read(out), counted(2));
        EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
        EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
        free_all({x, out});
    }
}

TEST_F(Gone, EachLaunchOfAProgramsCodeIsDoneBeforeItsEndOrGetsACode) {
    const isa::Bytes code = add_one_code();
    const struct {
        uint32_t magic, version;
        const void *image, *unused;
    } wrapper{0x48495046, 1, code.data(), nullptr};
    const char host = 0;
    for (int round = 0; round < 10; ++round) {
        void *x = filled(counted(1)), *out = filled(Words(kCount)), *arguments[] = {&out, &x};
        void** const binary = __hipRegisterFatBinary(&wrapper);
        __hipRegisterFunction(binary, &host, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
        const Race launches{
            [&] { return hipLaunchKernel(&host, {1, 1, 1}, {kCount, 1, 1}, arguments, 0, per_thread_stream()); },
            {hipErrorInvalidDeviceFunction, hipErrorInvalidHandle}};
        race({launches, launches, launches}, [&] {
            __hipUnregisterFatBinary(binary);
            return hipSuccess;
        });
        EXPECT_EQ(read(out), counted(2));
        free_all({x, out});
    }
}

TEST_F(Gone, EachUseOfAStreamIsDoneBeforeItsEndOrGetsACode) {
    const AddOne kernel;
    for (int round = 0; round < 10; ++round) {
        void *x = filled(counted(1)), *out = filled(Words(kCount)), *stream = nullptr;
        Words words(kCount);
        ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
        const auto record = [&] {
            void* event = nullptr;
            EXPECT_EQ(hipEventCreate(&event), hipSuccess);
            const int code = hipEventRecord(event, stream);
            EXPECT_EQ(hipEventDestroy(event), hipSuccess);
            return code;
        };
        const auto take = [&] {
            void* memory = nullptr;
            const int code = hipMallocAsync(&memory, kBytes, stream);
            return code == hipSuccess ? hipFree(memory) : code;
        };
        const auto ask = [&] {
            unsigned flags = 0;
            int device = -1;
            const int code = hipStreamGetFlags(stream, &flags);
            return code == hipSuccess ? hipStreamGetDevice(stream, &device) : code;
        };
        race({{[&] { return launch(kernel.function, out, x, stream); },
               {hipErrorInvalidValue, hipErrorContextIsDestroyed}},
              {[&] { return hipMemcpyAsync(words.data(), x, kBytes, 2, stream); }, {hipErrorContextIsDestroyed}},
              {[&] { return hipStreamSynchronize(stream); }, {hipErrorContextIsDestroyed}},
              {[&] { return hipStreamQuery(stream); }, {hipErrorContextIsDestroyed}},
              {record, {hipErrorContextIsDestroyed}},
              {take, {hipErrorInvalidHandle}},
              {ask, {hipErrorContextIsDestroyed}}},
             [&] { return hipStreamDestroy(stream); });
        EXPECT_EQ(read(out), counted(2));
        EXPECT_EQ(words, counted(1));
        free_all({x, out});
    }
}

TEST_F(Gone, EachUseOfAStreamThatRecordsIsInTheGraphOrGetsACode) {
    const AddOne kernel;
    for (int round = 0; round < 10; ++round) {
        void *x = filled(counted(1)), *out = filled(Words(kCount)), *stream = nullptr;
        ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
        ASSERT_EQ(hipStreamBeginCapture(stream, 2), hipSuccess);  // hipStreamCaptureModeRelaxed
        race({{[&] { return launch(kernel.function, out, x, stream); },
               {hipErrorInvalidValue, hipErrorContextIsDestroyed}},
              {[&] { return hipMemsetAsync(x, 0, kBytes, stream); }, {hipErrorContextIsDestroyed}},
              {[&] {
                   int status = 0;
                   return hipStreamIsCapturing(stream, &status);
               },
               {hipErrorContextIsDestroyed}}},
             [&] { return hipStreamDestroy(stream); });
        EXPECT_EQ(hipDeviceSynchronize(), hipSuccess) << "nothing records any more";
        free_all({x, out});
    }
}

TEST_F(Gone, EachUseOfAnEventIsDoneBeforeItsEndOrGetsACode) {
    for (int round = 0; round < 10; ++round) {
        void *event = nullptr, *other = nullptr;
        float ms = 0;
        ASSERT_EQ(hipEventCreate(&event), hipSuccess);
        ASSERT_EQ(hipEventCreate(&other), hipSuccess);
        for (void* one : {event, other}) ASSERT_EQ(hipEventRecord(one, nullptr), hipSuccess);
        race({{[&] { return hipEventRecord(event, per_thread_stream()); }, {hipErrorInvalidHandle}},
              {[&] { return hipEventRecord(event, nullptr); }, {hipErrorInvalidHandle}},
              {[&] { return hipEventQuery(event); }, {hipErrorInvalidHandle}},
              {[&] { return hipEventSynchronize(event); }, {hipErrorInvalidHandle}},
              {[&] { return hipStreamWaitEvent(per_thread_stream(), event, 0); }, {hipErrorInvalidHandle}},
              {[&] { return hipEventElapsedTime(&ms, other, event); }, {hipErrorInvalidHandle}}},
             [&] { return hipEventDestroy(event); });
        EXPECT_EQ(hipEventDestroy(other), hipSuccess);
    }
}

}  // namespace
}  // namespace strata::hip::library
