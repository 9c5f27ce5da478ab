#include "strata/runtime/buffer.h"

#include <fstream>

#include "helpers.h"

namespace strata::runtime {
namespace {

TEST_F(Runtime, ABufferHoldsWhatIsCopiedIn) {
    Buffer b(device(), dtypes::int16, 5);
    EXPECT_EQ(b.bytes(), 10u);
    EXPECT_FALSE(b.allocated());
    std::vector<int16_t> in{1, -2, 3, -4, 5}, out(5);
    b.copy_in(in.data(), 10);
    EXPECT_TRUE(b.allocated());
    b.copy_out(out.data(), 10);
    EXPECT_EQ(out, in);
    EXPECT_EQ(std::memcmp(b.host_view(), in.data(), 10), 0);
    static_cast<int16_t*>(b.host_view())[2] = 77;
    b.copy_out(out.data(), 10);
    EXPECT_EQ(out[2], 77);
}

TEST_F(Runtime, ARepeatedPatternIsThereWhereverOneLooksAndIsWrittenOverLikeAnyMemory) {
    for (const size_t period : {size_t{4096} * 3, size_t{5000}})  // pages that are shared, and not
        for (const int64_t size : {int64_t{100}, int64_t{4096} * 3, (int64_t{9} << 20) + 7}) {
            std::vector<uint8_t> pattern(period);
            for (size_t i = 0; i < period; ++i) pattern[i] = static_cast<uint8_t>(i * 7 + i / 251);
            Buffer b(device(), dtypes::uint8, size), late(device(), dtypes::uint8, size);
            late.address();
            for (Buffer* each : {&b, &late}) {
                each->repeat(pattern);
                std::vector<uint8_t> out(each->bytes());
                each->copy_out(out.data(), out.size());
                for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], pattern[i % period]) << i;
            }
            const uint8_t other = 0xee;
            b.copy_in(&other, 1);
            std::vector<uint8_t> out(b.bytes());
            b.copy_out(out.data(), out.size());
            EXPECT_EQ(out[0], other);
            for (size_t i = 1; i < out.size(); ++i) ASSERT_EQ(out[i], pattern[i % period]) << "a write is of one place";
        }
}

TEST_F(Runtime, APatternIsWhatItWasThoughMemoryThatShowsItWasWritten) {
    const auto filled = [](size_t pages, uint8_t value) { return std::vector<uint8_t>(4096 * pages, value); };
    for (const auto& pattern :
         {filled(31, 5), filled(31, 5), filled(31, 6), filled(7, 6), filled(31, 5), filled(2000, 7)})
        for (int i = 0; i < 2; ++i) {
            Buffer b(device(), dtypes::uint8, int64_t{33} << 20);
            b.repeat(pattern);
            auto* const bytes = static_cast<uint8_t*>(b.host_view());
            ASSERT_EQ(std::count(bytes, bytes + b.bytes(), pattern[0]), int64_t{33} << 20);
            std::fill(bytes, bytes + b.bytes() / 2, 9);
        }
}

TEST_F(Runtime, ARepeatedPatternTakesTheHostsMemoryOnce) {
    const auto resident = [] {
        size_t total = 0, pages = 0, shared = 0;
        std::ifstream("/proc/self/statm") >> total >> pages >> shared;
        return (pages - shared) * 4096;
    };
    const std::vector<uint8_t> pattern(4096 * 31, 5);
    for (int i = 0; i < 3; ++i) {
        const size_t before = resident();
        Buffer b(device(), dtypes::uint8, int64_t{256} << 20);
        b.repeat(pattern);
        uint64_t sum = 0;
        const auto* const bytes = static_cast<const uint8_t*>(b.host_view());
        for (size_t at = 0; at < b.bytes(); at += 4096) sum += bytes[at];
        EXPECT_EQ(sum, 5 * b.bytes() / 4096);
        EXPECT_LT(resident(), before + (64u << 20)) << "of 256 MiB";
    }
    Buffer own(device(), dtypes::uint8, int64_t{256} << 20);  // perhaps where one of them was
    std::vector<uint8_t> zeros(1 << 20), out(1 << 20);
    own.copy_in(zeros.data(), zeros.size());
    own.copy_out(out.data(), out.size());
    EXPECT_EQ(out, zeros);
}

TEST_F(Runtime, ABufferKeepsItsAddress) {
    Buffer a(device(), dtypes::float32, 100), b(device(), dtypes::float32, 100);
    providers::DevicePtr first = a.address();
    EXPECT_NE(first, b.address());
    EXPECT_EQ(a.address(), first);
}

TEST_F(Runtime, AnEmptyBufferCopiesNothing) {
    Buffer b(device(), dtypes::float32, 0);
    b.copy_in(nullptr, 0);
    b.copy_out(nullptr, 0);
    EXPECT_EQ(b.bytes(), 0u);
}

TEST_F(Runtime, CopyingMoreThanThereIsThrows) {
    Buffer b(device(), dtypes::float32, 4);
    std::vector<float> many(100000);
    EXPECT_THROW(b.copy_in(many.data(), many.size() * 4), Exception);
    EXPECT_THROW(b.copy_out(many.data(), many.size() * 4), Exception);
}

TEST_F(Runtime, TheMemoryOfABufferNodeGoesWithItsLastRoot) {
    std::weak_ptr<Buffer> memory;
    {
        Root kept;
        {
            Root buffer = on_device({1, 2, 3});
            memory = find_buffer(buffer.get());
            GraphScope scope;
            kept = Root(buffer.get() + test::number(1));
        }
        collect();
        EXPECT_FALSE(memory.expired()) << "a graph over the buffer is alive";
    }
    {
        GraphScope scope;
        collect();
        EXPECT_FALSE(memory.expired()) << "nothing is freed while a graph is being built";
    }
    collect();
    EXPECT_TRUE(memory.expired());
}

size_t resident_bytes() {
    size_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * 4096;
}

TEST_F(Runtime, TwoHundredRoundsNeedTheMemoryOfOne) {
    std::vector<float> host = counting(1 << 17);
    size_t bytes = 0, nodes = 0;
    for (int round = 0; round < 300; ++round) {
        {
            Root x = on_device(host);
            Root sum;
            {
                GraphScope scope;
                sum = Root(x.get() * test::number(2) + x.get());
            }
            Root got = realized(sum.get());
            ASSERT_EQ(*static_cast<float*>(find_buffer(buffer_under(got.get()))->host_view()), 0.0f);
        }
        collect();
        if (round == 100) bytes = resident_bytes(), nodes = live_nodes();
    }
    EXPECT_EQ(live_nodes(), nodes);
    // The emulator reuses freed memory late, and has begun to by then. One buffer a round lost would be 100 MiB.
    EXPECT_LT(resident_bytes(), bytes + (size_t{20} << 20));
}

}  // namespace
}  // namespace strata::runtime
