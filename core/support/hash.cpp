#include "strata/core/support/hash.h"

#include <fmt/core.h>

#include <cstring>

namespace strata {

// Two lanes of multiply-xor over 8-byte words with different constants. The hash is not cryptographic; cache entries
// carry their own checksum and key text, so a collision is found on read.
std::string content_hash(std::string_view bytes) {
    uint64_t a = 0x243f6a8885a308d3ull ^ bytes.size(), b = 0x13198a2e03707344ull + bytes.size();
    for (size_t at = 0; at < bytes.size(); at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, bytes.size() - at < 8 ? bytes.size() - at : 8);
        a = hash_mix(a, word);
        b = hash_mix(b ^ 0xa4093822299f31d0ull, word * 0xff51afd7ed558ccdull);
    }
    return fmt::format("{:016x}{:016x}", a, b);
}

}  // namespace strata
