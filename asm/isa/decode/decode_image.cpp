#include "strata/asm/isa/decode/decode_p.h"
#include "strata/asm/isa/image_p.h"

namespace strata::isa {

bool Decoder::decode_image(Inst& inst, const Layout& layout) {
    const KnownImage* known = known_image(inst.row->mnemonic);
    if (!known) return fail("of image instructions only loads, stores, samples and gathers are there");
    const bool rdna4 = layout.words == 3;
    const ImageLayout& bits = image_layout(rdna4 ? Family::rdna4 : Family::rdna3, *inst.row);
    auto is_set = [&](const Field& field) { return field.bits && field.get(word_); };
    if (is_set(bits.tfe) || is_set(bits.lwe)) return fail("image instructions with tfe or lwe are not there");
    if (is_set(bits.a16) || is_set(bits.d16))
        return fail("image instructions of 16-bit data or addresses are not there");
    if (is_set(bits.r128)) return fail("image descriptors of 128 bits are not there");
    ImageForm form{.kind = known->kind};
    const uint32_t dim = bits.dim.get(word_);
    if (dim >= std::size(kImageDims) || kImageDims[dim].coordinates == 0)
        return fail("cube and multisampled images are not there");
    form.dim = static_cast<ImageDim>(dim);
    form.components = static_cast<uint8_t>(bits.components.get(word_));
    form.addresses = static_cast<uint8_t>(info(form.dim).coordinates + known->levels);
    form.unnormalized = is_set(bits.unnormalized);
    form.separate = rdna4 || (word_ & 1);
    if (!form.has_components()) return fail("the instruction has no component (dmask:0), or a gather several");
    if (form.addresses > 3) return fail("image instructions of more than three addresses are not there");
    if (form.separate && !rdna4) {
        if (words_.size() < 3) return fail("the instruction is longer than the words given");
        third_ = words_[2];
        next_ = 3;
    }
    inst.glc = is_set(bits.glc);
    inst.slc = is_set(bits.slc);
    inst.dlc = is_set(bits.dlc);
    inst.th = static_cast<uint8_t>(bits.th.get(word_));
    inst.scope = static_cast<uint8_t>(bits.scope.get(word_));
    inst.offset = form.pack();
    inst.encoding = Format::MIMG;
    return image_vectors(inst, form, rdna4, bits.data.get(word_)) &&
           image_scalars(inst, form, bits.resource.get(word_) << bits.resource_shift,
                         bits.sampler.get(word_) << bits.resource_shift);
}

bool Decoder::image_vectors(Inst& inst, const ImageForm& form, bool rdna4, uint32_t number) {
    const Operand data{static_cast<uint16_t>(code::vgpr0 + number), form.data_type()};
    (form.kind == ImageKind::store ? inst.src[2] : inst.dst[0]) = data;
    // MIMG: the first of several address registers stands in the second word, the others in the third one.
    auto address = [&](size_t i) {
        const uint32_t of_address = rdna4    ? third_ >> 8 * i & 255
                                    : i == 0 ? word_ >> 32 & 255
                                             : third_ >> 8 * (i - 1) & 255;
        return Operand{static_cast<uint16_t>(code::vgpr0 + of_address), Type::b32};
    };
    inst.src[3] = address(0);
    if (!form.separate) inst.src[3].type = kImageDataTypes[form.addresses];
    for (size_t i = 1; form.separate && i < form.addresses; ++i) inst.src_y[i - 1] = address(i);
    for (const Operand& operand : {data, inst.src[3]})
        if (operand.vgpr() + span_of(operand.type) > 256) return fail("vector registers past v255");
    return true;
}

bool Decoder::image_scalars(Inst& inst, const ImageForm& form, uint32_t resource, uint32_t sampler) {
    if (!operand(inst.src[0], resource, Type::b256, kSgpr)) return false;
    if (inst.src[0].code == code::null) return fail("null cannot be an image descriptor");
    if (!form.has_sampler()) return true;
    if (!operand(inst.src[1], sampler, Type::b128, kSgpr)) return false;
    return inst.src[1].code != code::null || fail("null cannot be a sampler");
}

}  // namespace strata::isa
