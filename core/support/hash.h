#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata {

/// Mixes a value into a running 64-bit hash (splitmix64 finaliser); for tables in memory.
constexpr uint64_t hash_mix(uint64_t seed, uint64_t value) {
    uint64_t z = seed + 0x9e3779b97f4a7c15ull + value;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/// 128-bit content hash as 32 hex digits; stable across runs and machines, for cache keys on disk.
std::string content_hash(std::string_view bytes);

}  // namespace strata
