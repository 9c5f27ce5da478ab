// Nodes that take memory and give it back: when it may be used, what frees it, and what is counted.
#include <cstring>
#include <vector>

#include "fixture.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

enum { used_now, used_most, reserved_now, reserved_most };

class GraphMemoryNodes : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
        uint64_t none = 0;
        EXPECT_EQ(hipDeviceSetGraphMemAttribute(0, used_most, &none), hipSuccess);
    }
    void TearDown() override {
        if (graph_) EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
        EXPECT_EQ(counts(used_now), 0u);
    }
    static AllocationParameters wanted(size_t bytes = kBytes) {
        AllocationParameters out{};
        out.pool.kind = 1, out.pool.location_kind = 1, out.bytes = bytes;
        return out;
    }
    static uint64_t counts(int attribute) {
        uint64_t out = 99;
        EXPECT_EQ(hipDeviceGetGraphMemAttribute(0, attribute, &out), hipSuccess);
        return out;
    }
    /// Nodes that take memory and fill it with fives.
    void* take_and_fill() {
        AllocationParameters p = wanted();
        EXPECT_EQ(hipGraphAddMemAllocNode(&taking_, graph_, nullptr, 0, &p), hipSuccess);
        const FillParameters fill{p.memory, 4, 1, 0, 5, kCount};
        EXPECT_EQ(hipGraphAddMemsetNode(&filling_, graph_, &taking_, 1, &fill), hipSuccess);
        return p.memory;
    }
    void* make_ready(unsigned long long flags = 0) {
        void* out = nullptr;
        EXPECT_EQ(hipGraphInstantiateWithFlags(&out, graph_, flags), hipSuccess);
        return out;
    }
    void *graph_ = nullptr, *taking_ = nullptr, *filling_ = nullptr;
};

TEST_F(GraphMemoryNodes, TakeMemoryAtALaunchWhichAnyFreeGivesBack) {
    void* const memory = take_and_fill();
    void* const ready = make_ready();
    EXPECT_EQ(counts(used_now) + counts(used_most), 0u) << "before the launch";
    EXPECT_EQ(hipFree(memory), hipErrorInvalidValue) << "nothing took it";
    for (int (*give_back)(void*) :
         {+[](void* own) { return hipFree(own); }, +[](void* own) { return hipFreeAsync(own, nullptr); }}) {
        EXPECT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
        EXPECT_EQ(read(memory), Words(kCount, 5));
        EXPECT_EQ(counts(used_now), kBytes);
        EXPECT_EQ(counts(reserved_now), kBytes);
        EXPECT_EQ(hipGraphLaunch(ready, nullptr), hipErrorInvalidValue) << "it is taken";
        EXPECT_EQ(give_back(memory), hipSuccess);
        EXPECT_EQ(give_back(memory), hipErrorInvalidValue) << "twice";
        EXPECT_EQ(counts(used_now), 0u);
        EXPECT_EQ(counts(reserved_most), kBytes);
    }
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_TRUE(block_of(memory)) << "the graph names it";
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    EXPECT_FALSE(block_of(memory)) << "nothing does";
    graph_ = nullptr;
}

TEST_F(GraphMemoryNodes, KeepMemoryThatOutlivesThem) {
    void* const memory = take_and_fill();
    void* const ready = make_ready();
    EXPECT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    graph_ = nullptr;
    EXPECT_EQ(read(memory), Words(kCount, 5));
    EXPECT_EQ(hipFree(memory), hipSuccess);
    EXPECT_FALSE(block_of(memory));
}

