#pragma once
#include "fixture.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {

inline constexpr ChannelFormat kFloat{32, 0, 0, 0, 2}, kBytes4{8, 8, 8, 8, 1}, kShorts2{16, 16, 0, 0, 0};
inline constexpr int kFloatFormat = 0x20, kByteFormat = 0x01, kToDevice = 1, kToHost = 2;
inline constexpr size_t kWidth = 7, kHeight = 5, kDepth = 3;

/// Words that name their places.
inline Words places(size_t count) { return counted(100, count); }

class Textures : public Library {
  protected:
    void* make(size_t width, size_t height, size_t depth = 0, unsigned flags = 0, ChannelFormat channels = kFloat) {
        void* array = nullptr;
        EXPECT_EQ(hipMalloc3DArray(&array, &channels, {width, height, depth}, flags), hipSuccess);
        return array;
    }
    static ResourceDescription of(void* array) {
        ResourceDescription r{};
        r.kind = kOfArray;
        r.array = array;
        return r;
    }
    static ResourceDescription of_line(void* memory, size_t bytes) {
        ResourceDescription r{};
        r.kind = kOfLine;
        r.linear = {memory, kFloat, bytes};
        return r;
    }
    static ResourceDescription of_rows(void* memory, size_t width, size_t height, size_t pitch) {
        ResourceDescription r{};
        r.kind = kOfRows;
        r.rows = {memory, kFloat, width, height, pitch};
        return r;
    }
    static Words words_of(void* object) {
        Words out(20);
        EXPECT_EQ(hipMemcpyDtoH(out.data(), object, 80), hipSuccess);
        return out;
    }
};

}  // namespace strata::hip::library
