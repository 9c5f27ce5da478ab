// Functions of the library return HIP's code for null pointers, handles that are none and sizes that cannot be, a row
// each of refusals/*.def. REFUSES( code, call ) is for calls that return a code, IS( value, call ) for calls that
// return something else. LEAVES( code, call ) is for calls that return nothing and report by the last error. Codes are
// those of ROCm/clr where HIP's documentation names several.
#include "fixture.h"
#include "strata/hip/api/structs.h"

namespace strata::hip::library {
namespace {

void nothing(void*) {}

/// The names in rows. They are a thing of each kind, places for a call's results, and `none`, which is no handle and no
/// memory of a device.
class Refusals : public Library {
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
        memory = filled(counted(1));
        ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
        ASSERT_EQ(hipEventCreate(&event), hipSuccess);
        ASSERT_EQ(hipDeviceGetDefaultMemPool(&pool, 0), hipSuccess);
        ASSERT_EQ(hipMallocArray(&array, &channels, 4, 4, 0), hipSuccess);
        ASSERT_EQ(hipUserObjectCreate(&object, nullptr, nothing, 1, 1), hipSuccess);
        ASSERT_EQ(hipMallocManaged(&managed, 64, 1), hipSuccess);
        make_graph();
        ASSERT_EQ(hipMemcpyFromSymbol(text, &variable, 16, 0, 2), hipSuccess);  // the program's code is loaded
        std::fill(std::begin(text), std::end(text), 0);
        ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    }
    void make_graph() {
        void* child = nullptr;
        const KernelParameters launch{{kCount, 1, 1}, nullptr, &host, {1, 1, 1}, arguments, 0};
        const FillParameters fill{memory, 1, 1, 4, 7, 4};
        ASSERT_EQ(hipGraphCreate(&child, 0), hipSuccess);
        ASSERT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
        ASSERT_EQ(hipGraphAddEmptyNode(&node, graph, nullptr, 0), hipSuccess);
        ASSERT_EQ(hipGraphAddKernelNode(&kernel_node, graph, nullptr, 0, &launch), hipSuccess);
        ASSERT_EQ(hipGraphAddMemcpyNode1D(&copy_node, graph, nullptr, 0, memory, text, 4, 1), hipSuccess);
        ASSERT_EQ(hipGraphAddMemsetNode(&fill_node, graph, nullptr, 0, &fill), hipSuccess);
        ASSERT_EQ(hipGraphAddChildGraphNode(&child_node, graph, nullptr, 0, child), hipSuccess);
        ASSERT_EQ(hipGraphDestroy(child), hipSuccess);
        ASSERT_EQ(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0), hipSuccess);
    }
    void TearDown() override {
        size_t now = 0;
        ASSERT_EQ(hipMemGetInfo(&now, &total), hipSuccess);
        EXPECT_EQ(now, before) << "what is refused takes no memory";
        EXPECT_EQ(read(memory), counted(1));
        EXPECT_TRUE(std::all_of(std::begin(text), std::end(text), [](char c) { return c == 0; }));
        EXPECT_EQ(hipGraphGetNodes(graph, nullptr, &size), hipSuccess);
        EXPECT_EQ(size, 5u);
        EXPECT_EQ(hipGraphExecDestroy(ready), hipSuccess);
        EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
        EXPECT_EQ(hipUserObjectRelease(object, 1), hipSuccess);
        EXPECT_EQ(hipFreeArray(array), hipSuccess);
        EXPECT_EQ(hipEventDestroy(event), hipSuccess);
        EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
        free_all({memory, managed});
        __hipUnregisterFatBinary(binary);
    }

    alignas(16) char text[512] = {}, none[64] = {};
    int one = 0;
    const char* told = nullptr;
    unsigned flags = 0;
    unsigned long long wide = 0;
    size_t size = 0, before = 0, total = 0;
    float ms = 0;
    Dim3 dim{1, 1, 1};
    ChannelFormat channels{32, 0, 0, 0, 2};  ///< floats
    void *out = nullptr, *memory = nullptr, *stream = nullptr, *event = nullptr, *pool = nullptr, *array = nullptr;
    void *managed = nullptr, *object = nullptr, *graph = nullptr, *ready = nullptr,
         *node = nullptr;  ///< which is empty
    void *kernel_node = nullptr, *copy_node = nullptr, *fill_node = nullptr, *child_node = nullptr;
    void* arguments[2] = {&memory, &memory};
    const isa::Bytes code = add_one_code();
    Wrapper wrapper;
    void** binary = nullptr;
    const char host = 0;  ///< stands for add_one
    char variable = 0;    ///< for its numbers, 16 bytes
    const AddOne loaded;
    void *const module = loaded.module, *const function = loaded.function;
};

#define REFUSES(code, call) EXPECT_EQ(call, hipError##code) << #call;
#define IS(value, call) EXPECT_EQ(call, value) << #call;
#define LEAVES(code, call)   \
    (void)hipGetLastError(); \
    call;                    \
    EXPECT_EQ(hipGetLastError(), hipError##code) << #call;

/// Calls while a stream records in a mode that forbids it, and in whose graph it therefore is not: that is lost.
class RefusalsToRecorders : public Refusals {
  protected:
    template <class Call>
    int while_recording(Call&& call) {
        void* recorded = nullptr;
        EXPECT_EQ(hipStreamBeginCapture(stream, mode), hipSuccess);
        const int code = call();
        EXPECT_EQ(hipStreamEndCapture(stream, &recorded), hipErrorStreamCaptureInvalidated);
        return code;
    }
    int mode = 0;
    Extent extent{};
    PitchedPointer rows{};
};

TEST_F(Refusals, OfDevices) {
#include "refusals/device.def"
}
TEST_F(Refusals, OfMemory) {
#include "refusals/memory.def"
}
TEST_F(Refusals, OfCopiesAndFills) {
#include "refusals/copy.def"
}
TEST_F(Refusals, OfModulesFunctionsAndLaunches) {
#include "refusals/launch.def"
}
TEST_F(Refusals, OfStreamsAndEvents) {
#include "refusals/stream.def"
}
TEST_F(Refusals, OfGraphs) {
#include "refusals/graph.def"
}
TEST_F(Refusals, OfArrays) {
#include "refusals/array.def"
}
TEST_F(Refusals, OfTextures) {
#include "refusals/texture.def"
}
TEST_F(Refusals, OfStreamsOfThreads) {
#include "refusals/per_thread.def"
}

#undef REFUSES
#define REFUSES(code, call) EXPECT_EQ(while_recording([&] { return call; }), hipError##code) << #call;
TEST_F(RefusalsToRecorders, OfCallsThatNoGraphHolds) {
    for (mode = 0; mode < 2; ++mode) {  // hipStreamCaptureModeGlobal, ...ThreadLocal
#include "refusals/recording.def"
    }
}

}  // namespace
}  // namespace strata::hip::library
