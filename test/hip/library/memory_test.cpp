// Memory, copies and fills of every kind, against what the host holds.
#include <algorithm>
#include <cstring>

#include "fixture.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {
namespace {

class Memory : public Library {};

TEST_F(Memory, EveryKindIsAllocatedToldOfAndFreed) {
    void* memory = nullptr;
    size_t pitch = 0, bytes = 0;
    EXPECT_EQ(hipExtMallocWithFlags(&memory, 64, 0), hipSuccess);
    EXPECT_EQ(hipMemPtrGetInfo(memory, &bytes), hipSuccess);
    EXPECT_EQ(bytes, 64u);
    void* base = nullptr;
    EXPECT_EQ(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(memory) + 60), hipSuccess);
    EXPECT_EQ(base, memory);
    EXPECT_EQ(hipMemGetAddressRange(&base, &bytes, static_cast<char*>(memory) + 64), hipErrorNotFound);
    EXPECT_EQ(hipMemPtrGetInfo(&bytes, &bytes), hipErrorInvalidValue);
    EXPECT_EQ(hipFree(memory), hipSuccess);
    EXPECT_EQ(hipExtMallocWithFlags(nullptr, 64, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipExtMallocWithFlags(&memory, 64, 5), hipErrorInvalidValue);
    EXPECT_EQ(hipExtMallocWithFlags(&memory, 64, 2), hipErrorInvalidValue) << "a signal is of eight bytes";
    EXPECT_EQ(hipMemAllocPitch(&memory, &pitch, 100, 3, 4), hipSuccess);
    EXPECT_EQ(pitch, 256u);
    EXPECT_EQ(hipMemPtrGetInfo(memory, &bytes), hipSuccess);
    EXPECT_EQ(bytes, 3u * 256);
    EXPECT_EQ(hipFree(memory), hipSuccess);
    EXPECT_EQ(hipMemAllocPitch(&memory, &pitch, 100, 3, 5), hipErrorInvalidValue) << "elements of 5 bytes";
    EXPECT_EQ(hipMallocPitch(&memory, &pitch, SIZE_MAX - 512, 7), hipErrorOutOfMemory);
    EXPECT_EQ(hipMallocPitch(&memory, &pitch, SIZE_MAX, 1), hipErrorInvalidValue) << "a pitch beyond 64 bits";
    EXPECT_EQ(hipMallocPitch(&memory, nullptr, 4, 7), hipErrorInvalidValue);
    PitchedPointer box{};
    EXPECT_EQ(hipMalloc3D(&box, {SIZE_MAX - 100, 1, 1}), hipErrorInvalidValue);
    EXPECT_EQ(hipMalloc3D(&box, {SIZE_MAX / 2, 1, 1}), hipErrorOutOfMemory);
    EXPECT_EQ(hipMalloc(&memory, SIZE_MAX), hipErrorOutOfMemory);
}

TEST_F(Memory, OfTheHostHasManyNames) {
    void* all[4] = {};
    ASSERT_EQ(hipHostMalloc(&all[0], 64, 0), hipSuccess);
    ASSERT_EQ(hipHostAlloc(&all[1], 64, 2), hipSuccess);
    ASSERT_EQ(hipMallocHost(&all[2], 64), hipSuccess);
    ASSERT_EQ(hipMemAllocHost(&all[3], 64), hipSuccess);
    for (void* memory : all) {
        std::memset(memory, 1, 64);
        PointerAttributes about{};
        EXPECT_EQ(hipPointerGetAttributes(&about, memory), hipSuccess);
        EXPECT_EQ(about.on_host, memory);
        EXPECT_EQ(hipFreeHost(memory), hipSuccess);
        EXPECT_EQ(hipFreeHost(memory), hipErrorInvalidValue) << "freed twice";
    }
    void* memory = nullptr;
    EXPECT_EQ(hipHostMalloc(&memory, 64, 1u << 20), hipSuccess) << "flags that nobody knows are not looked at";
    EXPECT_EQ(hipHostFree(memory), hipSuccess);
    EXPECT_EQ(hipHostMalloc(&memory, 64, 0xc0000000), hipErrorInvalidValue) << "coherent and not";
    EXPECT_EQ(hipFreeHost(nullptr), hipSuccess);
}

TEST_F(Memory, AttributesOfPointersAreToldOneByOneAndTogether) {
    void *memory = filled(counted(0)), *got = nullptr, *start = nullptr;
    unsigned type = 0;
    int device = -1, kinds[] = {2, 3, 9, 11};
    size_t bytes = 0;
    bool managed = true;
    EXPECT_EQ(hipPointerGetAttribute(&got, 3, memory), hipSuccess);
    EXPECT_EQ(got, memory);
    EXPECT_EQ(hipPointerGetAttribute(&managed, 8, memory), hipSuccess);
    EXPECT_FALSE(managed);
    EXPECT_EQ(hipPointerGetAttribute(&bytes, 12, memory), hipSuccess);
    EXPECT_EQ(bytes, kCount * 4);
    EXPECT_EQ(hipPointerGetAttribute(&got, 4, memory), hipErrorInvalidValue) << "the host has no address of it";
    EXPECT_EQ(hipPointerGetAttribute(&got, 1, memory), hipErrorNotSupported);
    EXPECT_EQ(hipPointerGetAttribute(nullptr, 3, memory), hipErrorInvalidValue);
    EXPECT_EQ(hipPointerGetAttribute(&got, 3, &bytes), hipErrorInvalidValue);
    void* values[] = {&type, &got, &device, &start};
    EXPECT_EQ(hipDrvPointerGetAttributes(4, kinds, values, static_cast<char*>(memory) + 8), hipSuccess);
    EXPECT_EQ(type, 2u);  // hipMemoryTypeDevice since HIP 6
    EXPECT_EQ(device, 0);
    EXPECT_EQ(start, memory);
    EXPECT_EQ(hipDrvPointerGetAttributes(0, kinds, values, memory), hipErrorInvalidValue);
    EXPECT_EQ(hipDrvPointerGetAttributes(1, nullptr, values, memory), hipErrorInvalidValue);
    EXPECT_EQ(hipDrvPointerGetAttributes(4, kinds, values, nullptr), hipErrorInvalidValue);
    free_all({memory});
}

TEST_F(Memory, AdviceIsTakenForManagedMemoryAlone) {
    void *managed = nullptr, *own = filled(counted(0));
    ASSERT_EQ(hipMallocManaged(&managed, 64, 1), hipSuccess);
    EXPECT_EQ(hipMemAdvise(managed, 64, 1, 0), hipSuccess);
    EXPECT_EQ(hipMemAdvise(managed, 65, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemAdvise(own, 64, 1, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemAdvise(managed, 64, 1, 1000), hipSuccess) << "no advice to a device";
    EXPECT_EQ(hipMemAdvise(managed, 64, 3, -1), hipSuccess) << "to the host";
    EXPECT_EQ(hipMemPrefetchAsync(managed, 64, -1, nullptr), hipSuccess);
    EXPECT_EQ(hipMemPrefetchAsync(managed, 64, 0, nullptr), hipSuccess);
    EXPECT_EQ(hipMemPrefetchAsync(managed, 64, 0, &managed), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipMemPrefetchAsync(own, 64, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, managed, 0, 1), hipSuccess);
    EXPECT_EQ(hipStreamAttachMemAsync(per_thread_stream(), managed, 64, 4), hipSuccess);
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, managed, 64, 4), hipErrorInvalidValue) << "of one stream, but of none";
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, managed, 63, 1), hipErrorInvalidValue) << "not all of it";
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, managed, 0, 3), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamAttachMemAsync(nullptr, own, 0, 1), hipErrorInvalidValue);
    free_all({managed, own});
}

