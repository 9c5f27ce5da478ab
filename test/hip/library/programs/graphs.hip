// Graphs, captured and made by hand, and memory pools, against what the host computes.
#include "checks.h"

static void graphs() {
    hipStream_t stream, other;
    OK(hipStreamCreate(&stream));
    OK(hipStreamCreate(&other));
    int* memory;
    OK(hipMalloc(&memory, 256));
    OK(hipMemset(memory, 0, 256));
    hipEvent_t fork, join;
    OK(hipEventCreate(&fork));
    OK(hipEventCreate(&join));
    hipStreamCaptureStatus status;
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    OK(hipStreamIsCapturing(stream, &status));
    EXPECT(status == hipStreamCaptureStatusActive);
    bump<<<1, 64, 0, stream>>>(memory, 1);
    OK(hipEventRecord(fork, stream));
    OK(hipStreamWaitEvent(other, fork, 0));
    bump<<<1, 32, 0, other>>>(memory, 10);
    OK(hipEventRecord(join, other));
    CODE(hipStreamQuery(stream), hipErrorStreamCaptureUnsupported);
    OK(hipStreamWaitEvent(stream, join, 0));
    hipGraph_t graph;
    OK(hipStreamEndCapture(stream, &graph));
    EXPECT(read(memory, 64) == std::vector<int>(64));
    size_t nodes = 0;
    OK(hipGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 2);
    hipGraphExec_t ready;
    OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 3; ++i) OK(hipGraphLaunch(ready, stream));
    OK(hipStreamSynchronize(stream));
    EXPECT(read(memory, 64)[0] == 33 && read(memory, 64)[63] == 3);
    OK(hipGraphExecDestroy(ready));
    CODE(hipGraphLaunch(ready, stream), hipErrorInvalidValue);
    OK(hipGraphDestroy(graph));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    OK(hipEventRecord(fork, stream));
    OK(hipStreamWaitEvent(other, fork, 0));
    bump<<<1, 32, 0, other>>>(memory, 10);
    CODE(hipStreamEndCapture(other, &graph), hipErrorStreamCaptureUnmatched);
    CODE(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureUnjoined);
    CODE(hipStreamEndCapture(stream, &graph), hipErrorIllegalState);
    CODE(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal), hipErrorStreamCaptureUnsupported);
    OK(hipFree(memory));
}

static void graphs_by_hand() {
    int* memory;
    OK(hipMalloc(&memory, 1024));
    int by = 4, called = 0;
    std::vector<int> out(256);
    hipGraph_t graph, child;
    hipGraphNode_t fill, kernel, nested, copied, told;
    OK(hipGraphCreate(&graph, 0));
    CODE(hipGraphCreate(nullptr, 0), hipErrorInvalidValue);
    hipMemsetParams set = {};
    set.dst = memory, set.elementSize = 4, set.height = 1, set.value = 5, set.width = 256;
    OK(hipGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
    void* arguments[] = {&memory, &by};
    hipKernelNodeParams launch = {};
    launch.func = reinterpret_cast<void*>(bump), launch.gridDim = dim3(1), launch.blockDim = dim3(256), launch.kernelParams = arguments;
    OK(hipGraphCreate(&child, 0));
    OK(hipGraphAddKernelNode(&nested, child, nullptr, 0, &launch));
    OK(hipGraphAddMemcpyNode1D(&copied, graph, nullptr, 0, out.data(), memory, 1024, hipMemcpyDeviceToHost));
    OK(hipGraphAddKernelNode(&kernel, graph, &fill, 1, &launch));
    OK(hipGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
    OK(hipGraphAddDependencies(graph, &nested, &copied, 1));
    hipHostNodeParams host = {[](void* data) { ++*static_cast<int*>(data); }, &called};
    OK(hipGraphAddHostNode(&told, graph, &copied, 1, &host));
    by = 1000;  // the arguments were taken when the node was added
    CODE(hipGraphAddEmptyNode(&told, graph, reinterpret_cast<hipGraphNode_t*>(&graph), 1), hipErrorInvalidValue);
    launch.func = &checks;
    CODE(hipGraphAddKernelNode(&kernel, graph, nullptr, 0, &launch), hipErrorInvalidDeviceFunction);
    size_t roots = 0;
    OK(hipGraphGetRootNodes(graph, nullptr, &roots));
    EXPECT(roots == 1);
    hipGraphExec_t ready;
    OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 2; ++i) OK(hipGraphLaunch(ready, nullptr));
    EXPECT(out == std::vector<int>(256, 13) && called == 2);
    OK(hipGraphAddDependencies(graph, &copied, &fill, 1));
    CODE(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipErrorInvalidValue);  // a circle
    OK(hipGraphDestroy(graph));
    CODE(hipGraphDestroy(graph), hipErrorIllegalState);
    OK(hipFree(memory));
}

static void pools() {
    hipMemPool_t pool, own;
    OK(hipDeviceGetDefaultMemPool(&pool, 0));
    CODE(hipDeviceGetDefaultMemPool(&pool, 7), hipErrorInvalidDevice);
    hipMemPoolProps properties = {};
    CODE(hipMemPoolCreate(&own, &properties), hipErrorInvalidValue);
    properties.allocType = hipMemAllocationTypePinned;
    properties.location = {hipMemLocationTypeDevice, 0};
    OK(hipMemPoolCreate(&own, &properties));
    int *a, *b;
    OK(hipMallocAsync(reinterpret_cast<void**>(&a), 1024, nullptr));
    OK(hipMallocFromPoolAsync(reinterpret_cast<void**>(&b), 2048, own, nullptr));
    OK(hipMemsetAsync(a, 0, 1024, nullptr));
    bump<<<1, 256>>>(a, 3);
    EXPECT(read(a, 256) == std::vector<int>(256, 3));
    uint64_t used = 0;
    OK(hipMemPoolGetAttribute(own, hipMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used == 2048);
    OK(hipFreeAsync(b, nullptr));
    CODE(hipFreeAsync(b, nullptr), hipErrorInvalidValue);
    OK(hipMemPoolGetAttribute(own, hipMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used == 0);
    OK(hipMemPoolGetAttribute(own, hipMemPoolAttrUsedMemHigh, &used));
    EXPECT(used == 2048);
    CODE(hipMemPoolSetAttribute(own, hipMemPoolAttrUsedMemCurrent, &used), hipErrorInvalidValue);
    used = 77;
    OK(hipMemPoolSetAttribute(own, hipMemPoolAttrReleaseThreshold, &used));
    OK(hipDeviceSetMemPool(0, own));
    hipMemPool_t now;
    OK(hipDeviceGetMemPool(&now, 0));
    EXPECT(now == own);
    OK(hipMemPoolTrimTo(own, 0));
    OK(hipMemPoolDestroy(own));
    CODE(hipMemPoolDestroy(own), hipErrorInvalidValue);
    CODE(hipMemPoolDestroy(pool), hipErrorInvalidValue);
    OK(hipFreeAsync(a, nullptr));
}

int main() {
    graphs();
    graphs_by_hand();
    pools();
    return tell();
}
