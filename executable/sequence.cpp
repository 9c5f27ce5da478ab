// sequence: an executable -> launches over operands by name, with the workspace laid out.
#include "strata/executable/sequence.h"

#include <algorithm>

#include "strata/core/support/error.h"
#include "strata/executable/memory.h"
#include "strata/executable/workspace.h"

namespace strata::executable {
namespace {

using Kind = SequenceArgument::Kind;

class Layout {
  public:
    Layout(const Executable& exe, const Interface& interface, const PackedSteps& packed)
        : exe_(exe), interface_(interface), packed_(packed), workspace_(lay_out_workspace(exe, kAlignment)) {}

    Sequence run() {
        out_.arch = exe_.arch, out_.kernels = exe_.kernels, out_.numbers = interface_.numbers;
        out_.operands = interface_.inputs;
        for (const TensorOperand& output : interface_.outputs) {
            out_.operands.push_back(output);
            out_.operands.back().output = true;
        }
        for (size_t at = interface_.inputs.size(); at < exe_.inputs; ++at)
            out_.constants.push_back({interface_.constants.at(at - interface_.inputs.size()), exe_.operands[at].dtype,
                                      exe_.operands[at].elements});
        const bool has_counters = std::ranges::any_of(exe_.steps, [&](const Step& step) {
            return std::ranges::any_of(exe_.kernels[step.kernel].code->places, &ParameterPlace::counter);
        });
        if (has_counters) out_.cleared = sizeof(int32_t), counters_ = kAlignment;
        out_.workspace = counters_ + workspace_.bytes;
        find_outputs();
        filled_.assign(exe_.operands.size(), false);
        std::fill_n(filled_.begin(), exe_.inputs, true);
        for (size_t s = 0; s < exe_.steps.size(); ++s) {
            add(s);
            for (uint32_t at : exe_.steps[s].operands) filled_[at] = true;
        }
        for (const auto& [from, output] : copies_) {
            const uint64_t bytes = out_.operands[output].bytes();
            if (bytes > 0)
                out_.steps.push_back(
                    {.arguments = {{Kind::operand, output, 0, 8, true}, address_of(from)}, .bytes = bytes});
        }
        return std::move(out_);
    }

  private:
    /// An operand that holds several results is the first one's memory.
    void find_outputs() {
        output_of_.assign(exe_.operands.size(), kNone);
        for (size_t i = 0; i < exe_.results.size(); ++i) {
            const uint32_t result = exe_.results[i], output = static_cast<uint32_t>(interface_.inputs.size() + i);
            if (result < exe_.inputs || output_of_[result] != kNone)
                copies_.emplace_back(result, output);
            else
                output_of_[result] = output;
        }
    }

    SequenceArgument address_of(uint32_t operand) const {
        if (operand < interface_.inputs.size()) return {Kind::operand, operand};
        if (operand < exe_.inputs) return {Kind::constant, operand - interface_.inputs.size()};
        const uint32_t last = last_heir(exe_, operand);
        if (output_of_[last] != kNone) return {Kind::operand, output_of_[last]};
        STRATA_CHECK(exe_.operands[last].place != kNone, "operand {} has no memory", operand);
        return {Kind::workspace, counters_ + workspace_.offsets[exe_.operands[last].place]};
    }

    SequenceArgument argument(const Step& step, const ParameterPlace& place) const {
        SequenceArgument made;
        const auto slot = static_cast<size_t>(place.slot);
        if (place.counter) {
            made = {Kind::workspace, 0};
            made.written = true;
        } else if (slot < step.operands.size()) {
            made = address_of(step.operands[slot]);
            made.written = !filled_[step.operands[slot]];
        } else {
            const Number& number = step.numbers.at(slot - step.operands.size());
            made = number.place < 0 ? SequenceArgument{Kind::bits, number.bits}
                                    : SequenceArgument{Kind::number, static_cast<uint64_t>(number.place)};
        }
        made.offset = place.offset, made.bytes = place.bytes;
        return made;
    }

    void add(size_t s) {
        const Step& step = exe_.steps[s];
        STRATA_CHECK(step.call == kNone, "a call of a user's kernel is in no sequence");
        if (step.is_copy()) {
            SequenceArgument to = address_of(step.operands[0]);
            to.written = true;
            out_.steps.push_back(
                {.arguments = {to, address_of(step.operands[1])}, .bytes = exe_.operands[step.operands[0]].bytes()});
            return;
        }
        const Code& code = *exe_.kernels[step.kernel].code;
        SequenceStep made{step.kernel, code.grid, code.block, code.dynamic_lds};
        made.bytes = step.bytes;
        made.last_waits = std::ranges::any_of(code.places, &ParameterPlace::counter);
        if (s < packed_.size() && !packed_[s].empty()) {
            for (SequenceArgument given : packed_[s]) {
                if (given.kind == Kind::operand) {
                    const SequenceArgument address = address_of(step.operands.at(given.value));
                    given.kind = address.kind, given.value = address.value;
                }
                made.arguments.push_back(given);
            }
        } else if (code.places.empty()) {
            for (size_t slot = 0; slot < step.operands.size(); ++slot)
                made.arguments.push_back(argument(
                    step, {.slot = static_cast<int>(slot), .offset = static_cast<uint32_t>(8 * slot), .bytes = 8}));
        } else {
            for (const ParameterPlace& place : code.places) made.arguments.push_back(argument(step, place));
        }
        out_.steps.push_back(std::move(made));
    }

    const Executable& exe_;
    const Interface& interface_;
    const PackedSteps& packed_;
    const Workspace workspace_;
    uint64_t counters_ = 0;                              ///< bytes at the start of the workspace
    std::vector<bool> filled_;                           ///< by operand of the executable, before the step
    std::vector<uint32_t> output_of_;                    ///< by operand of the executable
    std::vector<std::pair<uint32_t, uint32_t>> copies_;  ///< operand, output
    Sequence out_;
};

}  // namespace

uint64_t TensorOperand::bytes() const {
    uint64_t elements = 1;
    for (int64_t size : shape) elements *= static_cast<uint64_t>(size);
    return elements * static_cast<uint64_t>(dtype.bytes());
}

uint32_t SequenceStep::argument_bytes() const {
    uint32_t end = 0;
    for (const SequenceArgument& argument : arguments) end = std::max(end, argument.offset + argument.bytes);
    return end;
}

size_t Sequence::inputs() const {
    return static_cast<size_t>(std::ranges::find(operands, true, &TensorOperand::output) - operands.begin());
}

Sequence lay_out(const Executable& executable, const Interface& interface, const PackedSteps& packed) {
    STRATA_CHECK(interface.outputs.size() == executable.results.size(), "{} outputs of {} results",
                 interface.outputs.size(), executable.results.size());
    return Layout(executable, interface, packed).run();
}

}  // namespace strata::executable
