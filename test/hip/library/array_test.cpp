// Arrays: what is reported of them, copies against what the host holds, refusals.
#include <algorithm>
#include <array>
#include <cstring>

#include "texture_fixture.h"

namespace strata::hip::library {
namespace {

TEST_F(Textures, ArraysTellWhatTheyWereMadeOf) {
    void* array = nullptr;
    EXPECT_EQ(hipMallocArray(&array, &kBytes4, kWidth, kHeight, 0), hipSuccess);
    const Array& seen = *static_cast<Array*>(array);  // as programs of HIP 5 look at it
    EXPECT_EQ((std::array{seen.width, seen.height, seen.depth, seen.count}), (std::array{7u, 5u, 0u, 4u}));
    ChannelFormat channels{};
    Extent extent{};
    unsigned flags = 9;
    EXPECT_EQ(hipArrayGetInfo(&channels, &extent, &flags, array), hipSuccess);
    EXPECT_EQ((std::array{channels.x, channels.w, channels.kind}), (std::array{8, 8, 1}));
    EXPECT_EQ((std::array{extent.width, extent.height, extent.depth}), (std::array<size_t, 3>{7, 5, 0}));
    EXPECT_EQ(flags, 0u);
    EXPECT_EQ(hipArrayGetInfo(nullptr, nullptr, nullptr, array), hipSuccess);
    EXPECT_EQ(hipArrayGetInfo(&channels, &extent, &flags, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipGetChannelDesc(&channels, array), hipSuccess);
    EXPECT_EQ(channels.y, 8);
    EXPECT_EQ(hipGetChannelDesc(nullptr, array), hipErrorInvalidValue);
    EXPECT_EQ(hipGetChannelDesc(&channels, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipFreeArray(array), hipSuccess);
    EXPECT_EQ(hipFreeArray(array), hipErrorContextIsDestroyed) << "freed twice";
    EXPECT_EQ(hipFreeArray(nullptr), hipErrorInvalidValue);

    const ArrayDescriptor plane{kWidth, kHeight, kFloatFormat, 2};
    EXPECT_EQ(hipArrayCreate(&array, &plane), hipSuccess);
    ArrayDescriptor told_plane{};
    EXPECT_EQ(hipArrayGetDescriptor(&told_plane, array), hipSuccess);
    EXPECT_EQ(std::memcmp(&told_plane, &plane, sizeof plane), 0);
    EXPECT_EQ(hipArrayGetDescriptor(nullptr, array), hipErrorInvalidValue);
    EXPECT_EQ(hipArrayDestroy(array), hipSuccess);
    EXPECT_EQ(hipArrayDestroy(array), hipErrorContextIsDestroyed);

    const Array3dDescriptor layers{kWidth, kHeight, kDepth, kByteFormat, 1, kLayered};
    EXPECT_EQ(hipArray3DCreate(&array, &layers), hipSuccess);
    Array3dDescriptor told_layers{};
    EXPECT_EQ(hipArray3DGetDescriptor(&told_layers, array), hipSuccess);
    EXPECT_EQ((std::array{told_layers.width, told_layers.height, told_layers.depth}),
              (std::array<size_t, 3>{kWidth, kHeight, kDepth}));
    EXPECT_EQ((std::array{told_layers.flags, told_layers.count}), (std::array{kLayered, 1u}));
    EXPECT_EQ(hipArrayDestroy(array), hipSuccess);
    EXPECT_EQ(hipArray3DGetDescriptor(&told_layers, array), hipErrorInvalidHandle) << "destroyed";
}

TEST_F(Textures, ArraysThatCannotBeAreRefused) {
    void* array = nullptr;
    EXPECT_EQ(hipMallocArray(nullptr, &kFloat, 4, 4, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMallocArray(&array, nullptr, 4, 4, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMallocArray(&array, &kFloat, 0, 4, 0), hipErrorInvalidValue) << "no texel";
    EXPECT_EQ(hipMallocArray(&array, &kFloat, 4, 4, 4), hipErrorInvalidValue) << "cubes";
    EXPECT_EQ(hipMallocArray(&array, &kFloat, 4, 4, kLayered), hipErrorInvalidValue) << "layers without a depth";
    for (const ChannelFormat& bad :
         {ChannelFormat{32, 32, 32, 0, 2}, ChannelFormat{32, 16, 0, 0, 2}, ChannelFormat{0, 32, 0, 0, 2},
          ChannelFormat{8, 0, 0, 0, 2}, ChannelFormat{64, 0, 0, 0, 1}})
        EXPECT_EQ(hipMallocArray(&array, &bad, 4, 4, 0), hipErrorInvalidValue) << bad.x << ' ' << bad.y;
    EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 0, 4}, 0), hipErrorInvalidValue) << "slices without rows";
    EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {1u << 20, 4, 4}, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 4, 4}, kForGather), hipErrorInvalidValue)
        << "gathers are of planes";
    EXPECT_EQ(hipArrayCreate(&array, nullptr), hipErrorInvalidValue);
    const ArrayDescriptor bad{4, 4, 0x30, 1};
    EXPECT_EQ(hipArrayCreate(&array, &bad), hipErrorInvalidValue) << "no format";
    EXPECT_EQ(hipArray3DCreate(&array, nullptr), hipErrorInvalidValue);
}

