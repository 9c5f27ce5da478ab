#include <algorithm>

#include "layout/layout_p.h"
#include "strata/asm/emu/bank_conflicts.h"
#include "strata/asm/isa/arch.h"

namespace strata::python {
namespace {

using namespace py::literals;

lo::IntTuple index_of(const lo::AnyLayout& L, const lo::IntTuple& coordinate) {
    if (const auto* composed = std::get_if<lo::ComposedLayout>(&L)) return (*composed)(coordinate);
    return std::get<lo::Layout>(L)(coordinate);
}

/// The byte where each lane's access begins; a lane's values are elements side by side.
std::vector<uint64_t> addresses_of(const lo::AnyLayout& L, const lo::Layout& base, int64_t lanes, int64_t values,
                                   int bits) {
    std::vector<uint64_t> out;
    for (int64_t lane = 0; lane < lanes; ++lane) {
        std::vector<int64_t> elements;
        for (int64_t value = 0; value < values; ++value)
            elements.push_back(index_of(L, base.rank() == 2 ? lo::IntTuple{lane, value} : lo::IntTuple(lane)).known());
        std::ranges::sort(elements);
        for (size_t i = 1; i < elements.size(); ++i)
            if (elements[i] != elements[0] + static_cast<int64_t>(i))
                lo::refuse("the {} values of lane {} do not lie side by side, so one access does not have them", values,
                           lane);
        if (elements[0] < 0) lo::refuse("lane {} has the negative index {}", lane, elements[0]);
        out.push_back(static_cast<uint64_t>((lo::Int(elements[0]) * lo::Int(bits)).value()) / 8);
    }
    return out;
}

As<"dict[str, Any]"> conflicts(LayoutLike L, int bits, const std::string& arch) {
    const isa::ArchInfo& info = isa::info(isa::parse_arch(arch).value());
    const lo::AnyLayout layout = to_any(L);
    const auto* composed = std::get_if<lo::ComposedLayout>(&layout);
    const lo::Layout& base = composed ? composed->base() : to_layout(L);
    if (base.rank() > 2)
        lo::refuse("{} has {} modes: lanes, and the values of an access", to_string(base), base.rank());
    const int64_t lanes = base.rank() == 2 ? base.mode(0).size().value() : base.size().value();
    const int64_t values = base.rank() == 2 ? base.mode(1).size().value() : 1;
    const int most = info.has_wave64 ? 64 : info.wave_size;
    if (lanes > most) lo::refuse("{} has {} lanes, a wave of {} at most {}", to_string(base), lanes, arch, most);
    if (bits < 1 || bits > 128 || values > 128 || values * bits > 128)
        lo::refuse("an access has from 1 to 128 bits, not {} of {}", values, bits);
    const uint32_t dwords = static_cast<uint32_t>((values * bits + 31) / 32);
    const emu::BankConflicts found = emu::bank_conflicts(addresses_of(layout, base, lanes, values, bits), dwords);
    py::tuple meet(found.lanes.size());
    for (size_t i = 0; i < found.lanes.size(); ++i) meet[i] = from_path(found.lanes[i]);
    return py::object(py::dict("ways"_a = found.ways, "cycles"_a = static_cast<int>(found.cycles),
                               "without"_a = static_cast<int>(found.passes), "lanes"_a = meet));
}

}  // namespace

void bind_layout_banks(LayoutFunctions& m) { m.def("_bank_conflicts", conflicts, "layout"_a, "bits"_a, "arch"_a); }

}  // namespace strata::python
