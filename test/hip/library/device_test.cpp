// Devices: what they say of themselves, and how several of one arch reach each other. Each arch has two here.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "fixture.h"

namespace strata::hip::library {
namespace {

const int kTwoOfEach = setenv("HIP_STRATA_DEVICES", "2", 1);  // before any call looks for devices

class Devices : public Library {};

TEST_F(Devices, AreSeveralOfEachArch) {
    int count = 0, device = -1;
    ASSERT_EQ(kTwoOfEach, 0);
    EXPECT_EQ(hipGetDeviceCount(&count), hipSuccess);
    EXPECT_EQ(count, 2 * emulator().device_count().value());
    EXPECT_EQ(hipDeviceGet(&device, 1), hipSuccess);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(hipDeviceGet(&device, count), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceGet(nullptr, 0), hipErrorInvalidValue);
    char first[64], second[64];
    EXPECT_EQ(hipDeviceGetPCIBusId(first, sizeof first, 0), hipSuccess);
    EXPECT_EQ(hipDeviceGetPCIBusId(second, sizeof second, 1), hipSuccess);
    EXPECT_NE(std::string(first), second);
    EXPECT_EQ(hipDeviceGetPCIBusId(first, 5, 0), hipErrorInvalidValue) << "no room";
}

TEST_F(Devices, SayWhatTheyAre) {
    int version = 0, value = 0, minor = -1;
    size_t bytes = 0, free = 0, total = 0;
    char name[64];
    std::array<char, 16> uuid{}, other{};
    std::array<std::byte, kPropertiesBytes5> old{};
    EXPECT_EQ(hipInit(0), hipSuccess);
    EXPECT_EQ(hipRuntimeGetVersion(&value), hipSuccess);
    EXPECT_EQ(hipDriverGetVersion(&version), hipSuccess);
    EXPECT_EQ(value, version);
    EXPECT_EQ(version / 10'000'000, 7);
    EXPECT_EQ(hipDriverGetVersion(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetName(name, sizeof name, 0), hipSuccess);
    EXPECT_EQ(std::string(name), "7900xtx (emulated)");
    EXPECT_EQ(hipDeviceGetName(nullptr, 9, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetName(name, 9, 99), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceGetUuid(uuid.data(), 0), hipSuccess);
    EXPECT_EQ(hipDeviceGetUuid(other.data(), 1), hipSuccess);
    EXPECT_NE(uuid, other);
    EXPECT_EQ(hipDeviceGetUuid(nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceTotalMem(&bytes, 0), hipSuccess);
    EXPECT_EQ(hipMemGetInfo(&free, &total), hipSuccess);
    EXPECT_EQ(bytes, total);
    EXPECT_EQ(hipDeviceTotalMem(&bytes, -1), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceComputeCapability(&value, &minor, 0), hipSuccess);
    EXPECT_EQ(value * 10 + minor, 110);
    EXPECT_EQ(hipDeviceComputeCapability(&value, nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipGetDevicePropertiesR0000(old.data(), 0), hipSuccess);
    EXPECT_TRUE(text_of(read_properties(Layout::hip5, old).gcnArchName).starts_with("gfx1100"));
    EXPECT_EQ(hipGetDevicePropertiesR0000(old.data(), 99), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceGetAttribute(&value, 10017, 0), hipSuccess);  // WallClockRate
    EXPECT_EQ(value, 100'000);
}

TEST_F(Devices, AreChosenByWhatAProgramAsksOfThem) {
    std::array<std::byte, kPropertiesBytes5> five{};
    std::array<std::byte, kPropertiesBytesR0600> six{};
    int chosen = -1;
    EXPECT_EQ(hipChooseDevice(&chosen, five.data()), hipSuccess);
    EXPECT_EQ(chosen, 0) << "nothing is asked for";
    for (int device = 0; device < static_cast<int>(devices().size()); ++device) {
        ASSERT_EQ(hipGetDevicePropertiesR0600(six.data(), device), hipSuccess);
        const Properties asked = read_properties(Layout::r0600, six);
        EXPECT_EQ(hipChooseDeviceR0600(&chosen, six.data()), hipSuccess);
        EXPECT_LE(chosen, device) << "the first that has as much";
        ASSERT_EQ(hipGetDevicePropertiesR0600(six.data(), chosen), hipSuccess);
        const Properties got = read_properties(Layout::r0600, six);
        EXPECT_GE(got.totalGlobalMem, asked.totalGlobalMem);
        EXPECT_GE(got.multiProcessorCount, asked.multiProcessorCount);
        EXPECT_GE(got.warpSize, asked.warpSize);
    }
    Properties wide;
    wide.warpSize = 64;
    write_properties(wide, Layout::hip5, five);
    EXPECT_EQ(hipChooseDeviceR0000(&chosen, five.data()), hipSuccess);
    ASSERT_EQ(hipGetDeviceProperties(five.data(), chosen), hipSuccess);
    EXPECT_EQ(read_properties(Layout::hip5, five).warpSize, 64);
    wide.warpSize = 128;
    write_properties(wide, Layout::hip5, five);
    EXPECT_EQ(hipChooseDevice(&chosen, five.data()), hipSuccess);
    EXPECT_EQ(chosen, 0) << "none has so much";
    EXPECT_EQ(hipChooseDevice(nullptr, five.data()), hipErrorInvalidValue);
    EXPECT_EQ(hipChooseDeviceR0600(&chosen, nullptr), hipErrorInvalidValue);
}

TEST_F(Devices, KeepWhatIsSetOfThem) {
    unsigned flags = 9;
    int value = 9, least = 0, greatest = 0;
    EXPECT_EQ(hipSetDeviceFlags(2), hipSuccess);
    EXPECT_EQ(hipGetDeviceFlags(&flags), hipSuccess);
    EXPECT_EQ(flags, 2u);
    EXPECT_EQ(hipSetDevice(1), hipSuccess);
    EXPECT_EQ(hipGetDeviceFlags(&flags), hipSuccess);
    EXPECT_EQ(flags, 0u) << "another device's";
    EXPECT_EQ(hipSetDevice(0), hipSuccess);
    EXPECT_EQ(hipSetDeviceFlags(3), hipErrorInvalidValue) << "spins and yields";
    EXPECT_EQ(hipSetDeviceFlags(0), hipSuccess);
    EXPECT_EQ(hipGetDeviceFlags(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetStreamPriorityRange(&least, &greatest), hipSuccess);
    EXPECT_TRUE(least == 1 && greatest == -1);
    EXPECT_EQ(hipDeviceGetStreamPriorityRange(nullptr, nullptr), hipSuccess);
    EXPECT_EQ(hipDeviceSetCacheConfig(1), hipSuccess);
    EXPECT_EQ(hipDeviceSetCacheConfig(4), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetCacheConfig(&value), hipSuccess);
    EXPECT_EQ(value, 0);
    EXPECT_EQ(hipDeviceGetCacheConfig(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceSetSharedMemConfig(2), hipSuccess);
    EXPECT_EQ(hipDeviceSetSharedMemConfig(-1), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetSharedMemConfig(&value), hipSuccess);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(hipDeviceGetSharedMemConfig(nullptr), hipErrorInvalidValue);
}

TEST_F(Devices, KeepLimitsOfTheirOwnUpToWhatAMachineHas) {
    constexpr int kStack = 0, kPrinted = 1, kHeap = 2;
    constexpr size_t kMostStack = 131056;  // bytes of a lane, as rocdevice.cpp of ROCm/clr counts them
    size_t stack = 0, heap = 0, now = 0, free = 0, total = 0;
    ASSERT_EQ(hipMemGetInfo(&free, &total), hipSuccess);
    EXPECT_EQ(hipDeviceGetLimit(&stack, kStack), hipSuccess);
    EXPECT_EQ(hipDeviceGetLimit(&heap, kHeap), hipSuccess);
    EXPECT_TRUE(stack == 1024 && heap == 64 << 20);
    for (const auto& [wanted, given] : {std::pair<size_t, size_t>(stack + 8, stack + 16), {kMostStack, kMostStack}}) {
        EXPECT_EQ(hipDeviceSetLimit(kStack, wanted), hipSuccess);
        EXPECT_EQ(hipDeviceGetLimit(&now, kStack), hipSuccess);
        EXPECT_EQ(now, given) << "in units of 16 bytes";
    }
    for (const size_t wanted : {kMostStack + 1, SIZE_MAX - 15, SIZE_MAX})
        EXPECT_EQ(hipDeviceSetLimit(kStack, wanted), hipErrorInvalidValue) << wanted;
    for (const size_t wanted : {total, SIZE_MAX})
        EXPECT_EQ(hipDeviceSetLimit(kHeap, wanted), hipErrorInvalidValue) << wanted;
    EXPECT_EQ(hipDeviceSetLimit(kHeap, total - 1), hipSuccess);
    EXPECT_EQ(hipDeviceGetLimit(&now, kHeap), hipSuccess);
    EXPECT_EQ(now, total - 1);
    EXPECT_EQ(hipDeviceGetLimit(&now, kStack), hipSuccess);
    EXPECT_EQ(now, kMostStack) << "what is refused changes nothing";
    EXPECT_EQ(hipDeviceSetLimit(kPrinted, 4096), hipErrorUnsupportedLimit);
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    EXPECT_EQ(hipDeviceGetLimit(&now, kStack), hipSuccess);
    EXPECT_EQ(now, stack) << "another device's";
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    EXPECT_EQ(hipDeviceSetLimit(kStack, stack), hipSuccess);
    EXPECT_EQ(hipDeviceSetLimit(kHeap, heap), hipSuccess);
}

TEST_F(Devices, ErrorsHaveNamesAndTheCallThatWasLast) {
    const char* text = nullptr;
    EXPECT_EQ(hipDrvGetErrorName(hipErrorNotReady, &text), hipSuccess);
    EXPECT_EQ(std::string(text), "hipErrorNotReady");
    EXPECT_EQ(hipDrvGetErrorString(hipErrorOutOfMemory, &text), hipSuccess);
    EXPECT_EQ(std::string(text), "out of memory");
    EXPECT_EQ(hipDrvGetErrorName(0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipDrvGetErrorString(0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipSetDevice(99), hipErrorInvalidDevice);
    EXPECT_EQ(hipExtGetLastError(), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(hipExtGetLastError(), hipSuccess) << "of the last call";
    for (int again = 0; again < 2; ++again) EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice) << "the last that failed";
    EXPECT_EQ(hipPeekAtLastError(), hipSuccess) << "it was reported";
}

TEST_F(Devices, PeersOfOneArchReachEachOthersMemoryOnceItIsEnabled) {
    int can = -1;
    EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 1), hipSuccess);
    EXPECT_EQ(can, 1);
    EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 0), hipSuccess);
    EXPECT_EQ(can, 0) << "itself";
    EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 2), hipSuccess);
    EXPECT_EQ(can, 0) << "of another arch";
    EXPECT_EQ(hipDeviceEnablePeerAccess(2, 0), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);
    EXPECT_EQ(hipDeviceEnablePeerAccess(1, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
    EXPECT_EQ(hipDeviceGetP2PAttribute(&can, 1, 0, 1), hipSuccess);
    EXPECT_EQ(can, 1);
    EXPECT_EQ(hipDeviceGetP2PAttribute(&can, 3, 0, 1), hipSuccess);
    EXPECT_EQ(can, 0) << "there are no arrays";
    EXPECT_EQ(hipDeviceGetP2PAttribute(&can, 4, 0, 1), hipErrorInvalidValue);
    EXPECT_EQ(hipDeviceGetP2PAttribute(&can, 1, 0, 99), hipErrorInvalidDevice);
    uint32_t type = 0, hops = 0;
    EXPECT_EQ(hipExtGetLinkTypeAndHopCount(0, 1, &type, &hops), hipSuccess);
    EXPECT_TRUE(type == 2 && hops == 2);
    EXPECT_EQ(hipExtGetLinkTypeAndHopCount(0, 0, &type, &hops), hipErrorInvalidValue);

    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    void* there = filled(counted(10));
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    void* here = filled(Words(kCount));
    EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipSuccess);
    EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    void* later = filled(counted(50));  // after the call
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    const AddOne kernel;
    for (auto [memory, first] : {std::pair(there, 11u), {later, 51u}}) {
        void* arguments[] = {&here, &memory};
        EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr),
                  hipSuccess);
        EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
        EXPECT_EQ(read(here), counted(first));
    }
    EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipSuccess);
    free_all({here, there, later});
}

TEST_F(Devices, ThatWereNotEnabledDoNotReachIt) {
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    void* there = filled(counted(10));
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    void* here = filled(Words(kCount));
    AddOne kernel;
    void* arguments[] = {&here, &there};
    testing::internal::CaptureStderr();
    EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), hipSuccess);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("reads 4 bytes"), std::string::npos);
    EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    EXPECT_EQ(hipFree(here), hipErrorInvalidValue) << "gone with the reset";
    free_all({there});
}