TEST_F(Memory, CopiesOfOneRowGoEachWay) {
    Words in = counted(5), out(kCount);
    void *a = filled(Words(kCount)), *b = filled(Words(kCount));
    EXPECT_EQ(hipMemcpyWithStream(a, in.data(), kCount * 4, 1, nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpyDtoDAsync(b, a, kCount * 4, nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpyDtoHAsync(out.data(), b, kCount * 4, nullptr), hipSuccess);
    EXPECT_EQ(out, in);
    EXPECT_EQ(hipMemcpyHtoDAsync(b, in.data(), 4, nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpyWithStream(a, in.data(), 4, 1, &out), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipMemcpyWithStream(a, in.data(), 4, -1, nullptr), hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpyDtoDAsync(b, a, kCount * 4 + 1, nullptr), hipErrorInvalidValue) << "one byte too many";
    EXPECT_EQ(hipMemcpyDtoHAsync(nullptr, b, 4, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyHtoDAsync(nullptr, in.data(), 4, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyAsync(a, b, SIZE_MAX, 3, nullptr), hipErrorInvalidValue);
    free_all({a, b});
}

/// 4 rows of 2 words, 4 words apart, from the word that is given.
Words rows_of(const Words& all, size_t first) {
    Words out;
    for (size_t y = 0; y < 4; ++y)
        for (size_t x = 0; x < 2; ++x) out.push_back(all[first + y * 4 + x]);
    return out;
}

TEST_F(Memory, CopiesOfRowsGoByTheirPitches) {
    const Words in = counted(100);
    void* memory = filled(in);
    Words out(8);
    EXPECT_EQ(hipMemcpy2DAsync(out.data(), 8, static_cast<uint32_t*>(memory) + 1, 16, 8, 4, 2, nullptr), hipSuccess);
    EXPECT_EQ(out, rows_of(in, 1));
    EXPECT_EQ(hipMemcpy2DAsync(out.data(), 4, memory, 16, 8, 4, 2, nullptr), hipErrorInvalidPitchValue);
    EXPECT_EQ(hipMemcpy2DAsync(out.data(), 8, memory, 16, 8, SIZE_MAX / 8, 2, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy2D(out.data(), 8, memory, SIZE_MAX / 2, 8, 5, 2), hipErrorInvalidValue)
        << "more than there can be";
    RowsParameters p{};
    p.from_type = 2, p.from_device = memory, p.from_pitch = 16, p.from_x = 8, p.from_y = 1;  // hipMemoryTypeDevice
    p.to_type = 1, p.to_host = out.data(), p.to_pitch = 8;
    p.to_device = memory;  // does not count
    p.width = 8, p.height = 4;
    std::ranges::fill(out, 0);
    EXPECT_EQ(hipMemcpyParam2D(&p), hipSuccess);
    EXPECT_EQ(out, rows_of(in, 6));
    std::ranges::fill(out, 0);
    EXPECT_EQ(hipMemcpyParam2DAsync(&p, nullptr), hipSuccess);
    EXPECT_EQ(out, rows_of(in, 6));
    EXPECT_EQ(hipMemcpyParam2D(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyParam2DAsync(nullptr, nullptr), hipErrorInvalidValue);
    p.from_array = memory;
    EXPECT_EQ(hipMemcpyParam2D(&p), hipSuccess) << "its type says what it is of";
    p.from_type = major_version() >= 6 ? 10 : 2;
    EXPECT_EQ(hipMemcpyParam2D(&p), hipErrorInvalidValue) << "no array";
    BoxParameters box{};
    box.from = {memory, 16, 16, 4}, box.to = {out.data(), 8, 8, 4}, box.extent = {8, 4, 1}, box.from_at = {4, 0, 0};
    EXPECT_EQ(hipMemcpy3DAsync(&box, nullptr), hipSuccess);
    EXPECT_EQ(out, rows_of(in, 1));
    EXPECT_EQ(hipMemcpy3DAsync(nullptr, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy3DAsync(&box, &p), hipErrorContextIsDestroyed);
    box.to_array = memory;
    EXPECT_EQ(hipMemcpy3DAsync(&box, nullptr), hipErrorInvalidValue) << "no array, and memory beside it";
    free_all({memory});
}

TEST_F(Memory, FillsOfEveryWidth) {
    void* memory = filled(Words(8));
    auto* const words = static_cast<uint32_t*>(memory);
    EXPECT_EQ(hipMemsetD8Async(words, 0x5a, 4, nullptr), hipSuccess);
    EXPECT_EQ(hipMemsetD16Async(words + 1, 0x1234, 2, nullptr), hipSuccess);
    EXPECT_EQ(hipMemsetD32Async(words + 2, -3, 1, nullptr), hipSuccess);
    EXPECT_EQ(hipMemset2DAsync(words + 3, 8, 1, 4, 2, nullptr), hipSuccess);
    EXPECT_EQ(hipMemset3DAsync({words + 6, 4, 4, 1}, 2, {4, 1, 2}, nullptr), hipSuccess);
    EXPECT_EQ(read(memory, 8), (Words{0x5a5a5a5a, 0x12341234, ~2u, 0x01010101, 0, 0x01010101, 0x02020202, 0x02020202}));
    EXPECT_EQ(hipMemsetD8Async(words, 0, 33, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD16Async(words, 0, 17, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD16(words, 0, SIZE_MAX), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetD32Async(words, 0, size_t{1} << 62, nullptr), hipErrorInvalidValue) << "wraps to nothing";
    EXPECT_EQ(hipMemset2DAsync(words, 2, 0, 4, 2, nullptr), hipErrorInvalidValue) << "rows that overlap";
    EXPECT_EQ(hipMemset3DAsync({nullptr, 4, 4, 1}, 2, {4, 1, 2}, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMemsetAsync(words, 0, 4, &memory), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipMemset3D({words, 4, 4, 1}, 2, {4, SIZE_MAX, SIZE_MAX}), hipErrorInvalidValue);
    free_all({memory});
}

TEST_F(Memory, RegisteredMemoryIsOneBlock) {
    Words own(1024);
    EXPECT_EQ(hipHostRegister(&own[256], 1024, 0), hipSuccess);
    EXPECT_EQ(hipHostRegister(own.data(), 4096, 0), hipErrorHostMemoryAlreadyRegistered) << "around it";
    EXPECT_EQ(hipHostRegister(own.data(), 1024, 0), hipSuccess) << "a refused call leaves nothing registered";
    EXPECT_EQ(hipHostUnregister(own.data()), hipSuccess);
    EXPECT_EQ(hipHostUnregister(&own[300]), hipErrorHostMemoryNotRegistered);
    EXPECT_EQ(hipHostUnregister(&own[256]), hipSuccess);
    EXPECT_EQ(hipHostRegister(&own[512], SIZE_MAX - 1024, 0), hipErrorInvalidValue) << "beyond the last address";
    EXPECT_EQ(hipHostRegister(nullptr, 4, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipHostRegister(own.data(), 0, 0), hipErrorInvalidValue);
}

TEST_F(Memory, ChannelsAreDescribedAsTheyAreGiven) {
    const ChannelFormat format = hipCreateChannelDesc(8, 16, 0, 32, 2);
    EXPECT_EQ((std::vector<int>{format.x, format.y, format.z, format.w, format.kind}),
              (std::vector<int>{8, 16, 0, 32, 2}));
}

TEST_F(Memory, PoolsCountWhatIsFreedByAnyCall) {
    void *pool = nullptr, *a = nullptr, *b = nullptr;
    PoolProperties properties{1, 0, 1, 0};
    ASSERT_EQ(hipMemPoolCreate(&pool, &properties), hipSuccess);
    ASSERT_EQ(hipMallocFromPoolAsync(&a, 100, pool, nullptr), hipSuccess);
    ASSERT_EQ(hipMallocFromPoolAsync(&b, 28, pool, nullptr), hipSuccess);
    uint64_t used = 0;
    EXPECT_EQ(hipMemPoolGetAttribute(pool, 7, &used), hipSuccess);
    EXPECT_EQ(used, 128u);
    free_all({a});
    EXPECT_EQ(hipFreeAsync(b, nullptr), hipSuccess);
    EXPECT_EQ(hipMemPoolGetAttribute(pool, 7, &used), hipSuccess);
    EXPECT_EQ(used, 0u);
    EXPECT_EQ(hipMallocAsync(nullptr, 4, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipMallocAsync(&a, 4, &used), hipErrorInvalidHandle);
    EXPECT_EQ(hipMallocFromPoolAsync(&a, 4, &used, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceSetMemPool(-1, pool), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetMemPool(&a, 99), hipErrorInvalidValue);
    EXPECT_EQ(hipMemPoolTrimTo(nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemPoolSetAttribute(pool, 0, &used), hipErrorInvalidValue);
    EXPECT_EQ(hipMemPoolDestroy(pool), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
