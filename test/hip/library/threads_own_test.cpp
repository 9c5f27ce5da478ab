// Threads that use objects of their own at once, of every kind: graphs, captures, arrays, textures, pools, addresses,
// variables.
#include <atomic>
#include <functional>
#include <thread>

#include "fixture.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {
namespace {

constexpr int kToDevice = 1, kToHost = 2, kOfThread = 1;

class OwnObjects : public Library {
  protected:
    struct Wrapper {
        uint32_t magic = 0x48495046, version = 1;
        const void* image = nullptr;
        const void* unused = nullptr;
    };
    void SetUp() override {
        Library::SetUp();
        wrapper.image = code.data();
        binary = __hipRegisterFatBinary(&wrapper);
        __hipRegisterFunction(binary, &host, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
        __hipRegisterVar(binary, &variable, nullptr, "numbers", 0, 16, 0, 0);
    }
    void TearDown() override { __hipUnregisterFatBinary(binary); }

    /// Calls body(stream, number) in eight threads at once, each with a stream of its own.
    static void in_threads(const std::function<void(void*, uint32_t)>& body) {
        std::vector<std::thread> all;
        for (uint32_t t = 0; t < 8; ++t)
            all.emplace_back([&, t] {
                void* stream = nullptr;
                ASSERT_EQ(hipStreamCreateWithFlags(&stream, 1), hipSuccess);
                for (uint32_t turn = 0; turn < 10; ++turn) body(stream, t * 100 + turn);
                EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
            });
        for (std::thread& thread : all) thread.join();
    }
    static Words run(void* ready, void* stream, Words& out) {
        EXPECT_EQ(hipGraphLaunch(ready, stream), hipSuccess);
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        return out;
    }
    const isa::Bytes code = add_one_code();
    Wrapper wrapper;
    void** binary = nullptr;
    const char host = 0;  ///< stands for add_one
    char variable = 0;    ///< for its numbers
};

TEST_F(OwnObjects, GraphsAreBuiltChangedAndRun) {
    in_threads([&](void* stream, uint32_t number) {
        const Words in = counted(number), other = counted(number + 7);
        Words result(kCount);
        void *x = filled(Words(kCount)), *out = filled(Words(kCount)), *arguments[] = {&out, &x};
        void *graph = nullptr, *first = nullptr, *kernel = nullptr, *last = nullptr, *ready = nullptr, *copy = nullptr;
        const KernelParameters launch{{kCount, 1, 1}, nullptr, &host, {1, 1, 1}, arguments, 0};
        ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
        ASSERT_EQ(hipGraphAddMemcpyNode1D(&first, graph, nullptr, 0, x, in.data(), kBytes, kToDevice), hipSuccess);
        ASSERT_EQ(hipGraphAddKernelNode(&kernel, graph, &first, 1, &launch), hipSuccess);
        ASSERT_EQ(hipGraphAddMemcpyNode1D(&last, graph, nullptr, 0, result.data(), out, kBytes, kToHost), hipSuccess);
        ASSERT_EQ(hipGraphAddDependencies(graph, &kernel, &last, 1), hipSuccess);
        ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
        EXPECT_EQ(run(ready, stream, result), counted(number + 1));
        EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(ready, first, x, other.data(), kBytes, kToDevice), hipSuccess);
        EXPECT_EQ(run(ready, stream, result), counted(number + 8));
        size_t count = 0;
        EXPECT_EQ(hipGraphClone(&copy, graph), hipSuccess);
        EXPECT_EQ(hipGraphGetNodes(copy, nullptr, &count), hipSuccess);
        EXPECT_EQ(count, 3u);
        EXPECT_EQ(hipGraphDestroyNode(last), hipSuccess);
        for (void* one : {copy, graph}) EXPECT_EQ(hipGraphDestroy(one), hipSuccess);
        EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
        free_all({x, out});
    });
}

TEST_F(OwnObjects, StreamsRecordAndRunWhatTheyRecorded) {
    in_threads([&](void* stream, uint32_t number) {
        const Words in = counted(number);
        Words result(kCount);
        void *x = filled(Words(kCount)), *out = filled(Words(kCount)), *arguments[] = {&out, &x};
        void *graph = nullptr, *ready = nullptr, *event = nullptr;
        int status = 0;
        ASSERT_EQ(hipEventCreate(&event), hipSuccess);
        ASSERT_EQ(hipStreamBeginCapture(stream, kOfThread), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(x, in.data(), kBytes, kToDevice, stream), hipSuccess);
        EXPECT_EQ(hipLaunchKernel(&host, {1, 1, 1}, {kCount, 1, 1}, arguments, 0, stream), hipSuccess);
        EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
        EXPECT_EQ(hipStreamWaitEvent(stream, event, 0), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(result.data(), out, kBytes, kToHost, stream), hipSuccess);
        EXPECT_EQ(hipStreamIsCapturing(stream, &status), hipSuccess);
        EXPECT_EQ(status, 1);
        ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
        ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
        EXPECT_EQ(run(ready, stream, result), counted(number + 1));
        EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
        EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
        EXPECT_EQ(hipEventDestroy(event), hipSuccess);
        free_all({x, out});
    });
}

TEST_F(OwnObjects, ArraysAndTexturesHoldWhatTheirThreadWrote) {
    in_threads([&](void*, uint32_t number) {
        const ChannelFormat words{32, 0, 0, 0, 1};
        const Words in = counted(number, 16);
        Words out(16);
        void *array = nullptr, *texture = nullptr, *surface = nullptr;
        ASSERT_EQ(hipMallocArray(&array, &words, 4, 4, 2), hipSuccess);
        EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, in.data(), 16, 16, 4, kToDevice), hipSuccess);
        ResourceDescription resource{}, told{};
        resource.kind = kOfArray;
        resource.array = array;
        const TextureDescription sampling{};
        EXPECT_EQ(hipCreateTextureObject(&texture, &resource, &sampling, nullptr), hipSuccess);
        EXPECT_EQ(_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(&surface, &resource), hipSuccess);
        EXPECT_EQ(hipGetTextureObjectResourceDesc(&told, texture), hipSuccess);
        EXPECT_EQ(told.array, array);
        EXPECT_EQ(hipMemcpy2DFromArray(out.data(), 16, array, 0, 0, 16, 4, kToHost), hipSuccess);
        EXPECT_EQ(out, in);
        EXPECT_EQ(_Z23hipDestroySurfaceObjectP13__hip_surface(surface), hipSuccess);
        EXPECT_EQ(hipDestroyTextureObject(texture), hipSuccess);
        EXPECT_EQ(hipFreeArray(array), hipSuccess);
    });
}

