#include <pybind11/stl.h>

#include "convert_p.h"
#include "strata/asm/isa/facts.h"

// The instruction tables' facts of a mnemonic, as plain Python data.
namespace strata::python {
namespace {

using namespace pybind11::literals;
using isa::Family;
using isa::Row;
using Names = std::vector<std::string_view>;

struct Bit {
    uint32_t bit;
    std::string_view name;
};

template <size_t N>
Names names_of(const Bit (&all)[N], uint32_t bits) {
    Names names;
    for (const Bit& one : all)
        if (bits & one.bit) names.push_back(one.name);
    return names;
}

constexpr Bit kKinds[] = {{isa::kVgpr, "vgpr"},
                          {isa::kSgpr, "sgpr"},
                          {isa::kInline, "inline"},
                          {isa::kLiteralConstant, "literal"},
                          {isa::kAgpr, "agpr"}};
constexpr Bit kFlags[] = {{isa::kMemory, "memory"},     {isa::kStore, "store"},
                          {isa::kAtomic, "atomic"},     {isa::kBranch, "branch"},
                          {isa::kTrans, "trans"},       {isa::kMatrix, "matrix"},
                          {isa::kGraphics, "graphics"}, {isa::kNotOnSilicon, "not_on_silicon"},
                          {isa::kWave64, "wave64"}};
constexpr Bit kModifiers[] = {{isa::mod::neg(7), "neg"},        {isa::mod::abs(7), "abs"},
                              {isa::mod::op_sel(15), "op_sel"}, {isa::mod::op_sel_hi(7), "op_sel_hi"},
                              {isa::mod::neg_hi(7), "neg_hi"},  {isa::mod::clamp, "clamp"},
                              {isa::mod::omod, "omod"},         {isa::mod::offset | isa::mod::two_offsets, "offset"},
                              {isa::mod::dpp, "dpp"},           {isa::mod::sdwa, "sdwa"},
                              {isa::mod::tfe, "tfe"},           {isa::mod::lds, "lds"}};

template <size_t N>
py::list operands(const std::array<isa::Type, N>& types, const std::array<uint8_t, N>& kinds, int wave_size) {
    py::list list;
    for (size_t i = 0; i < N; ++i)
        if (kinds[i])
            list.append(py::dict("type"_a = isa::info(types[i]).name, "dwords"_a = isa::dwords(types[i], wave_size),
                                 "takes"_a = names_of(kKinds, kinds[i])));
    return list;
}

py::dict describe(Family family, const Row& row, int wave_size) {
    const isa::Facts& facts = isa::facts(family, row);
    py::dict latency("kind"_a = isa::name(facts.latency), "issue"_a = isa::issue_cycles(family, facts, wave_size),
                     "result"_a = facts.result);
    if (int passes = isa::matrix_passes(family, facts)) latency["passes"] = passes;
    return py::dict("mnemonic"_a = row.mnemonic, "format"_a = isa::name(row.format), "opcode"_a = row.opcode,
                    "destinations"_a = operands(row.dst, row.dst_kind, wave_size),
                    "sources"_a = operands(row.src, row.src_kind, wave_size), "flags"_a = names_of(kFlags, row.flags),
                    "modifiers"_a = names_of(kModifiers, row.modifiers),
                    "counters"_a = isa::counter_names(facts.counters), "latency"_a = latency,
                    "reads"_a = isa::implicit_names(facts.reads), "writes"_a = isa::implicit_names(facts.writes));
}

}  // namespace

void bind_describe(py::module_& m) {
    m.def(
        "_describe", [](const std::string& mnemonic, const std::string& arch) -> As<"list[dict[str, Any]]"> {
            const isa::ArchInfo& info = isa::info(isa::parse_arch(arch).value());
            py::list forms;
            for (const Row& row : isa::rows(info.family))
                if (row.mnemonic == mnemonic && has_row(info.arch, row))
                    forms.append(describe(info.family, row, row.flags & isa::kWave64 ? 64 : info.wave_size));
            return py::object(forms);
        });
}

}  // namespace strata::python
