// Comparison of a schedule's output: exact for integers, for sums of floats within the error of another order.
#include "strata/runtime/search/reference_output_p.h"

#include "helpers.h"

namespace strata::runtime {
namespace {

using namespace test;

class ReferenceOutputs : public Runtime {
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

TEST_F(ReferenceOutputs, IsTheSameWithinWhatAnotherOrderOfSumsMakes) {
    Buffer buffer(device(), dtypes::float32, kCount);
    ReferenceOutput reference(buffer, ReferenceOutput::Extent::whole);
    std::vector<float> values = numbers();
    fill(reference.right(), values);
    reference.take();
    fill(buffer, values);
    EXPECT_EQ(reference.difference(false), "");
    values[7] += 0.01f;
    fill(buffer, values);
    EXPECT_EQ(reference.difference(false), "");
    values[7] += 1;
    fill(buffer, values);
    EXPECT_NE(reference.difference(false)->find("off by 1.0"), std::string::npos);
}

TEST_F(ReferenceOutputs, KnowsWhatWasNotWritten) {
    Buffer buffer(device(), dtypes::float32, kCount);
    ReferenceOutput reference(buffer, ReferenceOutput::Extent::whole);
    const std::vector<float> values = numbers();
    fill(reference.right(), values);
    reference.take();
    EXPECT_NE(reference.difference(true), "") << "nothing at all";
    buffer.copy_in(values.data(), 400);
    EXPECT_EQ(reference.difference(true), "");
    buffer.copy_in(values.data(), 400);
    EXPECT_NE(reference.difference(false)->find("2900 of 3000 elements are not written"), std::string::npos);
    fill(buffer, values);
    EXPECT_EQ(reference.difference(false), "") << "what a launch left is gone before the next";
    EXPECT_NE(reference.difference(true), "");
}

TEST_F(ReferenceOutputs, OfManyPagesIsLookedAtWhereverItWasWritten) {
    constexpr size_t kMany = 3 << 20;  // bytes: more than a block of pages, and not a multiple of one
    Buffer buffer(device(), dtypes::uint8, kMany + 77);
    ReferenceOutput reference(buffer, ReferenceOutput::Extent::whole);
    std::vector<uint8_t> values(kMany + 77);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 31 >> 3);
    fill(reference.right(), values);
    reference.take();
    const auto write = [&](size_t from, size_t bytes, uint8_t change) {
        std::vector<uint8_t> now(bytes);
        for (size_t i = 0; i < bytes; ++i) now[i] = static_cast<uint8_t>(values[from + i] + change);
        auto& api = device().api();
        api.memcpy_to_device(device().ordinal(), buffer.address() + from, now.data(), bytes).value();
    };
    for (const size_t from : {size_t{0}, size_t{4095}, size_t{700001}, size_t{kMany - 10}}) {
        write(from, 80, 0);
        EXPECT_EQ(reference.difference(true), "") << from;
        write(from, 80, 0);
        write(from + 50, 1, 1);
        EXPECT_NE(reference.difference(true), "") << from;
        EXPECT_NE(reference.difference(true)->find("not written"), std::string::npos) << "it is poison again: " << from;
    }
    write(0, values.size(), 0);
    EXPECT_EQ(reference.difference(false), "");
}

TEST_F(ReferenceOutputs, OfAPartIsComparedWhereItIsKnown) {
    constexpr int64_t kMany = 1 << 20, kKnown = 5000, kFrom = 300000;
    Buffer buffer(device(), dtypes::float32, kMany);
    ReferenceOutput reference(buffer, ReferenceOutput::Extent::part);
    EXPECT_FALSE(reference.difference(true)) << "nothing is known yet";
    std::vector<float> values(kKnown);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) * 0.5f;
    const auto write = [&](Buffer& to, int64_t at, std::span<const float> some) {
        to.device()
            .api()
            .memcpy_to_device(device().ordinal(), to.address() + static_cast<size_t>(at) * 4, some.data(),
                              some.size_bytes())
            .value();
    };
    write(reference.right(), kFrom, values);
    reference.take();
    EXPECT_FALSE(reference.difference(true)) << "nothing was written";
    const std::vector<float> wrong(kKnown, -1);
    write(buffer, 0, wrong);
    EXPECT_FALSE(reference.difference(true)) << "written where nothing is known";
    write(buffer, kFrom + kKnown - 10, wrong);
    EXPECT_NE(reference.difference(true).value_or("").find("off by"), std::string::npos);
    EXPECT_FALSE(reference.difference(true)) << "it is poison again";
    write(buffer, kFrom + 1000, std::span(values).subspan(1000, 100));
    EXPECT_EQ(reference.difference(true), "");
    write(buffer, kFrom + kKnown - 10, std::span(values).last(10));
    write(buffer, kFrom + kKnown, wrong);
    EXPECT_EQ(reference.difference(true), "") << "what is next to it is not known";
}

TEST_F(ReferenceOutputs, MayLookLikeWhatNobodyWrote) {
    Buffer buffer(device(), dtypes::uint32, kCount);
    ReferenceOutput reference(buffer, ReferenceOutput::Extent::whole);
    const std::vector<uint32_t> values(kCount, 0xa5a5a5a5);
    fill(reference.right(), values);
    reference.take();
    fill(buffer, values);
    EXPECT_EQ(reference.difference(true), "");
    EXPECT_EQ(reference.difference(false), "");
}

TEST_F(ReferenceOutputs, OfIntegersIsExactAndOfInfinitiesTheSame) {
    Buffer whole(device(), dtypes::int32, kCount), real(device(), dtypes::float32, 2);
    ReferenceOutput integers(whole, ReferenceOutput::Extent::whole), floats(real, ReferenceOutput::Extent::whole);
    std::vector<int32_t> values(kCount, 1 << 30);
    fill(integers.right(), values);
    integers.take();
    values[2999] += 1;
    fill(whole, values);
    EXPECT_NE(integers.difference(false), "");
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    fill<float>(floats.right(), {infinity, nan});
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
