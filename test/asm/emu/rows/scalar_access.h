#pragma once
#include "memory_run.h"

// Checks of SMEM rows, and of memory rows that change no register and no byte.
namespace strata::emu::harness {

/// Cache control and prefetches: everything stays.
inline bool is_hint(std::string_view name) {
    for (const char* part : {"prefetch", "probe", "dcache", "gl1_inv"})
        if (name.find(part) != name.npos) return true;
    return false;
}

inline void check_hint(isa::Arch arch, const isa::Row& row) {
    MemoryRun m(arch, 3);
    isa::Inst inst = m.scalars.make(row);
    m.set_pair(8, MemoryRun::kMapped);
    m.wave.sgpr[10] = MemoryRun::kBytes, m.wave.sgpr[11] = 0;
    for (size_t i = 0; i < 2; ++i) {
        if (!row.src_kind[i]) continue;
        const bool base = row.src[i] != isa::Type::u32;
        inst.src[i] = {base ? uint16_t{8} : isa::code::null, row.src[i]};
    }
    m.compare({inst}, std::vector(m.wave.vgpr), std::vector(m.memory), std::vector(m.local), std::string(row.mnemonic));
}

inline void check_scalar_access(isa::Arch arch, const isa::Row& row, Access a, uint64_t seed) {
    MemoryRun m(arch, seed);
    const bool buffer = row.mnemonic.starts_with("s_buffer"), scratch = row.mnemonic.starts_with("s_scratch");
    isa::Inst inst = m.scalars.make(row);
    constexpr size_t kTo = 48, kFrom = 32;
    const auto size = static_cast<uint32_t>(a.bytes);
    const uint32_t align = a.kind == Access::atomic ? size : std::min(size, 4u);
    // Offset in memory of the access, shared out among base, register and immediate.
    const uint32_t at = m.values.below((MemoryRun::kBytes - size) / align) * align;
    const bool with_register = m.values.below(2);
    const uint32_t step = scratch ? 64 : 1;  // scratch counts its register in 64 bytes
    uint32_t in_register = with_register ? std::min(at, m.values.below(64) * 64) / 64 * 64 : 0;
    int32_t immediate = 0;
    if (buffer) {
        immediate = static_cast<int32_t>(at - in_register);  // a descriptor's base is where offsets start
    } else {
        const int32_t choices[] = {0, 64, -64, 0xffffc, -0x100000};
        immediate = choices[m.values.below(5)];
    }
    const uint64_t base =
        MemoryRun::kMapped + (buffer ? 0 : at - uint64_t{in_register} - static_cast<uint64_t>(int64_t{immediate}));
    inst.offset = immediate;
    m.set_pair(8, base);
    if (buffer) m.wave.sgpr[10] = MemoryRun::kBytes, m.wave.sgpr[11] = m.scalars.cdna() ? 0 : 3u << 28 | 22u << 12;
    m.wave.sgpr[12] = in_register / step;
    inst.src[0] = {8, row.src[0]};
    inst.src[1] = {with_register ? uint16_t{12} : isa::code::null, row.src[1]};
    const bool is_atomic = a.kind == Access::atomic;
    if (a.kind != Access::load) inst.src[2] = {kFrom, row.src[2]};
    a.returns = is_atomic && m.values.below(2);
    inst.glc = a.returns;
    if (a.kind == Access::load) inst.dst[0] = {kTo, row.dst[0]};
    if (a.returns) inst.dst[0] = {kFrom, row.dst[0]};  // an atomic's data register takes the result
    if (is_atomic && a.op == "cmpswap" && m.values.below(2))
        memcpy(&m.wave.sgpr[kFrom + size / 4], m.memory.data() + at, size);
    std::vector<uint8_t> bytes = m.memory;
    auto registers = m.wave.sgpr;
    const Lane lane = [&](int i) -> uint32_t& { return registers[static_cast<size_t>(i)]; };
    const int data = static_cast<int>(kFrom);
    perform(a, Bytes(bytes), at, lane, a.kind == Access::load ? static_cast<int>(kTo) : data, data,
            data + static_cast<int>(size / 4));
    m.wave.exec = m.values.below(2) ? m.wave.exec : 0;  // scalar accesses do not look at it
    const std::string what = std::string(row.mnemonic) + " offset " + std::to_string(immediate) + " register " +
                             std::to_string(in_register) + " seed " + std::to_string(seed);
    m.compare({inst}, std::vector(m.wave.vgpr), bytes, std::vector(m.local), what);
    for (size_t i = 0; i < static_cast<size_t>(m.scalars.registers()); ++i)
        ASSERT_EQ(m.wave.sgpr[i], registers[i]) << what << ": s" << i;
}

}  // namespace strata::emu::harness
