#include "strata/asm/isa/encode/encode_p.h"
#include "strata/asm/isa/image_p.h"

namespace strata::isa {

bool Encoder::encode_image() {
    const KnownImage* known = known_image(row_.mnemonic);
    if (!known || rules_.even_groups)
        return fail("graphics instructions but image loads, stores, samples and gathers are not encoded");
    const bool rdna4 = layout_.words == 3;
    const ImageLayout& bits = image_layout(rdna4 ? Family::rdna4 : Family::rdna3, row_);
    const ImageForm form = ImageForm::unpack(inst_.offset);
    if (form.kind != known->kind || !form.has_components() || info(form.dim).coordinates == 0 ||
        form.addresses != info(form.dim).coordinates + known->levels || form.addresses > 3)
        return fail("the form (ImageForm) is not one of this instruction");
    if (inst_.tfe || inst_.lds || inst_.gds) return fail("it takes no tfe, lds or gds");
    auto take = [&](uint32_t value, const Field& field, const char* name) {
        if (value >> field.bits) return fail("it takes no {} of {}", name, value);
        return put(field, value), true;
    };
    word_ = bits.prefix | bits.op.put(row_.opcode) | bits.dim.put(static_cast<uint64_t>(form.dim)) |
            bits.components.put(form.components);
    return take(form.unnormalized, bits.unnormalized, "unorm") && take(inst_.glc, bits.glc, "glc") &&
           take(inst_.slc, bits.slc, "slc") && take(inst_.dlc, bits.dlc, "dlc") && take(inst_.th, bits.th, "th") &&
           take(inst_.scope, bits.scope, "scope") && image_addresses(form, rdna4) && image_registers(form, bits);
}

bool Encoder::image_addresses(const ImageForm& form, bool rdna4) {
    const Field kFirst{static_cast<uint8_t>(rdna4 ? 64 : 32), 8};
    if (rdna4 && !form.separate) return fail("each address has a register of its own");
    const Type together = kImageDataTypes[form.addresses];
    if (!reg(inst_.src[3], kFirst, form.separate ? Type::b32 : together, kVgpr, "the address")) return false;
    for (size_t i = 1; form.separate && i < form.addresses; ++i) {
        const Field field{static_cast<uint8_t>(rdna4 ? 64 + 8 * i : 56 + 8 * i), 8};
        if (!reg(inst_.src_y[i - 1], field, Type::b32, kVgpr, "an address")) return false;
    }
    if (form.separate && !rdna4) word_ |= 1;
    has_third_ = form.separate && !rdna4;
    return true;
}

bool Encoder::image_registers(const ImageForm& form, const ImageLayout& bits) {
    const uint32_t group = 1u << bits.resource_shift;
    const Operand& data = form.kind == ImageKind::store ? inst_.src[2] : inst_.dst[0];
    if (!reg(data, bits.data, form.data_type(), kVgpr, "vdata")) return false;
    if (inst_.src[0].code == code::null || inst_.src[1].code == code::null)
        if (inst_.src[0].code == code::null || inst_.src[1].present()) return fail("null cannot be a descriptor");
    if (!reg(inst_.src[0], bits.resource, Type::b256, kSgpr, "srsrc", group)) return false;
    return form.has_sampler() ? reg(inst_.src[1], bits.sampler, Type::b128, kSgpr, "ssamp", group)
                              : absent(inst_.src[1], "a sampler");
}

}  // namespace strata::isa
