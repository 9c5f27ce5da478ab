#pragma once
#include <map>

#include "memory_run.h"

// Checks of DS rows: local memory by address, by thread, by M0, and exchanges between lanes.
namespace strata::emu::harness {

inline void check_local(isa::Arch arch, const isa::Row& row, Access a, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    m.make_numbers(a.type, a.bytes, a.op == "min" || a.op == "max");
    const auto size = static_cast<uint32_t>(a.bytes);
    uint32_t first = 0, other = 0;  // bytes that the immediate offsets add
    if (a.two) {
        const uint32_t unit = size * (a.stride64 ? 64 : 1);
        inst.offset = static_cast<int32_t>(m.values.below(4));
        inst.offset1 = static_cast<uint8_t>((static_cast<uint32_t>(inst.offset) + 1 + m.values.below(3)) % 4);
        first = static_cast<uint32_t>(inst.offset) * unit, other = inst.offset1 * unit;
    } else {
        inst.offset = static_cast<int32_t>(m.values.below(3) * 16);
        first = static_cast<uint32_t>(inst.offset);
    }
    auto at = m.offsets(size, std::max(4u, std::min(16u, size)), 1024);
    if (a.two && a.kind != Access::load) {  // the order of lanes and addresses that meet is nowhere said
        const uint32_t mixed = m.values.below(static_cast<uint32_t>(m.lanes()));
        for (uint32_t lane = 0; lane < at.size(); ++lane) at[lane] = (lane ^ mixed) * size * (a.stride64 ? 1 : 4);
    }
    for (uint32_t& place : at) place += first;
    if (!a.two) meet(m, a, at, m.local, MemoryRun::kSecond);
    for (int lane = 0; lane < m.lanes(); ++lane) m.v(0, lane) = at[static_cast<size_t>(lane)] - first;
    if (m.values.one_in(4) && !a.thread_addresses && a.kind == Access::load && !a.two)
        for (int lane = 0; lane < m.lanes(); lane += 3)  // past the end
            at[static_cast<size_t>(lane)] += 8192, m.v(0, lane) += 8192;
    m.wave.m0 = 256;
    size_t i = 0;
    if (!a.thread_addresses) inst.src[i] = vector(0, row.src[i]), ++i;
    for (int data = MemoryRun::kData; i < 3 && row.src_kind[i]; ++i, data = MemoryRun::kSecond)
        inst.src[i] = vector(data, row.src[i]);
    if (row.dst_kind[0]) inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    Expected want{m.wave.vgpr, m.memory, m.local};
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (!m.active(lane)) continue;
        const Lane registers = m.lane_of(want.registers, lane);
        uint64_t offset = at[static_cast<size_t>(lane)];
        if (a.thread_addresses) offset = 256 + first + 4 * static_cast<uint64_t>(lane);
        if (a.two && a.kind == Access::atomic) {  // both are read before either is written
            const uint64_t second = offset - first + other;
            const uint64_t old[] = {Bytes(want.local).get(offset, a.bytes), Bytes(want.local).get(second, a.bytes)};
            const uint64_t data[] = {read_value(registers, MemoryRun::kData, a.bytes),
                                     read_value(registers, MemoryRun::kSecond, a.bytes)};
            Bytes(want.local).put(offset, a.bytes, data[0]), Bytes(want.local).put(second, a.bytes, data[1]);
            for (int k = 0; k < 2 * a.rows(); ++k)
                registers(MemoryRun::kResult + k) = static_cast<uint32_t>(old[k / a.rows()] >> (32 * (k % a.rows())));
            continue;
        }
        perform(a, Bytes(want.local), offset, registers, MemoryRun::kResult, MemoryRun::kData, MemoryRun::kSecond);
        if (a.two)
            perform(a, Bytes(want.local), offset - first + other, registers, MemoryRun::kResult + a.rows(),
                    MemoryRun::kSecond, MemoryRun::kSecond);
    }
    m.compare({inst}, want.registers, want.memory, want.local,
              std::string(row.mnemonic) + " offset " + std::to_string(inst.offset) + " seed " + std::to_string(seed));
}

