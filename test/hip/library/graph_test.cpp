// Graphs made node by node: their edges, what nodes say they do, and changes of it, before and after instantiation.
#include <vector>

#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

class Graphs : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipGraphCreate(&graph_, 0), hipSuccess);
        a_ = filled(counted(1)), b_ = filled(Words(kCount)), c_ = filled(Words(kCount));
    }
    void TearDown() override {
        if (ready_) EXPECT_EQ(hipGraphExecDestroy(ready_), hipSuccess);
        EXPECT_EQ(hipGraphDestroy(graph_), hipSuccess);
        free_all({a_, b_, c_});
    }
    KernelParameters add_one(void** arguments) const {
        return {{kCount, 1, 1}, nullptr, &host_, {1, 1, 1}, arguments, 0};
    }
    FillParameters fill_of(void* to, unsigned value) const { return {to, 4, 1, 0, value, kCount}; }
    void* copy_node(void* to, void* from, std::vector<void*> after = {}) {
        void* node = nullptr;
        EXPECT_EQ(hipGraphAddMemcpyNode1D(&node, graph_, after.data(), after.size(), to, from, kCount * 4, 3),
                  hipSuccess);
        return node;
    }
    void* fill_node(void* to, unsigned value) {
        void* node = nullptr;
        const FillParameters p = fill_of(to, value);
        EXPECT_EQ(hipGraphAddMemsetNode(&node, graph_, nullptr, 0, &p), hipSuccess);
        return node;
    }
    void make_ready() { ASSERT_EQ(hipGraphInstantiateWithFlags(&ready_, graph_, 0), hipSuccess); }
    void launch() { EXPECT_EQ(hipGraphLaunch(ready_, nullptr), hipSuccess); }

    static std::vector<void*> list(int (*call)(void*, void**, size_t*), void* of) {
        size_t count = 0;
        EXPECT_EQ(call(of, nullptr, &count), hipSuccess);
        std::vector<void*> out(count + 2, of);
        count += 2;
        EXPECT_EQ(call(of, out.data(), &count), hipSuccess);
        EXPECT_TRUE(out[count] == nullptr && out[count + 1] == nullptr) << "there are no more";
        out.resize(count);
        return out;
    }

    const char host_ = 0;
    void *graph_ = nullptr, *ready_ = nullptr, *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

TEST_F(Graphs, EdgesAreToldAddedAndTaken) {
    void *one = copy_node(b_, a_), *two = copy_node(c_, b_, {one}), *three = nullptr;
    ASSERT_EQ(hipGraphAddEmptyNode(&three, graph_, nullptr, 0), hipSuccess);
    EXPECT_EQ(list(hipGraphGetNodes, graph_), (std::vector<void*>{one, two, three}));
    EXPECT_EQ(list(hipGraphGetRootNodes, graph_), (std::vector<void*>{one, three}));
    EXPECT_EQ(list(hipGraphNodeGetDependencies, two), std::vector<void*>{one});
    EXPECT_EQ(list(hipGraphNodeGetDependentNodes, one), std::vector<void*>{two});
    EXPECT_EQ(hipGraphAddDependencies(graph_, &two, &three, 1), hipSuccess);
    EXPECT_EQ(hipGraphAddDependencies(graph_, &two, &three, 1), hipErrorInvalidValue) << "there is one";
    EXPECT_EQ(hipGraphAddDependencies(graph_, &two, &two, 1), hipErrorInvalidValue) << "itself";
    void *from[2] = {}, *to[2] = {};
    size_t count = 0;
    EXPECT_EQ(hipGraphGetEdges(graph_, nullptr, nullptr, &count), hipSuccess);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(hipGraphGetEdges(graph_, from, to, &count), hipSuccess);
    EXPECT_TRUE(from[0] == one && to[0] == two && from[1] == two && to[1] == three);
    EXPECT_EQ(hipGraphGetEdges(graph_, from, nullptr, &count), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphRemoveDependencies(graph_, &one, &three, 1), hipErrorInvalidValue) << "there is none";
    EXPECT_EQ(hipGraphRemoveDependencies(graph_, &two, &three, 1), hipSuccess);
    EXPECT_EQ(list(hipGraphGetRootNodes, graph_).size(), 2u);
    EXPECT_EQ(hipGraphDestroyNode(one), hipSuccess);
    EXPECT_EQ(list(hipGraphNodeGetDependencies, two), std::vector<void*>{});
    EXPECT_EQ(hipGraphDestroyNode(one), hipErrorInvalidValue) << "it is gone";
    int type = 0;
    EXPECT_EQ(hipGraphNodeGetType(two, &type), hipSuccess);
    EXPECT_EQ(type, 1);  // hipGraphNodeTypeMemcpy since HIP 6
    EXPECT_EQ(hipGraphNodeGetType(one, &type), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphNodeGetDependencies(one, from, &count), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphNodeGetDependentNodes(nullptr, from, &count), hipErrorInvalidValue);
    void* twice[] = {two, two};
    EXPECT_EQ(hipGraphAddEmptyNode(&three, graph_, twice, 2), hipErrorInvalidValue);
}

