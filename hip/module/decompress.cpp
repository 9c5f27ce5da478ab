// zlib and zstd as the system has them, found when a program needs one.
#include <dlfcn.h>

#include "strata/hip/module/bundle_p.h"

namespace strata::hip::library {
namespace {

Error missing(const char* library) {
    return make_error(ErrorKind::Device,
                      "the program's code is compressed, and {} is not there to unpack it; install it, or compile with "
                      "--no-offload-compress",
                      library);
}
Error damaged(std::string_view what) {
    return make_error(ErrorKind::Device, "the program's compressed code is damaged: {}", what);
}

/// An image may lie about its size: no more is taken than its bytes can stand for.
bool may_unpack_to(size_t bytes, size_t packed, size_t densest) { return bytes / densest <= packed; }
constexpr size_t kDensestZlib = 1032, kDensestZstd = size_t{1} << 16;  // a block of 2^17 bytes takes four at least

Result<isa::Bytes> by_zlib(const uint8_t* data, size_t bytes, size_t unpacked) {
    if (!may_unpack_to(unpacked, bytes, kDensestZlib)) return damaged("it is shorter than it says");
    using Uncompress = int (*)(uint8_t*, unsigned long*, const uint8_t*, unsigned long);
    void* const library = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);
    const auto uncompress = library ? reinterpret_cast<Uncompress>(dlsym(library, "uncompress")) : nullptr;
    if (!uncompress) return missing("libz.so.1");
    isa::Bytes out(unpacked);
    unsigned long got = unpacked;
    if (uncompress(out.data(), &got, data, bytes) != 0 || got != unpacked) return damaged("zlib refuses it");
    return out;
}

Result<isa::Bytes> by_zstd(const uint8_t* data, size_t bytes, size_t unpacked) {
    using Size = size_t (*)(const void*, size_t);
    using Decompress = size_t (*)(void*, size_t, const void*, size_t);
    void* const library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_LOCAL);
    const auto frame = library ? reinterpret_cast<Size>(dlsym(library, "ZSTD_findFrameCompressedSize")) : nullptr;
    const auto decompress = library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
    if (!frame || !decompress) return missing("libzstd.so.1");
    const size_t packed = frame(data, bytes);
    if (packed > bytes || !may_unpack_to(unpacked, packed, kDensestZstd)) return damaged("zstd refuses it");
    isa::Bytes out(unpacked);
    if (decompress(out.data(), unpacked, data, packed) != unpacked) return damaged("zstd refuses it");
    return out;
}

}  // namespace

Result<isa::Bytes> decompress(Compression method, const uint8_t* data, size_t bytes, size_t unpacked) {
    constexpr size_t kMost = size_t{1} << 34;
    if (unpacked > kMost) return damaged(fmt::format("it says that it unpacks to {} bytes", unpacked));
    return method == Compression::zstd ? by_zstd(data, bytes, unpacked) : by_zlib(data, bytes, unpacked);
}

}  // namespace strata::hip::library
