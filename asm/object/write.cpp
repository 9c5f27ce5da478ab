#include <algorithm>

#include "strata/asm/object/write_p.h"

// Checks of one kernel's spec, and its descriptor.
namespace strata::isa {
namespace {

uint32_t ceil_div(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

Error refuse(const KernelSpec& spec, std::string_view what) {
    return make_error(ErrorKind::Usage, "kernel '{}': {}", spec.name, what);
}

}  // namespace

Result<void> check_kernel(const ArchInfo& arch, const KernelSpec& spec) {
    if (spec.name.empty()) return make_error(ErrorKind::Usage, "a kernel needs a name");
    if (spec.code.empty()) return refuse(spec, "it has no code");
    if (spec.wave_size != arch.wave_size && !(spec.wave_size == 64 && arch.has_wave64))
        return refuse(spec, fmt::format("{} has no waves of {} lanes", arch.name, spec.wave_size));
    if (spec.vgprs > static_cast<uint32_t>(std::min(arch.max_vgprs, 256)))
        return refuse(spec,
                      fmt::format("{} vector registers; a wave has {}", spec.vgprs, std::min(arch.max_vgprs, 256)));
    if (spec.agprs > (is_rdna(arch) ? 0u : 256u))
        return refuse(spec,
                      fmt::format("{} accumulation registers; a wave has {}", spec.agprs, is_rdna(arch) ? 0 : 256));
    if (spec.sgprs > static_cast<uint32_t>(arch.sgprs))
        return refuse(spec, fmt::format("{} scalar registers; a wave has {}", spec.sgprs, arch.sgprs));
    if (spec.user_sgprs > 16)
        return refuse(spec,
                      fmt::format("{} scalars before the workgroup ids; a launch fills up to 16", spec.user_sgprs));
    if (spec.lds > static_cast<uint32_t>(arch.lds_bytes))
        return refuse(spec, fmt::format("{} bytes of LDS; a workgroup has {}", spec.lds, arch.lds_bytes));
    if (spec.max_block == 0 || spec.max_block > static_cast<uint32_t>(arch.max_block))
        return refuse(spec,
                      fmt::format("a block of {} work-items; allowed are 1 to {}", spec.max_block, arch.max_block));
    for (const ConstantReference& from : spec.references)
        if (from.word >= spec.code.size() || from.offset >= spec.constants.size())
            return refuse(spec, "a reference to its constants lies outside the code or the constants");
    for (const KernelArg& arg : spec.args)
        if (uint64_t{arg.offset} + arg.size > spec.kernarg_size)
            return refuse(spec, fmt::format("argument '{}' at {} of {} bytes lies outside the {} bytes of arguments",
                                            arg.name, arg.offset, arg.size, spec.kernarg_size));
    return {};
}

/// Register words of the descriptor; bit positions from LLVM AMDGPUUsage, "compute_pgm_rsrc1" to "compute_pgm_rsrc3".
KernelDescriptor describe_kernel(const ArchInfo& arch, const KernelSpec& spec) {
    const auto granule = static_cast<uint32_t>(vgpr_encoding_granule(arch, spec.wave_size));
    const bool rdna = is_rdna(arch), rdna4 = arch.family == Family::rdna4;
    constexpr uint32_t kKeepDenormals =
        0xf;  // FLOAT_DENORM_MODE_32 and _16_64: nothing is flushed; rounding is to nearest
    constexpr uint32_t kReservedSgprs = 6;  // VCC, FLAT_SCRATCH and XNACK_MASK count on GFX9

    KernelDescriptor d;
    d.group_segment_fixed_size = spec.lds;
    d.private_segment_fixed_size = spec.scratch;
    d.kernarg_size = spec.kernarg_size;
    d.rsrc1 = ceil_div(spec.all_vgprs(), granule) - 1;
    if (!rdna) d.rsrc1 |= (ceil_div(spec.sgprs + kReservedSgprs, 8) - 1) << 6;
    d.rsrc1 |= kKeepDenormals << 16;
    if (!rdna4) d.rsrc1 |= 1u << 21 | 1u << 23;  // DX10_CLAMP, IEEE_MODE
    if (rdna) d.rsrc1 |= 1u << 29 | 1u << 30;    // WGP_MODE, MEM_ORDERED
    const bool flat_scratch_init = spec.scratch && arch.family == Family::cdna2;
    const uint32_t filled = 2 + (spec.dispatch_ptr ? 2u : 0u) + (flat_scratch_init ? 2u : 0u);
    const uint32_t user_sgprs = std::max(filled, spec.user_sgprs);
    d.rsrc2 = (spec.scratch ? 1u : 0u) | user_sgprs << 1;
    for (int dim = 0; dim < 3; ++dim) d.rsrc2 |= (spec.workgroup_ids[dim] ? 1u : 0u) << (7 + dim);
    d.rsrc2 |= static_cast<uint32_t>(spec.workitem_id_dims) << 11;
    if (!rdna) d.rsrc3 = spec.accum_offset() / 4 - 1;  // ACCUM_OFFSET
    d.properties = static_cast<uint16_t>(1u << 3 | (spec.dispatch_ptr ? 1u << 1 : 0u) |
                                         (flat_scratch_init ? 1u << 5 : 0u) | (spec.wave_size == 32 ? 1u << 10 : 0u));
    return d;
}

}  // namespace strata::isa