TEST_F(Graphs, KernelsTellAndChangeTheirArguments) {
    const isa::Bytes code = add_one_code();
    const struct {
        uint32_t magic, version;
        const void *image, *unused;
    } wrapper{0x48495046, 1, code.data(), nullptr};
    void** const binary = __hipRegisterFatBinary(&wrapper);
    __hipRegisterFunction(binary, &host_, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
    void *node = nullptr, *first[] = {&b_, &a_}, *second[] = {&c_, &b_}, *third[] = {&c_, &a_};
    KernelParameters p = add_one(first), told{};
    ASSERT_EQ(hipGraphAddKernelNode(&node, graph_, nullptr, 0, &p), hipSuccess);
    EXPECT_EQ(hipGraphKernelNodeGetParams(node, &told), hipSuccess);
    EXPECT_TRUE(told.function == &host_ && told.block.x == kCount && told.grid.x == 1);
    EXPECT_EQ(*static_cast<void**>(told.parameters[1]), a_);
    make_ready();
    launch();
    EXPECT_EQ(read(b_), counted(2));
    p = add_one(second);
    EXPECT_EQ(hipGraphExecKernelNodeSetParams(ready_, node, &p), hipSuccess);
    launch();
    EXPECT_EQ(read(c_), counted(3));
    EXPECT_EQ(hipGraphKernelNodeGetParams(node, &told), hipSuccess);
    EXPECT_EQ(*static_cast<void**>(told.parameters[0]), b_) << "the graph is as it was";
    p = add_one(third);
    EXPECT_EQ(hipGraphKernelNodeSetParams(node, &p), hipSuccess);
    launch();
    EXPECT_EQ(read(c_), counted(3)) << "not yet";
    void* bad = nullptr;
    int result = -1;
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, &bad, &result), hipSuccess);
    EXPECT_EQ(result, 0);
    launch();
    EXPECT_EQ(read(c_), counted(2));
    size_t one = sizeof c_;
    void* extra[] = {reinterpret_cast<void*>(1), &c_, reinterpret_cast<void*>(2), &one, reinterpret_cast<void*>(3)};
    KernelParameters shorter = p;
    shorter.parameters = nullptr, shorter.extra = extra;
    EXPECT_EQ(hipGraphKernelNodeSetParams(node, &shorter), hipSuccess);
    EXPECT_EQ(hipGraphKernelNodeGetParams(node, &told), hipSuccess);
    EXPECT_EQ(*static_cast<void**>(told.parameters[0]), c_);
    EXPECT_EQ(*static_cast<void**>(told.parameters[1]), nullptr) << "what extra does not reach";
    p.block.x = 100'000;
    EXPECT_EQ(hipGraphKernelNodeSetParams(node, &p), hipErrorInvalidConfiguration);
    p.function = nullptr;
    EXPECT_EQ(hipGraphExecKernelNodeSetParams(ready_, node, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecKernelNodeSetParams(ready_, nullptr, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphKernelNodeGetParams(&p, &told), hipErrorInvalidValue);
    __hipUnregisterFatBinary(binary);
    EXPECT_EQ(hipGraphLaunch(ready_, nullptr), hipErrorInvalidHandle) << "its code is gone";
}

TEST_F(Graphs, CopiesTellAndChangeWhatTheyCopy) {
    void *node = copy_node(b_, a_), *other = nullptr;
    BoxParameters p{}, told{};
    p.from = {a_, 16, 16, 8}, p.to = {c_, 16, 16, 8}, p.extent = {8, 8, 1}, p.kind = 3;
    ASSERT_EQ(hipGraphAddMemcpyNode(&other, graph_, nullptr, 0, &p), hipSuccess);
    EXPECT_EQ(hipGraphMemcpyNodeGetParams(other, &told), hipSuccess);
    EXPECT_TRUE(told.from.memory == a_ && told.to.pitch == 16 && told.extent.height == 8 && told.kind == 3);
    make_ready();
    launch();
    EXPECT_EQ(read(c_, 5), (Words{1, 2, 0, 0, 5}));
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(ready_, node, b_, c_, 16, 3), hipSuccess);
    p.extent = {16, 8, 1};
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams(ready_, other, &p), hipSuccess);
    launch();
    launch();
    EXPECT_EQ(read(c_), counted(1));
    EXPECT_EQ(read(b_, 5), counted(1, 5)) << "four by the second launch, the fifth by the first";
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(node, c_, a_, 4, 3), hipSuccess);
    EXPECT_EQ(hipGraphMemcpyNodeSetParams(other, &p), hipSuccess);
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(node, nullptr, a_, 4, 3), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(ready_, node, b_, c_, 0, 3), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(node, a_, a_, 4, 3), hipErrorInvalidValue) << "onto itself";
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(node, static_cast<char*>(a_) + 4, a_, 8, 3), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(node, c_, a_, kCount * 4 + 1, 3), hipErrorInvalidValue) << "beyond it";
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams1D(ready_, node, b_, c_, 16, 4), hipErrorInvalidValue) << "another kind";
    p.kind = 4;
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams(ready_, other, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemcpyNodeSetParams(other, &p), hipSuccess) << "the graph itself may have another";
    p.from.pitch = 4;
    EXPECT_EQ(hipGraphMemcpyNodeSetParams(other, &p), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecMemcpyNodeSetParams(ready_, other, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddMemcpyNode(&other, graph_, nullptr, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemcpyNodeGetParams(other, nullptr), hipErrorInvalidValue);
}

TEST_F(Graphs, FillsAndCallsOfTheHostChange) {
    int called = 0, other = 0;
    HostParameters host{[](void* data) { ++*static_cast<int*>(data); }, &called}, told_host{};
    FillParameters fill = fill_of(b_, 5), told{};
    void *node = fill_node(b_, 5), *call = nullptr;
    ASSERT_EQ(hipGraphAddHostNode(&call, graph_, nullptr, 0, &host), hipSuccess);
    make_ready();
    launch();
    EXPECT_EQ(read(b_), Words(kCount, 5));
    EXPECT_EQ(hipGraphMemsetNodeGetParams(node, &told), hipSuccess);
    EXPECT_TRUE(told.to == b_ && told.value == 5 && told.width == kCount);
    EXPECT_EQ(hipGraphHostNodeGetParams(call, &told_host), hipSuccess);
    EXPECT_TRUE(told_host.data == &called && told_host.function == host.function);
    fill.value = 6, host.data = &other;
    EXPECT_EQ(hipGraphExecMemsetNodeSetParams(ready_, node, &fill), hipSuccess);
    EXPECT_EQ(hipGraphExecHostNodeSetParams(ready_, call, &host), hipSuccess);
    launch();
    EXPECT_EQ(read(b_), Words(kCount, 6));
    EXPECT_TRUE(called == 1 && other == 1);
    EXPECT_EQ(hipGraphMemsetNodeSetParams(node, &fill), hipSuccess);
    EXPECT_EQ(hipGraphHostNodeSetParams(call, &host), hipSuccess);
    EXPECT_EQ(hipGraphMemsetNodeSetParams(call, &fill), hipErrorInvalidValue) << "no fill";
    fill.width = kCount + 1;
    EXPECT_EQ(hipGraphExecMemsetNodeSetParams(ready_, node, &fill), hipErrorInvalidValue) << "beyond the memory";
    fill.width = SIZE_MAX / 4 + 2;
    EXPECT_EQ(hipGraphExecMemsetNodeSetParams(ready_, node, &fill), hipErrorInvalidValue)
        << "more bytes than there can be";
    host.function = nullptr;
    EXPECT_EQ(hipGraphHostNodeSetParams(call, &host), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecHostNodeSetParams(ready_, call, &host), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphHostNodeGetParams(node, &told_host), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphMemsetNodeGetParams(call, &told), hipErrorInvalidValue);
}

TEST_F(Graphs, EventsOfNodesChange) {
    void *one = nullptr, *two = nullptr, *records = nullptr, *waits = nullptr, *told = nullptr;
    float ms = -1;
    ASSERT_EQ(hipEventCreate(&one), hipSuccess);
    ASSERT_EQ(hipEventCreate(&two), hipSuccess);
    EXPECT_EQ(hipGraphAddEventRecordNode(&records, graph_, nullptr, 0, one), hipSuccess);
    EXPECT_EQ(hipGraphAddEventWaitNode(&waits, graph_, &records, 1, one), hipSuccess);
    EXPECT_EQ(hipGraphAddEventRecordNode(&told, graph_, nullptr, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphAddEventWaitNode(&told, graph_, nullptr, 0, &ms), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphEventRecordNodeGetEvent(records, &told), hipSuccess);
    EXPECT_EQ(told, one);
    EXPECT_EQ(hipGraphEventRecordNodeGetEvent(waits, &told), hipErrorInvalidValue);
    make_ready();
    EXPECT_EQ(hipEventRecord(two, nullptr), hipSuccess);
    EXPECT_EQ(hipEventElapsedTime(&ms, two, one), hipErrorInvalidHandle) << "not recorded yet";
    EXPECT_EQ(hipGraphUpload(ready_, nullptr), hipSuccess);
    EXPECT_EQ(hipGraphUpload(graph_, nullptr), hipErrorInvalidValue);
    launch();
    EXPECT_EQ(hipEventElapsedTime(&ms, two, one), hipSuccess);
    EXPECT_EQ(hipGraphEventRecordNodeSetEvent(records, two), hipSuccess);
    EXPECT_EQ(hipGraphEventWaitNodeSetEvent(waits, two), hipSuccess);
    EXPECT_EQ(hipGraphEventWaitNodeGetEvent(waits, &told), hipSuccess);
    EXPECT_EQ(told, two);
    EXPECT_EQ(hipGraphEventWaitNodeGetEvent(records, &told), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecEventRecordNodeSetEvent(ready_, records, two), hipSuccess);
    EXPECT_EQ(hipGraphExecEventWaitNodeSetEvent(ready_, waits, two), hipSuccess);
    EXPECT_EQ(hipEventDestroy(two), hipSuccess);
    EXPECT_EQ(hipGraphLaunch(ready_, nullptr), hipErrorInvalidHandle) << "the event is gone";
    EXPECT_EQ(hipGraphEventRecordNodeSetEvent(records, two), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphEventWaitNodeSetEvent(waits, two), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecEventRecordNodeSetEvent(ready_, waits, one), hipErrorInvalidValue) << "it waits";
    EXPECT_EQ(hipGraphExecEventWaitNodeSetEvent(ready_, records, one), hipErrorInvalidValue);
    EXPECT_EQ(hipEventDestroy(one), hipSuccess);
}

TEST_F(Graphs, CopiesOfGraphsAreTheirOwn) {
    void *node = fill_node(b_, 5), *copy = nullptr, *twin = nullptr;
    ASSERT_EQ(hipGraphClone(&copy, graph_), hipSuccess);
    ASSERT_EQ(hipGraphNodeFindInClone(&twin, node, copy), hipSuccess);
    EXPECT_NE(twin, node);
    const FillParameters other = fill_of(b_, 8);
    EXPECT_EQ(hipGraphMemsetNodeSetParams(node, &other), hipSuccess);
    FillParameters told{};
    EXPECT_EQ(hipGraphMemsetNodeGetParams(twin, &told), hipSuccess);
    EXPECT_EQ(told.value, 5u);
    EXPECT_EQ(hipGraphNodeFindInClone(&twin, node, graph_), hipErrorInvalidValue) << "no copy of it";
    EXPECT_EQ(hipGraphClone(nullptr, graph_), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphClone(&copy, &told), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDestroy(copy), hipSuccess);
}

TEST_F(Graphs, ChildrenHoldWhatTheyHeldAndMayBeChanged) {
    void *child = nullptr, *inner = nullptr, *node = nullptr, *told = nullptr;
    FillParameters p = fill_of(b_, 5);
    ASSERT_EQ(hipGraphCreate(&child, 0), hipSuccess);
    ASSERT_EQ(hipGraphAddMemsetNode(&inner, child, nullptr, 0, &p), hipSuccess);
    ASSERT_EQ(hipGraphAddChildGraphNode(&node, graph_, nullptr, 0, child), hipSuccess);
    EXPECT_EQ(hipGraphAddChildGraphNode(&told, graph_, nullptr, 0, &p), hipErrorInvalidValue);
    make_ready();
    EXPECT_EQ(hipGraphChildGraphNodeGetGraph(node, &told), hipSuccess);
    EXPECT_EQ(list(hipGraphGetNodes, told).size(), 1u);
    EXPECT_EQ(hipGraphChildGraphNodeGetGraph(inner, &told), hipErrorInvalidValue);
    p.value = 6;
    EXPECT_EQ(hipGraphMemsetNodeSetParams(inner, &p), hipSuccess);
    launch();
    EXPECT_EQ(read(b_), Words(kCount, 5)) << "as it was";
    EXPECT_EQ(hipGraphExecChildGraphNodeSetParams(ready_, node, child), hipSuccess);
    launch();
    EXPECT_EQ(read(b_), Words(kCount, 6));
    EXPECT_EQ(hipGraphAddEmptyNode(&told, child, nullptr, 0), hipSuccess);
    EXPECT_EQ(hipGraphExecChildGraphNodeSetParams(ready_, node, child), hipErrorUnknown) << "one node more";
    EXPECT_EQ(hipGraphExecChildGraphNodeSetParams(ready_, inner, child), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphDestroy(child), hipSuccess);
}

TEST_F(Graphs, NodesAreTurnedOffAndOn) {
    void *node = fill_node(b_, 5), *call = nullptr;
    ASSERT_EQ(hipGraphAddEmptyNode(&call, graph_, nullptr, 0), hipSuccess);
    make_ready();
    unsigned on = 9;
    EXPECT_EQ(hipGraphNodeGetEnabled(ready_, node, &on), hipSuccess);
    EXPECT_EQ(on, 1u);
    EXPECT_EQ(hipGraphNodeSetEnabled(ready_, node, 0), hipSuccess);
    launch();
    EXPECT_EQ(read(b_), Words(kCount));
    EXPECT_EQ(hipGraphNodeSetEnabled(ready_, node, 1), hipSuccess);
    launch();
    EXPECT_EQ(read(b_), Words(kCount, 5));
    EXPECT_EQ(hipGraphNodeSetEnabled(ready_, call, 0), hipErrorInvalidValue) << "no kernel, copy or fill";
    EXPECT_EQ(hipGraphNodeGetEnabled(ready_, call, &on), hipErrorInvalidValue);
    unsigned long long flags = 9;
    EXPECT_EQ(hipGraphExecGetFlags(ready_, &flags), hipSuccess);
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(hipGraphExecGetFlags(graph_, &flags), hipErrorInvalidValue);
    for (const unsigned bad : {1u << 20, 10u})
        EXPECT_EQ(hipGraphInstantiateWithFlags(&call, graph_, bad), hipErrorInvalidValue);
}

TEST_F(Graphs, UpdatesWantTheSameShape) {
    void *one = copy_node(b_, a_), *two = fill_node(c_, 1), *bad = nullptr;
    int result = -1;
    make_ready();
    EXPECT_EQ(hipGraphAddDependencies(graph_, &one, &two, 1), hipSuccess);
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, &bad, &result), hipErrorGraphExecUpdateFailure) << "an edge more";
    EXPECT_EQ(result, 2);
    EXPECT_EQ(bad, two);
    EXPECT_EQ(hipGraphRemoveDependencies(graph_, &one, &two, 1), hipSuccess);
    EXPECT_EQ(hipGraphDestroyNode(two), hipSuccess);
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, &bad, &result), hipErrorGraphExecUpdateFailure) << "a node less";
    EXPECT_EQ(result, 2);
    (void)copy_node(c_, a_);
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, &bad, &result), hipErrorGraphExecUpdateFailure) << "a copy, no fill";
    EXPECT_EQ(result, 3);
    EXPECT_EQ(hipGraphExecDestroy(ready_), hipSuccess);
    make_ready();
    EXPECT_EQ(hipGraphMemcpyNodeSetParams1D(one, b_, a_, 4, 4), hipSuccess);
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, &bad, &result), hipErrorGraphExecUpdateFailure) << "another kind";
    EXPECT_EQ(result, 5);
    EXPECT_EQ(bad, one);
    EXPECT_EQ(hipGraphExecUpdate(ready_, graph_, nullptr, &result), hipErrorInvalidValue);
    EXPECT_EQ(hipGraphExecUpdate(graph_, graph_, &bad, &result), hipErrorInvalidValue);
}

}  // namespace
}  // namespace strata::hip::library