TEST_F(Textures, RowsAreCopiedToArraysAndFromThem) {
    void *const array = make(kWidth, kHeight), *const other = make(kWidth, kHeight);
    const size_t row = kWidth * 4;
    const Words all = places(kWidth * kHeight);
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, all.data(), row, row, kHeight, kToDevice), hipSuccess);
    Words back(all.size());
    EXPECT_EQ(hipMemcpy2DFromArray(back.data(), row, array, 0, 0, row, kHeight, kToHost), hipSuccess);
    EXPECT_EQ(back, all);
    EXPECT_EQ(hipMemcpyToArray(other, 0, 0, all.data(), all.size() * 4, kToDevice), hipSuccess);
    std::ranges::fill(back, 0);
    EXPECT_EQ(hipMemcpyFromArray(back.data(), other, 0, 0, all.size() * 4, kToHost), hipSuccess);
    EXPECT_EQ(back, all);
    // Two texels of two rows, from (3, 2) to (1, 1) of the other one.
    EXPECT_EQ(hipMemcpy2DArrayToArray(other, 4, 1, array, 12, 2, 8, 2, 3), hipSuccess);
    EXPECT_EQ(hipMemcpyAtoA(other, 0, array, 8, 4), hipSuccess);  // texel 2 of the first row
    const uint32_t one = 7, two = 8;
    EXPECT_EQ(hipMemcpyHtoA(other, 16, &one, 4), hipSuccess);
    EXPECT_EQ(hipMemcpyHtoAAsync(other, 20, &two, 4, nullptr), hipSuccess);
    Words wanted = all;
    for (size_t y = 0; y < 2; ++y)
        for (size_t x = 0; x < 2; ++x) wanted[(1 + y) * kWidth + 1 + x] = all[(2 + y) * kWidth + 3 + x];
    wanted[0] = all[2], wanted[4] = 7, wanted[5] = 8;
    EXPECT_EQ(hipMemcpy2DFromArrayAsync(back.data(), row, other, 0, 0, row, kHeight, kToHost, nullptr), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(back, wanted);
    EXPECT_EQ(hipMemcpy2DToArrayAsync(other, 0, 0, all.data(), row, row, kHeight, kToDevice, nullptr), hipSuccess);
    void* const memory = filled(Words(kCount));
    EXPECT_EQ(hipMemcpyAtoD(memory, other, 8, 8), hipSuccess);
    EXPECT_EQ(read(memory, 2), (Words{all[2], all[3]}));
    EXPECT_EQ(hipMemcpyDtoA(other, 0, memory, 8), hipSuccess);
    Words three(3);
    EXPECT_EQ(hipMemcpyAtoH(three.data(), other, 0, 12), hipSuccess);
    EXPECT_EQ(three, (Words{all[2], all[3], all[2]}));
    EXPECT_EQ(hipMemcpyAtoHAsync(three.data(), other, 4, 12, nullptr), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(three, (Words{all[3], all[2], all[3]}));
    free_all({memory});

    EXPECT_EQ(hipMemcpy2DToArray(array, 4, 0, all.data(), row, row, 1, kToDevice), hipErrorInvalidValue) << "too wide";
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 1, all.data(), row, row, kHeight, kToDevice), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, all.data(), 4, row, 1, kToDevice), hipErrorInvalidPitchValue);
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, all.data(), row, row, 1, 9), hipErrorInvalidMemcpyDirection);
    EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, nullptr, row, row, 1, kToDevice), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpy2DToArray(nullptr, 0, 0, all.data(), row, row, 1, kToDevice), hipErrorInvalidHandle);
    EXPECT_EQ(hipMemcpy2DFromArray(back.data(), row, nullptr, 0, 0, row, 1, kToHost), hipErrorInvalidHandle);
    EXPECT_EQ(hipMemcpyToArray(nullptr, 0, 0, all.data(), 4, kToDevice), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyFromArray(back.data(), nullptr, 0, 0, 4, kToHost), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyAtoH(back.data(), array, 0, row + 4), hipErrorInvalidValue) << "beyond the row";
    EXPECT_EQ(hipMemcpy2DArrayToArray(other, 0, 0, &row, 0, 0, 4, 1, 3), hipErrorInvalidHandle) << "no array";
    for (void* each : {array, other}) EXPECT_EQ(hipFreeArray(each), hipSuccess);
}

