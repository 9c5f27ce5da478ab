#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "strata/asm/emu/gpu.h"
#include "strata/asm/lint/lint.h"
#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// Numbers that floats of every type hold, and integers of any bits.
inline std::vector<uint8_t> values_of(UOp param) {
    const DType type = param.dtype();
    const ParamArg& arg = param.as<ParamArg>();
    const auto bytes = static_cast<size_t>(type.bytes());
    std::vector<uint8_t> out(static_cast<size_t>(arg.size) * bytes);
    for (size_t i = 0; i < static_cast<size_t>(arg.size); ++i) {
        const uint64_t random = (i * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(arg.slot) * 40503u) ^ i << 40;
        const uint64_t bits = type.is_float() ? encode_scalar(type, static_cast<double>(random >> 7 & 31) / 4 - 4)
                              : random & 64   ? random >> 3
                                              : random >> 9 & 15;
        std::memcpy(&out[i * bytes], &bits, bytes);
    }
    return out;
}

/// The contents of the program's first parameter, which it writes.
inline std::vector<uint8_t> run(emu::Gpu& gpu, const isa::Bytes& object, const LinearProgram& program,
                                emu::Check check) {
    std::vector<emu::DeviceAddress> addresses;
    std::vector<uint8_t> out;
    emu::DeviceAddress written = 0;
    for (UOp param : program.params) {
        const std::vector<uint8_t> bytes = values_of(param);
        addresses.push_back(gpu.allocate(bytes.size()).value());
        EXPECT_TRUE(gpu.write(addresses.back(), bytes.data(), bytes.size()));
        if (param.as<ParamArg>().slot == 0) written = addresses.back(), out.resize(bytes.size());
    }
    std::vector<uint8_t> arguments(addresses.size() * 8);
    std::memcpy(arguments.data(), addresses.data(), arguments.size());
    auto module = gpu.load(object);
    EXPECT_TRUE(module) << module.error().message;
    if (module) {
        std::vector<lint::Finding> found;
        auto ran = gpu.launch(
            **module, program.name,
            {.grid = program.grid, .block = program.block, .timed = false, .check = check, .findings = &found},
            arguments);
        EXPECT_TRUE(ran) << ran.error().message;
        const isa::CodeObject& code = (*module)->object();
        EXPECT_TRUE(found.empty()) << lint::to_line(found[0], code, code.kernels[0]);
        EXPECT_TRUE(gpu.read(out.data(), written, out.size()));
    }
    for (emu::DeviceAddress address : addresses) EXPECT_TRUE(gpu.free(address));
    return out;
}

/// The first element that differs; the number of elements where none does.
inline size_t first_difference(DType type, std::span<const uint8_t> a, std::span<const uint8_t> b) {
    const auto bytes = static_cast<size_t>(type.bytes());
    const auto number = [&](std::span<const uint8_t> from, size_t i) {
        uint64_t bits = 0;
        std::memcpy(&bits, &from[i * bytes], bytes);
        return bits;
    };
    for (size_t i = 0; i < a.size() / bytes; ++i) {
        const uint64_t one = number(a, i), other = number(b, i);
        const bool nan =
            type.is_float() && std::isnan(decode_scalar(type, one)) && std::isnan(decode_scalar(type, other));
        if (one != other && !nan) return i;
    }
    return a.size() / bytes;
}

}  // namespace strata::codegen
