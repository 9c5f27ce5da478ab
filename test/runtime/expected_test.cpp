// What a schedule's output is compared with: exactly for integers, for sums of floats within what another order makes.
#include "strata/runtime/expected_p.h"

#include "helpers.h"

namespace strata::runtime {
namespace {

using namespace test;

class ExpectedOutput : public Runtime {
  protected:
    static constexpr int64_t kCount = 3000;

    template <class T>
    static void fill(Buffer& buffer, const std::vector<T>& values) {
        buffer.copy_in(values.data(), values.size() * sizeof(T));
    }
    static std::vector<float> numbers() {
        std::vector<float> values(kCount);
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.5f;
        return values;
    }
};

TEST_F(ExpectedOutput, IsTheSameWithinWhatAnotherOrderOfSumsMakes) {
    Buffer buffer(device(), dtypes::float32, kCount);
    Expected expected(buffer);
    std::vector<float> values = numbers();
    fill(buffer, values);
    expected.take();
    fill(buffer, values);
    EXPECT_EQ(expected.difference(false), "");
    values[7] += 0.01f;
    fill(buffer, values);
    EXPECT_EQ(expected.difference(false), "");
    values[7] += 1;
    fill(buffer, values);
    EXPECT_NE(expected.difference(false).find("off by 1.0"), std::string::npos);
}

TEST_F(ExpectedOutput, KnowsWhatWasNotWritten) {
    Buffer buffer(device(), dtypes::float32, kCount);
    Expected expected(buffer);
    const std::vector<float> values = numbers();
    fill(buffer, values);
    expected.take();
    EXPECT_NE(expected.difference(true), "") << "nothing at all";
    buffer.copy_in(values.data(), 400);
    EXPECT_EQ(expected.difference(true), "");
    buffer.copy_in(values.data(), 400);
    EXPECT_NE(expected.difference(false).find("2900 of 3000 elements are not written"), std::string::npos);
    fill(buffer, values);
    EXPECT_EQ(expected.difference(false), "") << "what a launch left is gone before the next";
    EXPECT_NE(expected.difference(true), "");
}

TEST_F(ExpectedOutput, OfIntegersIsExactAndOfInfinitiesTheSame) {
    Buffer whole(device(), dtypes::int32, kCount), real(device(), dtypes::float32, 2);
    Expected integers(whole), floats(real);
    std::vector<int32_t> values(kCount, 1 << 30);
    fill(whole, values);
    integers.take();
    values[2999] += 1;
    fill(whole, values);
    EXPECT_NE(integers.difference(false), "");
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    fill<float>(real, {infinity, nan});
    floats.take();
    fill<float>(real, {infinity, nan});
    EXPECT_EQ(floats.difference(false), "");
    fill<float>(real, {-infinity, nan});
    EXPECT_NE(floats.difference(false), "");
    fill<float>(real, {infinity, 0});
    EXPECT_NE(floats.difference(false), "");
}

}  // namespace
}  // namespace strata::runtime
