// Streams, events and captures: their order, their times by the model, what threads do at once.
#include <algorithm>
#include <bit>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.h"

namespace strata::hip::library {
namespace {

class Streams : public Library {};

TEST_F(Streams, TellWhatTheyWereMadeWith) {
    void* stream = nullptr;
    int value = 99, device = -1;
    unsigned flags = 0;
    const uint32_t mask = 1;
    EXPECT_EQ(hipStreamCreateWithPriority(&stream, 1, -5), hipSuccess);
    EXPECT_EQ(hipStreamGetPriority(stream, &value), hipSuccess);
    EXPECT_EQ(value, -1) << "as high as there is";
    EXPECT_EQ(hipStreamGetFlags(stream, &flags), hipSuccess);
    EXPECT_EQ(flags, 1u);
    EXPECT_EQ(hipStreamGetFlags(nullptr, &flags), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamGetDevice(stream, &device), hipSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(hipGetStreamDeviceId(stream), 0);
    EXPECT_EQ(hipGetStreamDeviceId(&flags), -1);
    EXPECT_EQ(hipStreamGetPriority(stream, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamGetDevice(&flags, &device), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipStreamCreateWithPriority(&stream, 2, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipExtStreamCreateWithCUMask(&stream, 1, &mask), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    EXPECT_EQ(hipExtStreamCreateWithCUMask(&stream, 0, nullptr), hipErrorInvalidValue);
}

TEST_F(Streams, CopiesTakeAsLongAsTheLinkOfTheCard) {
    constexpr size_t kBytes = 63'015'385;  // 2 ms over 16 lanes of 16 GT/s, 128 bits of 130
    void *start = nullptr, *stop = nullptr, *memory = nullptr;
    const std::vector<char> host(kBytes);
    ASSERT_EQ(hipMalloc(&memory, kBytes), hipSuccess);
    ASSERT_EQ(hipEventCreate(&start), hipSuccess);
    ASSERT_EQ(hipEventCreate(&stop), hipSuccess);
    float ms = 0;
    EXPECT_EQ(hipEventRecordWithFlags(start, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipMemcpyAsync(memory, host.data(), kBytes, 1, nullptr), hipSuccess);
    EXPECT_EQ(hipEventRecordWithFlags(stop, nullptr, 1), hipSuccess);
    EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipSuccess);
    EXPECT_NEAR(ms, 2.007, 1e-5) << "with the way there and back";
    EXPECT_EQ(hipEventRecordWithFlags(stop, nullptr, 2), hipErrorInvalidValue);
    EXPECT_EQ(hipEventCreateWithFlags(&start, 4), hipErrorInvalidValue) << "between processes, with times";
    EXPECT_EQ(hipEventDestroy(stop), hipSuccess);
    free_all({memory});
}

class ModelledTimes : public Library {
  protected:
    static constexpr size_t kMiB = 1 << 20;
    /// Microseconds of work between two events on the null stream of the current device.
    template <class Work>
    static double us(Work&& work) {
        void *start = nullptr, *stop = nullptr, *memory = nullptr;
        EXPECT_EQ(hipMalloc(&memory, 4 * kMiB), hipSuccess);
        EXPECT_EQ(hipEventCreate(&start), hipSuccess);
        EXPECT_EQ(hipEventCreate(&stop), hipSuccess);
        EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
        EXPECT_EQ(hipEventRecord(start, nullptr), hipSuccess);
        work(memory);
        EXPECT_EQ(hipEventRecord(stop, nullptr), hipSuccess);
        float ms = 0;
        EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipSuccess);
        for (void* event : {start, stop}) EXPECT_EQ(hipEventDestroy(event), hipSuccess);
        free_all({memory});
        return 1000.0 * ms;
    }
    static void fill(void* memory) { EXPECT_EQ(hipMemsetAsync(memory, 0, 4, nullptr), hipSuccess); }
    static void wait() { EXPECT_EQ(hipDeviceSynchronize(), hipSuccess); }
    static double us_of_copy(const void* from, size_t bytes, int times = 1) {
        return us([&](void* memory) {
            for (int i = 0; i < times; ++i) EXPECT_EQ(hipMemcpy(memory, from, bytes, 1), hipSuccess);
        });
    }
};

TEST_F(ModelledTimes, LaunchesFromAFullQueueFollowAtTheCardsInterval) {
    int count = 0;
    ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
    bool differ = false;
    for (int number = 0; number < count; ++number) {
        ASSERT_EQ(hipSetDevice(number), hipSuccess);
        const DeviceProperties& device = query(current());
        differ |= device.next_launch_us < device.launch_us;
        for (int launches : {1, 2, 17}) {
            const double time = us([&](void* memory) {
                for (int i = 0; i < launches; ++i) fill(memory);
            });
            EXPECT_NEAR(time, device.launch_us + (launches - 1) * device.next_launch_us, 1e-3 * launches)
                << device.arch << ", " << launches;
        }
    }
    EXPECT_TRUE(differ);
}

TEST_F(ModelledTimes, AHostThatWaitsIsWokenAndFindsTheQueueEmpty) {
    const double one = us([&](void* memory) { fill(memory); }),
                 waited = us([&](void* memory) { fill(memory), wait(); });
    EXPECT_GT(waited, one + 5);
    EXPECT_NEAR(us([&](void* memory) { fill(memory), wait(), wait(); }), waited, 1e-3) << "nothing to wait for";
    EXPECT_NEAR(us([&](void* memory) { fill(memory), wait(), fill(memory); }), waited + one, 1e-3)
        << "a launch from an empty queue again";
}

TEST_F(ModelledTimes, CopiesOverTheLinkPayTheWayAndPageableOnesAreStaged) {
    const std::vector<char> pageable(4 * kMiB);
    void* pinned = nullptr;
    ASSERT_EQ(hipHostMalloc(&pinned, 4 * kMiB, 0), hipSuccess);
    const double way = us_of_copy(pinned, 4);
    EXPECT_GT(way, 5) << "four bytes by the rate of the link are nothing";
    EXPECT_NEAR(us_of_copy(pinned, 4, 2), 2 * way, 1e-3);
    for (size_t bytes : {kMiB / 2, kMiB})
        EXPECT_GT(us_of_copy(pageable.data(), bytes), 2 * us_of_copy(pinned, bytes)) << bytes;
    EXPECT_NEAR(us_of_copy(pageable.data(), 4 * kMiB), us_of_copy(pinned, 4 * kMiB), 1e-3);
    EXPECT_EQ(hipHostFree(pinned), hipSuccess);
}

TEST_F(Streams, OfThreadsEndWithThem) {
    for (int i = 0; i < 3; ++i)
        std::thread([] { EXPECT_EQ(hipStreamSynchronize(reinterpret_cast<void*>(2)), hipSuccess); }).join();
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST_F(Streams, ThreadsShareEventsAndMemory) {
    void *event = nullptr, *memory = filled(counted(0));
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                void* own = nullptr;
                EXPECT_EQ(hipMalloc(&own, kCount * 4), hipSuccess);
                EXPECT_EQ(hipMemcpyDtoD(own, memory, kCount * 4), hipSuccess);
                EXPECT_EQ(hipEventRecord(event, nullptr), hipSuccess);
                EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
                EXPECT_EQ(hipEventQuery(event), hipSuccess);
                EXPECT_EQ(read(own), counted(0));
                EXPECT_EQ(hipFree(own), hipSuccess);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    free_all({memory});
}

class Captures : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        memory_ = filled(counted(0));
        ASSERT_EQ(hipStreamCreate(&stream_), hipSuccess);
        ASSERT_EQ(hipStreamBeginCapture(stream_, 0), hipSuccess);
    }
    void TearDown() override {
        if (stream_) EXPECT_EQ(hipStreamDestroy(stream_), hipSuccess);
        free_all({memory_});
    }
    int status() const {
        int out = -1;
        EXPECT_EQ(hipStreamIsCapturing(stream_, &out), hipSuccess);
        return out;
    }
    void *memory_ = nullptr, *stream_ = nullptr, *graph_ = nullptr;
};

TEST_F(Captures, AreLostByACallThatCannotBeRecorded) {
    EXPECT_EQ(status(), 1);
    int state = 0;
    unsigned long long id = 0, again = 0;
    EXPECT_EQ(hipStreamGetCaptureInfo(stream_, &state, &id), hipSuccess);
    EXPECT_NE(id, 0u);
    EXPECT_EQ(hipStreamGetCaptureInfo(stream_, &state, &again), hipSuccess);
    EXPECT_EQ(id, again);
    EXPECT_EQ(hipStreamGetCaptureInfo(stream_, nullptr, &id), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamGetCaptureInfo(nullptr, &state, &id), hipErrorStreamCaptureImplicit)
        << "it orders itself with it";
    EXPECT_EQ(hipStreamIsCapturing(nullptr, &state), hipErrorStreamCaptureImplicit);
    EXPECT_EQ(status(), 1) << "which is not lost by the question";
    EXPECT_EQ(hipStreamSynchronize(stream_), hipErrorStreamCaptureUnsupported);
    EXPECT_EQ(status(), 2);
    EXPECT_EQ(hipMemsetAsync(memory_, 0, 4, stream_), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph_), hipErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph_, nullptr);
    EXPECT_EQ(status(), 0);
}

TEST_F(Captures, TellTheirGraphAndWhatTheNextNodeComesAfter) {
    int state = 0;
    unsigned long long id = 0, same = 0;
    void *graph = nullptr, *own = nullptr;
    void* const* nodes = nullptr;
    size_t count = 9;
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, &state, &id, &graph, &nodes, &count), hipSuccess);
    EXPECT_EQ(state, 1);
    EXPECT_EQ(count, 0u);
    EXPECT_EQ(hipStreamGetCaptureInfo(stream_, &state, &same), hipSuccess);
    EXPECT_EQ(id, same);
    ASSERT_EQ(hipMemsetAsync(memory_, 1, 4, stream_), hipSuccess);
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, &state, nullptr, nullptr, &nodes, &count), hipSuccess);
    ASSERT_EQ(count, 1u);
    void* const fill = nodes[0];
    int type = -1;
    EXPECT_EQ(hipGraphNodeGetType(fill, &type), hipSuccess) << "the graph is there while it is recorded";
    EXPECT_EQ(hipGraphDestroyNode(fill), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDestroy(graph), hipErrorIllegalState);

    ASSERT_EQ(hipGraphAddEmptyNode(&own, graph, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, &own, 1, 0), hipSuccess);
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, &state, nullptr, nullptr, &nodes, &count), hipSuccess);
    EXPECT_EQ(std::vector<void*>(nodes, nodes + count), (std::vector<void*>{fill, own}));
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, &own, 1, 1), hipSuccess);
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, &state, nullptr, nullptr, &nodes, &count), hipSuccess);
    EXPECT_EQ(std::vector<void*>(nodes, nodes + count), (std::vector<void*>{own}));
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, &own, 1, 2), hipErrorInvalidValue) << "flags";
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, nullptr, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, &graph, 1, 0), hipErrorInvalidValue) << "no node of it";

    ASSERT_EQ(hipStreamEndCapture(stream_, &graph_), hipSuccess) << "what was taken from the tips is no lost end";
    EXPECT_EQ(graph_, graph);
    EXPECT_EQ(hipStreamUpdateCaptureDependencies(stream_, &own, 1, 0), hipErrorIllegalState);
    count = 9;
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, &state, nullptr, nullptr, nullptr, &count), hipSuccess);
    EXPECT_EQ(state, 0);
    EXPECT_EQ(count, 9u) << "nothing is reported of a stream that records nothing";
    EXPECT_EQ(hipStreamGetCaptureInfo_v2(stream_, nullptr, &id, &graph, &nodes, &count), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDestroyNode(own), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
}