/// An array of slices with known words, and a box of it that is copied to the host.
class Boxes : public Textures {
  protected:
    void SetUp() override {
        Textures::SetUp();
        array = make(kWidth, kHeight, kDepth);
        BoxParameters p{};
        p.from = {const_cast<uint32_t*>(all.data()), kWidth * 4, kWidth, kHeight};
        p.to_array = array;
        p.extent = {kWidth, kHeight, kDepth};  // of elements, as an array is a side
        p.kind = kToDevice;
        ASSERT_EQ(hipMemcpy3D(&p), hipSuccess);
        back.from_array = array;
        back.from_at = {4, 1, 1};
        back.to = {part.data(), 8, 2, 3};
        back.extent = {2, 3, 2};
        back.kind = kToHost;
        for (size_t z = 1; z < 3; ++z)
            for (size_t y = 1; y < 4; ++y)
                for (size_t x = 4; x < 6; ++x) wanted.push_back(all[(z * kHeight + y) * kWidth + x]);
    }
    void TearDown() override { EXPECT_EQ(hipFreeArray(array), hipSuccess); }

    const Words all = places(kWidth * kHeight * kDepth);
    Words part = Words(2 * 3 * 2), wanted = {};
    BoxParameters back = {};
    void* array = nullptr;
};

TEST_F(Boxes, AreCopiedToArraysOfSlicesAndFromThem) {
    EXPECT_EQ(hipMemcpy3D(&back), hipSuccess);
    EXPECT_EQ(part, wanted);
    back.from_at = {6, 1, 1};
    EXPECT_EQ(hipMemcpy3D(&back), hipErrorInvalidValue) << "beyond the rows";
    back.from_at = {4, 1, 2};
    EXPECT_EQ(hipMemcpy3D(&back), hipErrorInvalidValue) << "beyond the slices";
    back.from_at = {SIZE_MAX / 4 + 2, 1, 1};
    EXPECT_EQ(hipMemcpy3D(&back), hipErrorInvalidValue) << "more bytes than there can be";
    back.from_at = {4, 1, 1}, back.from.memory = part.data();
    EXPECT_EQ(hipMemcpy3D(&back), hipErrorInvalidValue) << "an array and memory";
    void* const wide = make(kWidth, kHeight, kDepth, 0, kShorts2);
    void* const narrow = make(kWidth, kHeight, kDepth, 0, {8, 0, 0, 0, 1});
    BoxParameters between{};
    between.from_array = array, between.to_array = narrow, between.extent = {1, 1, 1};
    EXPECT_EQ(hipMemcpy3D(&between), hipErrorInvalidValue) << "elements of other sizes";
    between.to_array = wide;
    EXPECT_EQ(hipMemcpy3D(&between), hipSuccess);
    for (void* each : {wide, narrow}) EXPECT_EQ(hipFreeArray(each), hipSuccess);
}