TEST_F(Devices, ShareMemoryOfTheHost) {
    void *pinned = nullptr, *here = filled(Words(kCount));
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    ASSERT_EQ(hipHostMalloc(&pinned, kCount * 4, 0), hipSuccess);
    std::ranges::copy(counted(7), static_cast<uint32_t*>(pinned));
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    const AddOne kernel;
    void* arguments[] = {&here, &pinned};
    EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr), hipSuccess);
    EXPECT_EQ(read(here), counted(8));
    EXPECT_EQ(hipHostFree(pinned), hipSuccess);
    free_all({here});
}

TEST_F(Devices, CopyBetweenEachOther) {
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    void* there = filled(Words(kCount));
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
    void* here = filled(counted(3));
    EXPECT_EQ(hipMemcpyPeer(there, 1, here, 0, 64), hipSuccess);
    EXPECT_EQ(read(there, 16), counted(3, 16));
    EXPECT_EQ(hipMemcpyPeerAsync(there, 1, here, 0, kCount * 4, nullptr), hipSuccess);
    EXPECT_EQ(read(there), counted(3));
    EXPECT_EQ(hipMemcpyPeer(there, 1, here, 0, 1 << 20), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyPeer(there, 99, here, 0, 4), hipErrorInvalidDevice);
    EXPECT_EQ(hipMemcpyPeerAsync(nullptr, 1, here, 0, 4, nullptr), hipErrorInvalidValue);
    free_all({here, there});
}

}  // namespace
}  // namespace strata::hip::library