TEST_F(OwnObjects, PoolsAddressesAndRegisteredMemoryAreTheirThreads) {
    in_threads([&](void* stream, uint32_t number) {
        constexpr size_t kPart = 2 << 20;
        PoolProperties wanted{1, 0, 1, 0, nullptr, {}};
        const AllocationProperties physical{1, 0, {1, 0}, nullptr, 0, 0, 0};
        const AccessDescription access{{1, 0}, 3};
        Words words = counted(number), out(kCount);
        void *pool = nullptr, *memory = nullptr, *range = nullptr, *handle = nullptr;
        ASSERT_EQ(hipMemPoolCreate(&pool, &wanted), hipSuccess);
        ASSERT_EQ(hipMallocFromPoolAsync(&memory, kBytes, pool, stream), hipSuccess);
        ASSERT_EQ(hipMemAddressReserve(&range, kPart, 0, nullptr, 0), hipSuccess);
        ASSERT_EQ(hipMemCreate(&handle, kPart, &physical, 0), hipSuccess);
        EXPECT_EQ(hipMemMap(range, kPart, 0, handle, 0), hipSuccess);
        EXPECT_EQ(hipMemSetAccess(range, kPart, &access, 1), hipSuccess);
        EXPECT_EQ(hipHostRegister(words.data(), kBytes, 0), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(memory, words.data(), kBytes, kToDevice, stream), hipSuccess);
        EXPECT_EQ(hipMemcpyDtoDAsync(range, memory, kBytes, stream), hipSuccess);
        EXPECT_EQ(hipMemcpyAsync(out.data(), range, kBytes, kToHost, stream), hipSuccess);
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        EXPECT_EQ(out, words);
        EXPECT_EQ(hipHostUnregister(words.data()), hipSuccess);
        EXPECT_EQ(hipFreeAsync(memory, stream), hipSuccess);
        EXPECT_EQ(hipMemPoolDestroy(pool), hipSuccess);
        EXPECT_EQ(hipMemUnmap(range, kPart), hipSuccess);
        EXPECT_EQ(hipMemRelease(handle), hipSuccess);
        EXPECT_EQ(hipMemAddressFree(range, kPart), hipSuccess);
    });
}

TEST_F(OwnObjects, OneThreadsCallsOfTheHostSeeItsOwnValues) {
    std::atomic<int> called = 0, destroyed = 0;
    in_threads([&](void* stream, uint32_t number) {
        void *word = nullptr, *object = nullptr, *graph = nullptr, *start = nullptr, *stop = nullptr;
        Words numbers(4);
        float ms = -1;
        const auto count = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
        ASSERT_EQ(hipHostMalloc(&word, 64, 0), hipSuccess);
        ASSERT_EQ(hipEventCreate(&start), hipSuccess);
        ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
        ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
        ASSERT_EQ(hipUserObjectCreate(&object, &destroyed, count, 1, 1), hipSuccess);
        EXPECT_EQ(hipGraphRetainUserObject(graph, object, 1, 1), hipSuccess);
        EXPECT_EQ(hipEventRecord(start, stream), hipSuccess);
        EXPECT_EQ(hipStreamWriteValue32(stream, word, number, 0), hipSuccess);
        EXPECT_EQ(hipStreamWaitValue32(stream, word, number, 1, ~0u), hipSuccess);
        EXPECT_EQ(hipLaunchHostFunc(stream, count, &called), hipSuccess);
        EXPECT_EQ(hipMemcpyFromSymbolAsync(numbers.data(), &variable, 16, 0, kToHost, stream), hipSuccess);
        EXPECT_EQ(hipEventRecord(stop, stream), hipSuccess);
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        EXPECT_EQ(numbers, counted(1, 4));
        EXPECT_EQ(*static_cast<uint32_t*>(word), number);
        EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipSuccess);
        EXPECT_GE(ms, 0);
        EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
        for (void* event : {start, stop}) EXPECT_EQ(hipEventDestroy(event), hipSuccess);
        EXPECT_EQ(hipHostFree(word), hipSuccess);
    });
    EXPECT_EQ(called, 80);
    EXPECT_EQ(destroyed, 80);
}

}  // namespace
}  // namespace strata::hip::library
