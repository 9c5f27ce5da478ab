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

TEST_F(Runtime, ABufferKeepsItsAddress) {
    Buffer a(device(), dtypes::float32, 100), b(device(), dtypes::float32, 100);
    hip::DevicePtr first = a.address();
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
