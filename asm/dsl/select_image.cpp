#include <algorithm>

#include "strata/asm/dsl/select_p.h"
#include "strata/asm/isa/image.h"

namespace strata::isa {
namespace {

using Kind = DynOperand::Kind;

class ImageSelector {
  public:
    ImageSelector(const Row& row, std::span<const DynOperand> operands) : row_(row), operands_(operands) {}

    template <class... Args>
    Error fail(fmt::format_string<Args...> text, Args&&... args) const {
        return make_error(ErrorKind::Assembly, "{}: {}", row_.mnemonic, fmt::format(text, std::forward<Args>(args)...));
    }
    size_t left() const { return operands_.size() - next_; }

    Result<Operand> vector(Type type, std::string_view name) {
        const DynOperand& given = operands_[next_++];
        if (given.kind != Kind::vgpr || given.count != span_of(type))
            return fail("{} is {} vector register{}, not {}", name, span_of(type), span_of(type) == 1 ? "" : "s",
                        to_string(given));
        result.vgprs = std::max(result.vgprs, given.index + given.count);
        return Operand{static_cast<uint16_t>(code::vgpr0 + given.index), type};
    }
    Result<Operand> scalar(Type type, std::string_view name) {
        const DynOperand& given = operands_[next_++];
        if (given.kind != Kind::scalar || given.count != span_of(type))
            return fail("{} is {} scalar registers, not {}", name, span_of(type), to_string(given));
        if (given.index < code::vcc_lo) result.sgprs = std::max(result.sgprs, given.index + given.count);
        return Operand{static_cast<uint16_t>(given.index), type};
    }

    Selected result;

  private:
    const Row& row_;
    std::span<const DynOperand> operands_;
    size_t next_ = 0;
};

/// Together in one group of registers, or each by itself: [v1, v5].
Result<void> take_addresses(ImageSelector& selector, ImageForm& form, size_t registers, bool rdna4) {
    Inst& inst = selector.result.inst;
    form.separate = rdna4 || registers > 1;
    if (form.separate && registers != form.addresses)
        return selector.fail("it takes {} address registers by themselves, as in [v0, v1], not {}", form.addresses,
                             registers);
    const Type type = form.separate ? Type::b32 : kImageDataTypes[form.addresses];
    STRATA_TRY(inst.src[3], selector.vector(type, form.separate ? "an address" : "the address"));
    for (size_t i = 1; form.separate && i < registers; ++i) {
        STRATA_TRY(inst.src_y[i - 1], selector.vector(Type::b32, "an address"));
    }
    return {};
}

}  // namespace

Result<Selected> select_image(const Machine& machine, const Row& row, std::span<const DynOperand> operands,
                              const Modifiers& m) {
    ImageSelector selector(row, operands);
    Inst& inst = selector.result.inst;
    const KnownImage* known = known_image(row.mnemonic);
    if (!known) return selector.fail("of image instructions only loads, stores, samples and gathers are assembled");
    if (!m.image_dim) return selector.fail("it needs a dim, as dim:SQ_RSRC_IMG_2D");
    ImageForm form{.kind = known->kind, .dim = *m.image_dim, .components = m.dmask, .unnormalized = m.unnormalized};
    if (!form.has_components())
        return selector.fail(
            "it needs {}", form.kind == ImageKind::gather ? "one component, as dmask:0x1" : "components, as dmask:0xf");
    const size_t others = form.has_sampler() ? 3 : 2;  // beside the addresses
    if (operands.size() <= others) return selector.fail("it takes data, addresses and descriptors");
    form.addresses = static_cast<uint8_t>(info(form.dim).coordinates + known->levels);
    if (form.addresses > 3) return selector.fail("more than three addresses are not there");
    inst.row = &row;
    inst.encoding = Format::MIMG;
    Operand& data = form.kind == ImageKind::store ? inst.src[2] : inst.dst[0];
    STRATA_TRY(data, selector.vector(form.data_type(), "the data of this dmask"));
    STRATA_TRY_VOID(
        take_addresses(selector, form, operands.size() - others, info(machine.arch).family == Family::rdna4));
    STRATA_TRY(inst.src[0], selector.scalar(Type::b256, "the descriptor of the image"));
    if (form.has_sampler()) {
        STRATA_TRY(inst.src[1], selector.scalar(Type::b128, "the sampler"));
    }
    inst.glc = m.glc;
    inst.slc = m.slc;
    inst.dlc = m.dlc;
    inst.tfe = m.tfe;
    inst.th = m.th;
    inst.scope = m.scope;
    inst.offset = form.pack();
    return std::move(selector.result);
}

}  // namespace strata::isa
