// How fast isa::decode reads real code: part of `strata bench emu`.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "bench_p.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/object/code_object.h"

namespace strata::bench {
namespace {

/// The words of all functions of a code object.
std::vector<std::vector<uint32_t>> functions_of(const isa::CodeObject& object) {
    std::vector<std::vector<uint32_t>> functions;
    for (const isa::Symbol& symbol : object.symbols)
        for (const isa::Segment& segment : object.segments) {
            const uint64_t from = symbol.address - segment.address;
            const bool inside = symbol.address >= segment.address && from + symbol.size <= segment.bytes.size();
            if (!symbol.is_function || !segment.executable || !inside) continue;
            std::vector<uint32_t>& words = functions.emplace_back(symbol.size / 4);
            std::memcpy(words.data(), segment.bytes.data() + from, words.size() * 4);
        }
    return functions;
}

/// Decodes the words from first to last; returns the number of instructions.
size_t decode_all(isa::Arch arch, std::span<const uint32_t> words) {
    size_t count = 0;
    for (; !words.empty(); ++count) {
        const Result<isa::Inst> inst = isa::decode(arch, words);
        if (!inst) throw Exception(inst.error());
        words = words.subspan(inst->size / 4);
    }
    return count;
}

/// (million instructions a second on one core, instructions): the best of `repeat` measurements of `turns` passes over
/// the code.
py::tuple decode_rate(const py::bytes& image, int repeat, int turns) {
    const std::string_view bytes = image;
    const auto object = isa::CodeObject::parse({bytes.begin(), bytes.end()}).value();
    const auto functions = functions_of(object);
    double best = 0;
    size_t count = 0;
    for (int i = 0; i < repeat; ++i) {
        const auto start = std::chrono::steady_clock::now();
        count = 0;
        for (int turn = 0; turn < turns; ++turn)
            for (const auto& words : functions) count += decode_all(object.arch, words);
        const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
        best = std::max(best, static_cast<double>(count) / time.count());
    }
    return py::make_tuple(best, count / static_cast<size_t>(turns));
}

}  // namespace

void bind_decode(py::module_& m) {
    m.def("decode_rate", &decode_rate, py::arg("image"), py::arg("repeat") = 10, py::arg("turns") = 100);
}

}  // namespace strata::bench