TEST_F(Captures, GoOnInAGraphThatIsThere) {
    ASSERT_EQ(hipStreamEndCapture(stream_, &graph_), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    void *graph = nullptr, *first = nullptr, *ready = nullptr, *other = nullptr;
    ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
    ASSERT_EQ(hipGraphAddEmptyNode(&first, graph, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipStreamBeginCaptureToGraph(stream_, nullptr, nullptr, nullptr, 0, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamBeginCaptureToGraph(stream_, graph, nullptr, nullptr, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamBeginCaptureToGraph(stream_, graph, &graph, nullptr, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamBeginCaptureToGraph(stream_, graph, &first, &first, 1, 0), hipErrorNotSupported) << "edges";
    ASSERT_EQ(hipStreamBeginCaptureToGraph(stream_, graph, &first, nullptr, 1, 0), hipSuccess);
    ASSERT_EQ(hipStreamCreate(&other), hipSuccess);
    EXPECT_EQ(hipStreamBeginCaptureToGraph(other, graph, nullptr, nullptr, 0, 0), hipErrorIllegalState)
        << "one at a time";
    ASSERT_EQ(hipMemsetAsync(memory_, 0, 4, stream_), hipSuccess);
    ASSERT_EQ(hipStreamEndCapture(stream_, &graph_), hipSuccess);
    EXPECT_EQ(graph_, graph);
    size_t edges = 0;
    void *from = nullptr, *to = nullptr;
    ASSERT_EQ(hipGraphGetEdges(graph, nullptr, nullptr, &edges), hipSuccess);
    ASSERT_EQ(edges, 1u);
    ASSERT_EQ(hipGraphGetEdges(graph, &from, &to, &edges), hipSuccess);
    EXPECT_EQ(from, first);
    const Words marked{5};
    ASSERT_EQ(hipMemcpyHtoD(memory_, const_cast<uint32_t*>(marked.data()), 4), hipSuccess);
    ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
    ASSERT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(read(memory_, 2), (Words{0, 1}));
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(other), hipSuccess);
}

TEST_F(Captures, RefuseCallsThatCannotBeRecordedAsTheirModeSays) {
    void *memory = nullptr, *other = nullptr;
    ASSERT_EQ(hipStreamCreate(&other), hipSuccess);
    const auto refused = [&](int mode, bool same_thread) {
        std::vector<int> codes;
        const auto calls = [&] {
            codes = {hipMemset(memory_, 0, 4), hipStreamSynchronize(other), hipDeviceSynchronize(),
                     hipMalloc(&memory, 4)};
            if (codes.back() == hipSuccess) codes.back() = hipFree(memory);
        };
        (void)hipStreamEndCapture(stream_, &graph_);
        EXPECT_EQ(hipStreamBeginCapture(stream_, mode), hipSuccess);
        if (same_thread)
            calls();
        else
            std::thread(calls).join();
        const bool all = codes == std::vector<int>{hipErrorStreamCaptureImplicit, hipErrorStreamCaptureUnsupported,
                                                   hipErrorStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported};
        EXPECT_EQ(status(), all ? 2 : 1);
        EXPECT_TRUE(all || codes == std::vector<int>(4, hipSuccess));
        return all;
    };
    EXPECT_TRUE(refused(0, true));
    EXPECT_TRUE(refused(0, false));
    EXPECT_TRUE(refused(1, true));
    EXPECT_FALSE(refused(1, false)) << "another thread's";
    EXPECT_FALSE(refused(2, true)) << "relaxed";
    int mode = 2;
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
    EXPECT_FALSE(refused(0, true)) << "the thread is relaxed";
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph_), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(other), hipSuccess);
}

TEST_F(Captures, EndWithTheStream) {
    void *other = nullptr, *event = nullptr;
    ASSERT_EQ(hipStreamCreate(&other), hipSuccess);
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    EXPECT_EQ(hipEventRecord(event, stream_), hipSuccess);
    EXPECT_EQ(hipStreamWaitEvent(other, event, 0), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(std::exchange(stream_, nullptr)), hipSuccess) << "while two streams record";
    EXPECT_EQ(hipMemsetAsync(memory_, 0xff, 4, other), hipSuccess);
    EXPECT_EQ(read(memory_, 1), Words{~0u}) << "done, not recorded";
    EXPECT_EQ(hipStreamDestroy(other), hipSuccess);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
}

TEST_F(Captures, HaveAModeOfTheThread) {
    int mode = 2;
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
    EXPECT_EQ(mode, 0);
    mode = 0;
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipSuccess);
    EXPECT_EQ(mode, 2);
    mode = 3;
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(&mode), hipErrorInvalidValue);
    EXPECT_EQ(hipThreadExchangeStreamCaptureMode(nullptr), hipErrorInvalidValue);
    std::thread([&] { EXPECT_EQ(hipStreamEndCapture(stream_, &graph_), hipErrorStreamCaptureWrongThread); }).join();
    EXPECT_EQ(hipStreamEndCapture(stream_, &graph_), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
}

TEST_F(Streams, TellTheUnitsThatTheyWereMadeFor) {
    int units = 0;
    ASSERT_EQ(hipDeviceGetAttribute(&units, 63, 0), hipSuccess);  // hipDeviceAttributeMultiprocessorCount
    const auto needed = static_cast<uint32_t>(units + 31) / 32;
    std::vector<uint32_t> mask(needed + 1, 77), wanted(needed + 1, ~0u);
    const auto bits = [&] {
        int out = 0;
        for (const uint32_t word : mask) out += std::popcount(word);
        return out;
    };
    EXPECT_EQ(hipExtStreamGetCUMask(nullptr, needed + 1, mask.data()), hipSuccess);
    EXPECT_EQ(bits(), units);
    EXPECT_EQ(mask.back(), 0u);
    void* few = nullptr;
    wanted[0] = 0xc;
    ASSERT_EQ(hipExtStreamCreateWithCUMask(&few, needed + 1, wanted.data()), hipSuccess);
    EXPECT_EQ(hipExtStreamGetCUMask(few, needed, mask.data()), hipSuccess);
    EXPECT_EQ(mask[0], 0xcu);
    EXPECT_EQ(bits(), std::max(units - 32, 0) + 2) << "those that are not there are left out";
    EXPECT_EQ(hipExtStreamGetCUMask(few, needed, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipExtStreamGetCUMask(few, needed - 1, mask.data()), hipErrorInvalidValue);
    EXPECT_EQ(hipExtStreamGetCUMask(&few, needed, mask.data()), hipErrorInvalidHandle);
    EXPECT_EQ(hipStreamDestroy(few), hipSuccess);
    EXPECT_EQ(hipExtStreamCreateWithCUMask(&few, 0, wanted.data()), hipErrorInvalidValue);
    wanted.assign(needed, 0);
    ASSERT_EQ(hipExtStreamCreateWithCUMask(&few, needed, wanted.data()), hipSuccess);
    EXPECT_EQ(hipExtStreamGetCUMask(few, needed, mask.data()), hipSuccess);
    EXPECT_EQ(bits(), units) << "none means all";
    EXPECT_EQ(hipStreamDestroy(few), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
