// Streams that wait for values in memory, and write them.
#include <atomic>
#include <chrono>
#include <thread>

#include "fixture.h"

namespace strata::hip::library {
namespace {

enum Comparison : unsigned { at_least, equal, common_bits, missing_bits };
constexpr uint32_t kAll = ~0u;

class StreamValues : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
        ASSERT_EQ(hipStreamCreate(&other), hipSuccess);
        ASSERT_EQ(hipHostMalloc(&memory, 64, 0), hipSuccess);
        std::fill_n(words(), 16, 0u);
    }
    void TearDown() override {
        EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
        EXPECT_EQ(hipStreamDestroy(other), hipSuccess);
        (void)hipHostFree(memory);
    }
    uint32_t* words() const { return static_cast<uint32_t*>(memory); }
    uint64_t* longs() const { return static_cast<uint64_t*>(memory); }
    void *stream = nullptr, *other = nullptr, *memory = nullptr;
};

TEST_F(StreamValues, AreWritten) {
    EXPECT_EQ(hipStreamWriteValue32(stream, words(), 7, 0), hipSuccess);
    EXPECT_EQ(hipStreamWriteValue64(nullptr, words() + 2, uint64_t{3} << 32 | 5, 0), hipSuccess);
    EXPECT_EQ(Words(words(), words() + 4), (Words{7, 0, 5, 3}));
    int local = 0;
    EXPECT_EQ(hipStreamWriteValue32(nullptr, nullptr, 7, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamWriteValue32(nullptr, &local, 7, 0), hipErrorInvalidValue) << "no memory of a device";
    EXPECT_EQ(hipStreamWriteValue64(nullptr, words() + 1, 7, 0), hipErrorInvalidValue) << "not aligned";
    EXPECT_EQ(hipStreamWriteValue64(nullptr, words() + 4, 7, 1), hipSuccess) << "flags are reserved, and ignored";
    EXPECT_EQ(hipStreamWriteValue32(&local, words(), 7, 0), hipErrorContextIsDestroyed);
}

TEST_F(StreamValues, AreWaitedForByEachComparison) {
    struct Case {
        unsigned comparison;
        uint32_t value, mask, before, behind;
    };
    constexpr Case kCases[] = {
        {at_least, 5, kAll, 4, 5},
        {at_least, 0x80000000, kAll, 0x7fffffff, 0x80000001},  // without a sign
        {at_least, 4, 0xf, 0xf3, 0x16},
        {equal, 9, kAll, 8, 9},
        {equal, 1, 0xffff, 0x0fff0000, 0x0fff0001},
        {common_bits, 6, kAll, 9, 2},
        {common_bits, 0xf4a, 0xff, 0xf35, 2},
        {missing_bits, 0x55555555, kAll, 0xaaaaaaaa, 0xaaaaaaa8},
        {missing_bits, 0x0f, 0xff, 0xf0, 0x30},
    };
    for (const Case& one : kCases) {
        SCOPED_TRACE(testing::Message() << one.comparison << ' ' << one.value << ' ' << one.mask);
        words()[0] = one.before, words()[1] = 0;
        EXPECT_EQ(hipStreamWaitValue32(stream, words(), one.value, one.comparison, one.mask), hipSuccess);
        EXPECT_EQ(hipStreamWriteValue32(stream, words() + 1, 1, 0), hipSuccess);
        EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
        EXPECT_EQ(words()[1], 0u);
        words()[0] = one.behind;
        EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
        EXPECT_EQ(words()[1], 1u);
    }
    longs()[0] = uint64_t{1} << 40;
    EXPECT_EQ(hipStreamWaitValue64(stream, longs(), uint64_t{1} << 41, at_least, ~uint64_t{0}), hipSuccess);
    EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
    longs()[0] = uint64_t{1} << 41;
    EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue64(stream, longs(), uint64_t{1} << 41, equal, ~uint64_t{0}), hipSuccess);
    EXPECT_EQ(hipStreamQuery(stream), hipSuccess) << "it is there";
}

TEST_F(StreamValues, RefuseWhatCannotBeWaitedFor) {
    int local = 0;
    EXPECT_EQ(hipStreamWaitValue32(stream, nullptr, 1, equal, kAll), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamWaitValue32(stream, &local, 1, equal, kAll), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 1, 4, kAll), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamWaitValue64(stream, words() + 15, 1, equal, kAll), hipErrorInvalidValue) << "it ends before";
    EXPECT_EQ(hipStreamWaitValue64(&local, words(), 1, equal, kAll), hipErrorContextIsDestroyed);
    EXPECT_EQ(hipStreamBeginCapture(stream, 2), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 1, equal, kAll), hipErrorStreamCaptureUnsupported);
    void* graph = nullptr;
    EXPECT_EQ(hipStreamEndCapture(stream, &graph), hipErrorStreamCaptureInvalidated);
}

