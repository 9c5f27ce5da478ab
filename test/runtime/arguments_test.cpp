#include "strata/runtime/arguments.h"

#include <cstring>

#include "helpers.h"

namespace strata::runtime {
namespace {

using executable::Parameter;
using Number = Argument::Number;

/// A kernel whose parameters lie one after the other.
executable::Code kernel_with(std::vector<Parameter> parameters) {
    executable::Code kernel;
    isa::CodeObject object;
    isa::KernelInfo info;
    info.name = "k";
    uint32_t end = 0;
    for (Parameter& p : parameters) {
        p.offset = (end + p.size - 1) / p.size * p.size;
        end = p.offset + p.size;
        info.args.push_back({p.offset, p.size, "by_value"});
    }
    object.kernels.push_back(info);
    kernel.object = std::make_shared<const isa::CodeObject>(std::move(object));
    kernel.entry = "k";
    kernel.parameters = std::move(parameters);
    return kernel;
}

Parameter pointer() { return {.kind = Parameter::Kind::pointer, .size = 8, .name = "p", .type = "float*"}; }
Parameter number(DType type) {
    return {.kind = Parameter::Kind::number,
            .size = static_cast<uint32_t>(type.bytes()),
            .name = "n",
            .type = "T",
            .dtype = type};
}
Parameter opaque(uint32_t size, bool may_be_number = true) {
    return {.size = size, .name = "o", .type = "S", .may_be_number = may_be_number};
}
Argument of(Number n) { return {n}; }
Argument integer(int64_t i) { return of({Kind::Int, i}); }
Argument real(double f) { return of({Kind::Float, 0, f}); }

template <class T>
T packed(const Parameter& parameter, const Argument& argument) {
    PackedArguments made = PackedArguments::pack(kernel_with({parameter}), std::array{argument}).value();
    T value;
    EXPECT_EQ(made.bytes({}).size(), sizeof value);
    std::memcpy(&value, made.bytes({}).data(), sizeof value);
    return value;
}

void expect_refused(const Parameter& parameter, const Argument& argument, const std::string& part) {
    auto made = PackedArguments::pack(kernel_with({parameter}), std::array{argument});
    ASSERT_FALSE(made) << part;
    EXPECT_EQ(made.error().kind, ErrorKind::Launch);
    EXPECT_NE(made.error().message.find("kernel 'k', parameter 0"), std::string::npos) << made.error().message;
    EXPECT_NE(made.error().message.find(part), std::string::npos) << made.error().message;
}

TEST(Arguments, LieWhereTheKernelReadsThem) {
    executable::Code kernel =
        kernel_with({pointer(), number(dtypes::int8), number(dtypes::float64), pointer(), opaque(16)});
    isa::Bytes record(16);
    for (uint8_t i = 0; i < 16; ++i) record[i] = i;
    PackedArguments made =
        PackedArguments::pack(kernel, std::vector<Argument>{{}, integer(-3), real(2.5), {}, {record}}).value();
    const providers::DevicePtr addresses[] = {0x1122334455667788, 0x99};
    std::span<const uint8_t> bytes = made.bytes(addresses);
    ASSERT_EQ(bytes.size(), 48u);
    double d = 0;
    std::memcpy(&d, &bytes[16], 8);
    EXPECT_EQ(std::memcmp(&bytes[0], &addresses[0], 8), 0);
    EXPECT_EQ(static_cast<int8_t>(bytes[8]), -3);
    EXPECT_EQ(d, 2.5);
    EXPECT_EQ(std::memcmp(&bytes[24], &addresses[1], 8), 0);
    EXPECT_EQ(std::memcmp(&bytes[32], record.data(), 16), 0);
    EXPECT_EQ(made.tensor_parameters(), (std::vector<size_t>{0, 3}));
}

TEST(Arguments, EveryIntegerTypeTakesItsWholeRangeAndNoMore) {
    for (DType type : all_dtypes()) {
        if (!type.is_integer()) continue;
        const bool all_64 = type == dtypes::uint64;
        for (int64_t edge : {int_min(type), int_max(type)}) {
            PackedArguments made =
                PackedArguments::pack(kernel_with({number(type)}), std::array{integer(edge)}).value();
            EXPECT_EQ(std::memcmp(made.bytes({}).data(), &edge, static_cast<size_t>(type.bytes())), 0) << type.name();
        }
        if (int_min(type) != INT64_MIN) expect_refused(number(type), integer(int_min(type) - 1), "does not fit");
        if (int_max(type) != INT64_MAX) expect_refused(number(type), integer(int_max(type) + 1), "does not fit");
        const Argument huge = of({Kind::UInt, -1});
        if (all_64)
            EXPECT_EQ(packed<uint64_t>(number(type), huge), UINT64_MAX);
        else
            expect_refused(number(type), huge, "18446744073709551615 does not fit");
        expect_refused(number(type), real(3.0), "is no integer");
    }
}

TEST(Arguments, EveryFloatTypeTakesIntegersAndRounds) {
    for (DType type : all_dtypes()) {
        if (!type.is_float()) continue;
        for (double value : {0.0, 1.5, -2.0, 0.1}) {
            const uint64_t expected = encode_scalar(type, value);
            PackedArguments made = PackedArguments::pack(kernel_with({number(type)}), std::array{real(value)}).value();
            EXPECT_EQ(std::memcmp(made.bytes({}).data(), &expected, static_cast<size_t>(type.bytes())), 0)
                << type.name();
        }
        const uint64_t three = encode_scalar(type, 3);
        PackedArguments made = PackedArguments::pack(kernel_with({number(type)}), std::array{integer(3)}).value();
        EXPECT_EQ(std::memcmp(made.bytes({}).data(), &three, static_cast<size_t>(type.bytes())), 0) << type.name();
    }
    expect_refused(number(dtypes::float32), real(1e300), "is too large for float32");
    EXPECT_EQ(packed<float>(number(dtypes::float32), real(HUGE_VAL)), HUGE_VALF);
}

TEST(Arguments, WhereTheTypeIsNotKnownTheNumbersOwnKindDecides) {
    EXPECT_EQ(packed<float>(opaque(4), real(1.5)), 1.5f);
    EXPECT_EQ(packed<double>(opaque(8), real(1.5)), 1.5);
    EXPECT_EQ(packed<int32_t>(opaque(4), integer(-7)), -7);
    EXPECT_EQ(packed<uint32_t>(opaque(4), integer(0xffffffff)), 0xffffffff);
    EXPECT_EQ(packed<int64_t>(opaque(8), integer(-7)), -7);
    EXPECT_EQ(packed<float>(opaque(4), of({Kind::Float, 0, 2, dtypes::float32})), 2.0f);
    expect_refused(opaque(4), of({Kind::Float, 0, 2, dtypes::float64}), "float64 2 does not have its size");
    expect_refused(opaque(4), integer(int64_t{1} << 32), "does not fit");
    expect_refused(opaque(12), integer(1), "does not have its size");
    expect_refused(opaque(8, false), integer(1), "it is a struct");
}

TEST(Arguments, APointerIsNoNumberAndANumberNoPointer) {
    expect_refused(pointer(), integer(5), "a pointer takes a tensor, or None for no memory, not the number 5");
    expect_refused(pointer(), real(0), "not the number 0");
    expect_refused(pointer(), {isa::Bytes(8)}, "not bytes");
    EXPECT_EQ(packed<uint64_t>(pointer(), integer(0)), 0u);
    EXPECT_EQ(packed<uint64_t>(pointer(), {Argument::Null{}}), 0u);
    for (const Parameter& value : {number(dtypes::int32), number(dtypes::float64), opaque(8), opaque(24, false)}) {
        expect_refused(value, {}, "it is passed by value");
        expect_refused(value, {Argument::Null{}}, "only a pointer can be None");
    }
}

TEST(Arguments, BytesHaveExactlyTheSizeOfTheirParameter) {
    for (const Parameter& value : {opaque(24, false), opaque(4), number(dtypes::float32)}) {
        isa::Bytes bytes(value.size, 7);
        EXPECT_TRUE(PackedArguments::pack(kernel_with({value}), std::array{Argument{bytes}}));
        bytes.push_back(0);
        expect_refused(value, {bytes}, fmt::format("{} bytes were given", bytes.size()));
        bytes.resize(value.size - 1);
        expect_refused(value, {bytes}, fmt::format("{} bytes were given", bytes.size()));
    }
}

TEST(Arguments, TheirNumberIsTheKernels) {
    auto made = PackedArguments::pack(kernel_with({pointer(), number(dtypes::int32)}), std::vector<Argument>(3));
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("kernel 'k' takes 2 parameters (float* p, T n), 3 arguments were given"),
              std::string::npos);
}

TEST(Arguments, AKernelThatListsNoneTakesThemAsCLaysThemOut) {
    executable::Code kernel = kernel_with({});
    isa::CodeObject object;
    isa::KernelInfo info;
    info.name = "k";
    info.kernarg_size = 24;
    object.kernels.push_back(info);
    kernel.object = std::make_shared<const isa::CodeObject>(std::move(object));
    Argument typed = of({Kind::Int, 9, 0, dtypes::int32});
    PackedArguments made = PackedArguments::pack(kernel, std::vector<Argument>{typed, {}, typed}).value();
    const providers::DevicePtr address[] = {0x77};
    EXPECT_EQ(made.bytes(address).size(), 20u);
    EXPECT_EQ(made.bytes(address)[8], 0x77);
    EXPECT_EQ(made.bytes(address)[16], 9);
    auto untyped = PackedArguments::pack(kernel, std::array{integer(9)});
    ASSERT_FALSE(untyped);
    EXPECT_NE(untyped.error().message.find("numpy.int32(9)"), std::string::npos);
}

}  // namespace
}  // namespace strata::runtime