TEST_F(GraphMemoryNodes, GiveBackWhatTheSameOrAnotherGraphTook) {
    void* const memory = take_and_fill();
    void *other = nullptr, *giving = nullptr, *told = nullptr;
    ASSERT_EQ(hipGraphCreate(&other, 0), hipSuccess);
    EXPECT_EQ(hipGraphAddMemFreeNode(&giving, other, nullptr, 0, memory), hipSuccess);
    EXPECT_EQ(hipGraphMemFreeNodeGetParams(giving, &told), hipSuccess);
    EXPECT_EQ(told, memory);
    int type = 0;
    EXPECT_EQ(hipGraphNodeGetType(giving, &type), hipSuccess);
    EXPECT_EQ(type, 11);  // hipGraphNodeTypeMemFree since HIP 6
    EXPECT_EQ(hipGraphNodeGetType(taking_, &type), hipSuccess);
    EXPECT_EQ(type, 10);
    void *takes = make_ready(), *gives = nullptr;
    ASSERT_EQ(hipGraphInstantiateWithFlags(&gives, other, 0), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(gives, nullptr), hipErrorInvalidValue) << "nothing took it";
    EXPECT_EQ(hipGraphLaunch(takes, nullptr), hipSuccess);
    EXPECT_EQ(read(memory), Words(kCount, 5));
    EXPECT_EQ(hipGraphLaunch(gives, nullptr), hipSuccess);
    EXPECT_EQ(counts(used_now), 0u);
    EXPECT_EQ(hipGraphExecDestroy(takes), hipSuccess);
    EXPECT_EQ(hipGraphAddMemFreeNode(&giving, graph_, &filling_, 1, memory), hipSuccess);
    EXPECT_EQ(hipGraphAddMemFreeNode(&giving, graph_, &filling_, 1, memory), hipErrorInvalidValue) << "twice";
    takes = make_ready();
    EXPECT_EQ(hipGraphLaunch(takes, nullptr), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(takes, nullptr), hipSuccess) << "it was given back";
    for (void* ready : {takes, gives}) EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(other), hipSuccess);
}

TEST_F(GraphMemoryNodes, GiveBackBeforeTheNextLaunchIfItIsAskedFor) {
    void* const memory = take_and_fill();
    void* const ready = make_ready(1);  // hipGraphInstantiateFlagAutoFreeOnLaunch
    for (int launch = 0; launch < 3; ++launch) EXPECT_EQ(hipGraphLaunch(ready, nullptr), hipSuccess);
    EXPECT_EQ(counts(used_now), kBytes);
    EXPECT_EQ(counts(used_most), kBytes);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipFree(memory), hipSuccess);
}

TEST_F(GraphMemoryNodes, AreMadeReadyOnceAtATimeAndKeepTheirMemory) {
    (void)take_and_fill();
    void *ready = make_ready(), *second = nullptr, *bad = nullptr;
    int result = 0;
    EXPECT_EQ(hipGraphInstantiateWithFlags(&second, graph_, 0), hipErrorNotSupported);
    EXPECT_EQ(hipGraphExecUpdate(ready, graph_, &bad, &result), hipSuccess) << "of the same memory";
    EXPECT_EQ(hipGraphDestroyNode(taking_), hipErrorNotSupported);
    EXPECT_EQ(hipGraphClone(&second, graph_), hipErrorNotSupported);
    EXPECT_EQ(hipGraphDestroyNode(filling_), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
    ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
    (void)take_and_fill();
    EXPECT_EQ(hipGraphExecUpdate(ready, graph_, &bad, &result), hipErrorGraphExecUpdateFailure) << "of other memory";
    EXPECT_TRUE(result == 5 && bad == taking_);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    ready = make_ready();
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
}

TEST_F(GraphMemoryNodes, AreRecordedByStreams) {
    void *stream = nullptr, *memory = nullptr, *graph = nullptr, *ready = nullptr, *own = filled(Words(kCount));
    ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
    ASSERT_EQ(hipStreamBeginCapture(stream, 0), hipSuccess);
    EXPECT_EQ(hipMallocAsync(&memory, kBytes, stream), hipSuccess);
    EXPECT_EQ(hipMemsetD32Async(memory, 7, kCount, stream), hipSuccess);
    EXPECT_EQ(hipMemcpyDtoDAsync(own, memory, kBytes, stream), hipSuccess);
    EXPECT_EQ(hipFreeAsync(own, stream), hipErrorInvalidValue) << "no memory of a graph";
    EXPECT_EQ(hipFreeAsync(memory, stream), hipSuccess);
    ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
    size_t nodes = 0;
    EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &nodes), hipSuccess);
    EXPECT_EQ(nodes, 4u);
    ASSERT_EQ(hipGraphInstantiateWithFlags(&ready, graph, 0), hipSuccess);
    EXPECT_EQ(read(own), Words(kCount)) << "nothing ran yet";
    EXPECT_EQ(hipGraphLaunch(ready, stream), hipSuccess);
    EXPECT_EQ(read(own), Words(kCount, 7));
    EXPECT_EQ(counts(used_most), kBytes);
    EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
    free_all({own});
}