TEST_F(StreamValues, HoldUpWhatIsCalledBehindThemAndNothingElse) {
    AddOne kernel;
    void *x = filled(counted(5)), *out = filled(Words(kCount)), *event = nullptr, *third = nullptr;
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    ASSERT_EQ(hipStreamCreateWithFlags(&third, 1), hipSuccess);
    Words got(kCount);
    void* arguments[] = {&out, &x};
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 1, equal, kAll), hipSuccess);
    EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr), hipSuccess);
    EXPECT_EQ(hipMemcpyAsync(got.data(), out, kCount * 4, 2, stream), hipSuccess);
    EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
    EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
    EXPECT_EQ(hipStreamWaitEvent(other, event, 0), hipSuccess);
    EXPECT_EQ(hipStreamWriteValue32(other, words() + 1, 8, 0), hipSuccess);
    EXPECT_EQ(hipStreamQuery(other), hipErrorNotReady) << "it waits for the event";
    EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady) << "the legacy stream waits for all";
    EXPECT_EQ(hipStreamWriteValue32(nullptr, words() + 2, words()[1] + 1, 0), hipSuccess);
    EXPECT_EQ(words()[2], 0u);
    EXPECT_EQ(got, Words(kCount));
    EXPECT_EQ(hipStreamWriteValue32(third, words(), 1, 0), hipSuccess) << "a stream that goes on by itself";
    EXPECT_EQ(words()[1], 8u) << "what it wrote lets all others go on";
    EXPECT_EQ(words()[2], 1u);
    EXPECT_EQ(got, counted(6));
    EXPECT_EQ(hipEventQuery(event), hipSuccess);
    for (void* one : {stream, other, third}) EXPECT_EQ(hipStreamQuery(one), hipSuccess);
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(hipStreamDestroy(third), hipSuccess);
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
    free_all({x, out});
}

TEST_F(StreamValues, AreSeenWhenAnotherThreadWritesThem) {
    void* event = nullptr;
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    for (const bool by_event : {false, true}) {
        words()[0] = words()[1] = 0;
        EXPECT_EQ(hipStreamWaitValue32(stream, words(), 3, at_least, kAll), hipSuccess);
        EXPECT_EQ(hipStreamWriteValue32(stream, words() + 1, 4, 0), hipSuccess);
        EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
        std::thread writer([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            std::atomic_ref(words()[0]).store(3);
        });
        EXPECT_EQ(by_event ? hipEventSynchronize(event) : hipDeviceSynchronize(), hipSuccess);
        EXPECT_EQ(words()[1], 4u);
        writer.join();
    }
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
}

/// Writes the word that the stream waits for after a while, from another thread.
std::thread later(uint32_t* word) {
    return std::thread([word] {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::atomic_ref(*word).store(1);
    });
}

TEST_F(StreamValues, KeepMemoryThatIsFreedBehindThem) {
    AddOne kernel;
    void *x = nullptr, *out = filled(Words(kCount));
    ASSERT_EQ(hipMallocAsync(&x, kCount * 4, stream), hipSuccess);
    ASSERT_EQ(hipMemsetD32(x, 5, kCount), hipSuccess);
    void* arguments[] = {&out, &x};
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 1, equal, kAll), hipSuccess);
    EXPECT_EQ(hipModuleLaunchKernel(kernel.function, 1, 1, 1, kCount, 1, 1, 0, stream, arguments, nullptr), hipSuccess);
    EXPECT_EQ(hipFreeAsync(x, stream), hipSuccess) << "after the kernel";
    EXPECT_EQ(hipFreeAsync(words() + 1, stream), hipErrorInvalidValue) << "not where it starts";
    EXPECT_EQ(hipStreamWriteValue32(other, words(), 1, 0), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_EQ(read(out), Words(kCount, 6));
    EXPECT_EQ(hipFree(x), hipErrorInvalidValue) << "it is freed";
    free_all({out});
}

TEST_F(StreamValues, KeepRegisteredMemoryUntilWhatUsesItIsDone) {
    Words own(1024);
    void* const x = filled(counted(3));
    ASSERT_EQ(hipHostRegister(own.data(), own.size() * 4, 0), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 1, equal, kAll), hipSuccess);
    EXPECT_EQ(hipMemcpyAsync(own.data(), x, kCount * 4, 2, stream), hipSuccess);
    std::thread writer = later(words());
    EXPECT_EQ(hipHostUnregister(own.data()), hipSuccess);
    EXPECT_EQ(Words(own.begin(), own.begin() + kCount), counted(3));
    writer.join();
    EXPECT_EQ(hipHostUnregister(own.data()), hipErrorHostMemoryNotRegistered);
    free_all({x});
}

TEST_F(StreamValues, ThatNobodyIsLeftToWriteAreADeadlock) {
    EXPECT_EQ(hipStreamWaitValue32(stream, words(), 5, at_least, 0xff), hipSuccess);
    EXPECT_EQ(hipStreamWaitValue32(other, words() + 1, 5, at_least, kAll), hipSuccess);
    EXPECT_EQ(hipStreamWriteValue32(other, words(), 5, 0), hipSuccess);  // what the first stream waits for
    void* event = nullptr;
    ASSERT_EQ(hipEventCreate(&event), hipSuccess);
    EXPECT_EQ(hipEventRecord(event, stream), hipSuccess);
    testing::internal::CaptureStderr();
    EXPECT_EQ(hipStreamSynchronize(stream), hipErrorLaunchTimeOut);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("strata: deadlock: stream "), std::string::npos) << told;
    EXPECT_NE(told.find("& 0xff are at least 0x5 (there is 0x0)"), std::string::npos) << told;
    EXPECT_NE(told.find("no other thread of the program runs"), std::string::npos) << told;
    EXPECT_EQ(hipStreamQuery(stream), hipErrorLaunchTimeOut) << "as after a fault";
    EXPECT_EQ(hipDeviceReset(), hipSuccess);
    EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
    EXPECT_EQ(hipEventSynchronize(event), hipSuccess) << "the work before it is dropped";
    EXPECT_EQ(hipEventDestroy(event), hipSuccess);
}

TEST_F(StreamValues, AreAnAttributeOfTheDevice) {
    int waits = 0, maps = 0;
    EXPECT_EQ(hipDeviceGetAttribute(&waits, 10013, 0), hipSuccess);  // hipDeviceAttributeCanUseStreamWaitValue
    EXPECT_EQ(hipDeviceGetAttribute(&maps, 89, 0), hipSuccess);      // ...VirtualMemoryManagementSupported
    EXPECT_EQ(waits + maps, 2);
}

}  // namespace
}  // namespace strata::hip::library
