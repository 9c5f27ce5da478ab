#include <algorithm>

#include "strata/asm/emu/scalar_p.h"
#include "strata/asm/emu/workgroup_p.h"

// Scalar loads (RDNA3 ISA, "Scalar Memory Operations"). src0 is the base, src1 the offset register, imm the offset.
namespace strata::emu {
namespace {

template <int Dwords>
const Op* s_load(Wave* wave, const Op* op) {
    constexpr u32 bytes = 4 * Dwords;
    const u64 address = (at<u64>(wave, op->src[0]) + static_cast<u64>(static_cast<i64>(static_cast<i32>(op->imm))) +
                         source<u32>(wave, op, 1)) &
                        ~3ull;
    Wave::Hit& hit = wave->hits[op->aux];
    if (address < hit.low || address > hit.high - bytes) [[unlikely]] {
        if (!find_memory(wave, address, bytes, false, hit))
            return fail_global(wave, op, -1, address, bytes, Access::load);
    }
    memcpy(reinterpret_cast<char*>(wave) + op->dst, reinterpret_cast<const void*>(address + hit.bias), bytes);
    STRATA_EMU_NEXT;
}

/// Through a buffer descriptor V#: dwords past num_records (bytes; a stride counts in strides) read 0.
template <int Dwords>
const Op* s_buffer_load(Wave* wave, const Op* op) {
    u32 v[4];
    memcpy(v, reinterpret_cast<const char*>(wave) + op->src[0], sizeof v);
    const u64 base = v[0] | u64{v[1] & 0xffff} << 32;
    const u32 stride = v[1] >> 16 & 0x3fff;
    const u64 size = stride ? u64{stride} * v[2] : v[2];
    const u64 offset =
        (static_cast<u64>(static_cast<i64>(static_cast<i32>(op->imm))) + source<u32>(wave, op, 1)) & ~3ull;
    u32 data[Dwords] = {};
    const u64 usable = offset < size ? std::min<u64>((size - offset) / 4, Dwords) : 0;
    if (usable) {
        Wave::Hit& hit = wave->hits[op->aux];
        const u64 address = base + offset;
        if (address < hit.low || address > hit.high - 4 * usable) {
            if (!find_memory(wave, address, 4 * usable, false, hit))
                return fail_global(wave, op, -1, address, static_cast<u32>(4 * usable), Access::load);
        }
        memcpy(data, reinterpret_cast<const void*>(address + hit.bias), 4 * usable);
    }
    memcpy(reinterpret_cast<char*>(wave) + op->dst, data, sizeof data);
    STRATA_EMU_NEXT;
}

constexpr NamedHandler kLoads[] = {
    {"s_load_b32", s_load<1>},
    {"s_load_b64", s_load<2>},
    {"s_load_b128", s_load<4>},
    {"s_load_b256", s_load<8>},
    {"s_load_b512", s_load<16>},
    {"s_buffer_load_b32", s_buffer_load<1>},
    {"s_buffer_load_b64", s_buffer_load<2>},
    {"s_buffer_load_b128", s_buffer_load<4>},
    {"s_buffer_load_b256", s_buffer_load<8>},
    {"s_buffer_load_b512", s_buffer_load<16>},
};

}  // namespace

Handler choose_smem(const Choice& choice) {
    auto it = std::ranges::find(kLoads, choice.name, &NamedHandler::mnemonic);
    if (it == std::end(kLoads)) return nullptr;
    if (choice.inst.dst[0].code == isa::code::null) return nop;  // a prefetch: 16 dwords would not fit the trash
    return it->run;
}

}  // namespace strata::emu