namespace lanes {

/// The lane that ds_swizzle reads ("Data share", swizzle modes of the offset).
inline int swizzled(uint32_t offset, int lane) {
    const int in = lane & 31, half = lane & 32;
    if (offset >= 0xe000) {  // FFT
        const int mask = static_cast<int>(offset & 31);
        int reversed = 0;
        for (int i = 0; i < 5; ++i) reversed |= (in >> i & 1) << (4 - i);
        return (reversed >> std::popcount(static_cast<uint32_t>(mask))) | (in & mask) | half;
    }
    if (offset >= 0xc000) {  // rotate
        const int mask = static_cast<int>(offset & 31), count = static_cast<int>(offset >> 5 & 31);
        const int moved = in + (offset & 0x400 ? -count : count);
        return (in & mask) | (moved & ~mask & 31) | half;
    }
    if (offset & 0x8000) return (lane & ~3) | static_cast<int>(offset >> (2 * (lane & 3)) & 3);
    const int keep = static_cast<int>(offset & 31), set = static_cast<int>(offset >> 5 & 31);
    return (((in & keep) | set) ^ static_cast<int>(offset >> 10 & 31)) | half;
}

inline void exchange(isa::Arch arch, const isa::Row& row, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    const std::string_view name = row.mnemonic;
    const bool swizzle = name == "ds_swizzle_b32";
    const uint32_t modes[] = {m.values.below(0x8000), 0x8000u | m.values.below(256), 0xc000u | m.values.below(0x800),
                              0xe000u | m.values.below(32)};
    const uint32_t offset = swizzle ? modes[seed % 4] : m.values.below(4) * 4;
    inst.offset = static_cast<int32_t>(offset);
    for (int lane = 0; lane < m.lanes(); ++lane) m.v(0, lane) = m.values.any32();
    const int data = swizzle ? 0 : MemoryRun::kData;
    inst.src[0] = vector(0, row.src[0]);
    if (!swizzle) inst.src[1] = vector(data, row.src[1]);
    inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    Expected want{m.wave.vgpr, m.memory, m.local};
    std::vector<uint32_t> out(static_cast<size_t>(m.lanes()));
    // RDNA3 counts modulo 32 whatever the wave's size, in either half.
    const int group = m.scalars.family() == isa::Family::rdna3 ? 32 : m.lanes();
    auto lane_at = [&](int lane) {
        const uint32_t wanted = (m.v(0, lane) + offset) / 4;
        return lane / group * group + static_cast<int>(wanted % static_cast<uint32_t>(group));
    };
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (name == "ds_permute_b32") {
            if (m.active(lane)) out[static_cast<size_t>(lane_at(lane))] = m.v(data, lane);
        } else {
            const int from = swizzle ? swizzled(offset, lane) : lane_at(lane);
            out[static_cast<size_t>(lane)] = m.active(from) ? m.v(data, from) : 0;
        }
    }
    for (int lane = 0; lane < m.lanes(); ++lane)
        if (m.active(lane)) m.lane_of(want.registers, lane)(MemoryRun::kResult) = out[static_cast<size_t>(lane)];
    m.compare({inst}, want.registers, want.memory, want.local,
              std::string(name) + " offset " + std::to_string(offset) + " seed " + std::to_string(seed));
}

/// ds_append and ds_consume count the active lanes at M0 and the offset. RDNA4's document has the offset alone, while
/// LLVM puts the pointer into M0 there too: M0 is 0 here.
inline void count(isa::Arch arch, const isa::Row& row, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    const bool adds = row.mnemonic == "ds_append";
    const uint32_t base = m.scalars.family() == isa::Family::rdna4 ? 0 : m.values.below(32) * 4;
    m.wave.m0 = base;
    inst.offset = static_cast<int32_t>(m.values.below(64) * 4);
    inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    Expected want{m.wave.vgpr, m.memory, m.local};
    const uint64_t at = base + static_cast<uint64_t>(inst.offset);
    const uint64_t old = Bytes(m.local).get(at, 4), lanes = static_cast<uint64_t>(std::popcount(m.wave.exec));
    Bytes(want.local).put(at, 4, adds ? old + lanes : old - lanes);
    for (int lane = 0; lane < m.lanes(); ++lane)
        if (m.active(lane)) m.lane_of(want.registers, lane)(MemoryRun::kResult) = static_cast<uint32_t>(old);
    m.compare({inst}, want.registers, want.memory, want.local, std::string(row.mnemonic));
}

/// Each dword whose data has the top bit set is exchanged for the other 31 bits.
inline void conditional(isa::Arch arch, const isa::Row& row, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    inst.offset = static_cast<int32_t>(m.values.below(8) * 8);
    inst.src[0] = vector(0, row.src[0]), inst.src[1] = vector(MemoryRun::kData, row.src[1]);
    inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    const auto at = m.offsets(8, 8, 1024);
    for (int lane = 0; lane < m.lanes(); ++lane) m.v(0, lane) = at[static_cast<size_t>(lane)];
    Expected want{m.wave.vgpr, m.memory, m.local};
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (!m.active(lane)) continue;
        const Lane registers = m.lane_of(want.registers, lane);
        for (int k = 0; k < 2; ++k) {
            const uint64_t place = at[static_cast<size_t>(lane)] + static_cast<uint64_t>(inst.offset + 4 * k);
            const uint32_t data = registers(MemoryRun::kData + k);
            registers(MemoryRun::kResult + k) = static_cast<uint32_t>(Bytes(want.local).get(place, 4));
            if (data >> 31) Bytes(want.local).put(place, 4, data & 0x7fffffff);
        }
    }
    m.compare({inst}, want.registers, want.memory, want.local, std::string(row.mnemonic));
}

}  // namespace lanes

using LocalCheck = void (*)(isa::Arch, const isa::Row&, uint64_t);
inline const std::map<std::string, LocalCheck, std::less<>>& local_checks() {
    static const std::map<std::string, LocalCheck, std::less<>> all = {
        {"ds_swizzle_b32", lanes::exchange},  {"ds_permute_b32", lanes::exchange},
        {"ds_bpermute_b32", lanes::exchange}, {"ds_append", lanes::count},
        {"ds_consume", lanes::count},         {"ds_condxchg32_rtn_b64", lanes::conditional},
    };
    return all;
}

}  // namespace strata::emu::harness