TEST_F(Boxes, AreCopiedByTheStructsOfDriversInBytes) {
    DriverBoxParameters<size_t> d{};
    DriverBoxParameters<unsigned> of_hip5{};
    const auto fill_in = [&](auto& of) {
        const bool is_new = major_version() >= 6;
        of.from_type = is_new ? 10 : 2, of.from_array = array, of.from_x = 16, of.from_y = of.from_z = 1;
        of.to_type = is_new ? 1 : 0, of.to_host = part.data(), of.to_pitch = 8, of.to_height = 3;
        of.width = 8, of.height = 3, of.depth = 2;
    };
    fill_in(d), fill_in(of_hip5);
    const void* const driver = major_version() >= 6 ? static_cast<void*>(&d) : &of_hip5;
    std::ranges::fill(part, 0);
    EXPECT_EQ(hipDrvMemcpy3D(driver), hipSuccess);
    EXPECT_EQ(part, wanted);
    std::ranges::fill(part, 0);
    EXPECT_EQ(hipDrvMemcpy3DAsync(driver, nullptr), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(part, wanted);
    EXPECT_EQ(hipDrvMemcpy3D(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDrvMemcpy3DAsync(nullptr, nullptr), hipErrorInvalidValue);
}

TEST_F(Boxes, RowsOfTheFirstSliceAreCopiedByTheStructOfDriversForPlanes) {
    RowsParameters rows{};
    rows.from_type = major_version() >= 6 ? 10 : 2, rows.from_array = array, rows.from_x = 8, rows.from_y = 2;
    rows.to_type = major_version() >= 6 ? 1 : 0, rows.to_host = part.data(), rows.to_pitch = 8;
    rows.width = 8, rows.height = 2;
    EXPECT_EQ(hipMemcpyParam2D(&rows), hipSuccess);
    const Words first{all[2 * kWidth + 2], all[2 * kWidth + 3], all[3 * kWidth + 2], all[3 * kWidth + 3]};
    EXPECT_EQ(Words(part.begin(), part.begin() + 4), first);
    std::ranges::fill(part, 0);
    EXPECT_EQ(hipDrvMemcpy2DUnaligned(&rows), hipSuccess);
    EXPECT_EQ(Words(part.begin(), part.begin() + 4), first);
    EXPECT_EQ(hipDrvMemcpy2DUnaligned(nullptr), hipErrorInvalidValue);
}

TEST_F(Boxes, AreCopiedByNodesOfGraphsThatTellOfThem) {
    void *graph = nullptr, *node = nullptr, *executable = nullptr;
    EXPECT_EQ(hipGraphCreate(&graph, 0), hipSuccess);
    EXPECT_EQ(hipGraphAddMemcpyNode(&node, graph, nullptr, 0, &back), hipSuccess);
    BoxParameters told{};
    EXPECT_EQ(hipGraphMemcpyNodeGetParams(node, &told), hipSuccess);
    EXPECT_EQ(std::memcmp(&told, &back, sizeof back), 0);
    EXPECT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
    std::ranges::fill(part, 0);
    EXPECT_EQ(hipGraphLaunch(executable, nullptr), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(part, wanted);
    EXPECT_EQ(hipGraphExecDestroy(executable), hipSuccess);
    EXPECT_EQ(hipGraphDestroy(graph), hipSuccess);
}

}  // namespace
}  // namespace strata::hip::library