TEST_F(GraphMemoryNodes, TellTheirParametersAndRefuseOthers) {
    AccessDescription access{{1, 0}, 3};
    AllocationParameters p = wanted(), told{};
    p.access = &access, p.access_count = 1;
    ASSERT_EQ(hipGraphAddMemAllocNode(&taking_, graph_, nullptr, 0, &p), hipSuccess);
    EXPECT_EQ(hipGraphMemAllocNodeGetParams(taking_, &told), hipSuccess);
    EXPECT_TRUE(told.memory == p.memory && told.bytes == kBytes && told.pool.kind == 1 && told.access_count == 1);
    EXPECT_EQ(std::memcmp(&told, &p, sizeof p), 0) << "with the program's own descriptions";
    void* node = nullptr;
    EXPECT_EQ(hipGraphMemAllocNodeGetParams(taking_, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemFreeNodeGetParams(taking_, &node), hipErrorInvalidValue) << "it takes";
    EXPECT_EQ(hipGraphMemAllocNodeGetParams(nullptr, &told), hipErrorInvalidValue);
    const auto add = [&](const AllocationParameters& wanted) {
        AllocationParameters own = wanted;
        return hipGraphAddMemAllocNode(&node, graph_, nullptr, 0, &own);
    };
    EXPECT_EQ(hipGraphAddMemAllocNode(nullptr, graph_, nullptr, 0, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemAllocNode(&node, nullptr, nullptr, 0, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemAllocNode(&node, graph_, nullptr, 2, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemAllocNode(&node, graph_, nullptr, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(add(wanted(0)), hipErrorInvalidValue);
    EXPECT_EQ(add(wanted(~size_t{0})), hipErrorOutOfMemory);
    AllocationParameters bad = wanted();
    bad.pool.kind = 0;
    EXPECT_EQ(add(bad), hipErrorInvalidValue);
    bad = wanted(), bad.pool.location_kind = 0;
    EXPECT_EQ(add(bad), hipErrorInvalidValue);
    bad = wanted(), bad.pool.device = 99;
    EXPECT_EQ(add(bad), hipErrorInvalidValue);
    bad = p, bad.access_count = 99;
    EXPECT_EQ(add(bad), hipErrorInvalidValue) << "more than there are devices";
    access.access = 2;
    EXPECT_EQ(add(p), hipErrorInvalidValue);
    void* const own = filled(Words(kCount));
    EXPECT_EQ(hipGraphAddMemFreeNode(&node, graph_, &taking_, 1, own), hipErrorInvalidValue) << "no memory of a graph";
    EXPECT_EQ(hipGraphAddMemFreeNode(&node, graph_, &taking_, 1, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemFreeNode(nullptr, graph_, nullptr, 0, p.memory), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemFreeNode(&node, nullptr, nullptr, 0, p.memory), hipErrorInvalidValue);
    free_all({own});
}

TEST_F(GraphMemoryNodes, AreCountedByDevice) {
    uint64_t value = 1;
    EXPECT_EQ(hipDeviceSetGraphMemAttribute(0, used_most, &value), hipErrorInvalidValue) << "only back to zero";
    value = 0;
    EXPECT_EQ(hipDeviceSetGraphMemAttribute(0, used_now, &value), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceSetGraphMemAttribute(0, reserved_most, &value), hipSuccess);
    EXPECT_EQ(hipDeviceSetGraphMemAttribute(0, reserved_most, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceSetGraphMemAttribute(99, reserved_most, &value), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceGetGraphMemAttribute(0, 7, &value), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetGraphMemAttribute(0, used_now, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetGraphMemAttribute(99, used_now, &value), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceGraphMemTrim(0), hipSuccess);
    EXPECT_EQ(hipDeviceGraphMemTrim(99), hipErrorInvalidDevice);
}

}  // namespace
}  // namespace strata::hip::library
