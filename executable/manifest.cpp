// manifest: a sequence as JSON, and JSON that somebody wrote as a sequence that can be run.
#include "strata/executable/manifest.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace strata::executable {
namespace {

using Kind = SequenceArgument::Kind;
constexpr std::string_view kKinds[] = {"operand", "constant", "workspace", "number", "bits"};
constexpr uint64_t kMostBytes = uint64_t{1} << 62;

Json tensor_to_json(const TensorOperand& operand) {
    return Json::Object{{"name", operand.name},
                        {"dtype", operand.dtype.name()},
                        {"shape", Json::list(operand.shape)},
                        {"strides", Json::list(operand.strides)},
                        {"alignment", operand.alignment}};
}

Json argument_to_json(const Sequence& sequence, const SequenceArgument& argument) {
    const size_t at = static_cast<size_t>(argument.value);
    Json value = argument.value;
    if (argument.kind == Kind::operand) value = sequence.operands[at].name;
    if (argument.kind == Kind::constant) value = sequence.constants[at].name;
    if (argument.kind == Kind::number) value = sequence.numbers[at].name;
    Json::Object out{{std::string(kKinds[static_cast<size_t>(argument.kind)]), std::move(value)},
                     {"offset", argument.offset},
                     {"bytes", argument.bytes}};
    if (argument.written) out.emplace("written", true);
    return out;
}

Json step_to_json(const Sequence& sequence, const SequenceStep& step) {
    const auto arguments =
        Json::list(step.arguments, [&](const SequenceArgument& one) { return argument_to_json(sequence, one); });
    if (step.is_copy()) return Json::Object{{"copy", arguments}, {"bytes", step.bytes}};
    Json::Object out{{"kernel", step.kernel}, {"grid", Json::list(step.grid)}, {"block", Json::list(step.block)},
                     {"lds", step.lds},       {"arguments", arguments},        {"bytes", step.bytes}};
    if (step.last_waits) out.emplace("last_waits", true);
    return out;
}

Json kernel_to_json(const Kernel& kernel, std::string object) {
    const isa::KernelInfo& info = kernel.code->info();
    return Json::Object{{"name", kernel.code->entry},
                        {"object", std::move(object)},
                        {"vgprs", info.vgprs},
                        {"sgprs", info.sgprs},
                        {"lds", info.lds},
                        {"scratch", info.scratch},
                        {"kernarg", info.kernarg_size},
                        {"schedule", kernel.code->schedule},
                        {"flops", kernel.code->flops}};
}

/// The first error, with the place of the value that is read.
class ManifestReader {
  public:
    ManifestReader(std::string_view arch, const FileContent& content) : content_(content) { out_.arch = arch; }

    Result<Sequence> run(const Json& manifest) {
        tensors(manifest, "inputs", false);
        tensors(manifest, "outputs", true);
        each(manifest, "numbers", [&](const Json& one) {
            out_.numbers.push_back({name(one), type(one)});
            if (!wrong_.empty() || out_.numbers.back().dtype.bytes() <= 8) return;
            fail("has no type of a number");
        });
        each(manifest, "constants", [&](const Json& one) {
            out_.constants.push_back(
                {name(one), type(one), static_cast<int64_t>(number(one, "elements", kMostBytes / 16))});
        });
        if (wrong_.empty()) read_target(manifest);
        if (!wrong_.empty()) return Error{.kind = ErrorKind::Usage, .message = std::move(wrong_)};
        return std::move(out_);
    }

  private:
    void fail(std::string_view what) {
        if (wrong_.empty()) wrong_ = fmt::format("{} {}", at_, what);
    }

    /// Reads each item of an array; at_ names the item.
    template <class Read>
    void each(const Json& of, std::string_view member, Read read) {
        const std::string before = at_;
        at_ = before.empty() ? std::string(member) : fmt::format("{}.{}", before, member);
        const Json* items = of.find(member);
        if (!items || !items->array()) return fail("is no list");
        const std::string list = at_;
        for (size_t i = 0; i < items->array()->size() && wrong_.empty(); ++i) {
            at_ = fmt::format("{}[{}]", list, i);
            read((*items->array())[i]);
        }
        if (wrong_.empty()) at_ = before;
    }

    std::string text(const Json& of, std::string_view member) {
        const Json* value = of.find(member);
        if (value && value->text()) return *value->text();
        fail(fmt::format("has no text '{}'", member));
        return {};
    }
    uint64_t number(const Json& of, std::string_view member, uint64_t most = kMostBytes) {
        const Json* value = of.find(member);
        uint64_t read = 0;
        if (!value || !value->whole(read) || read > most)
            fail(fmt::format("has no '{}' that is a number of at most {}", member, most));
        return wrong_.empty() ? read : 0;
    }
    uint32_t word(const Json& of, std::string_view member) { return static_cast<uint32_t>(number(of, member, ~0u)); }
    bool flag(const Json& of, std::string_view member) {
        const Json* value = of.find(member);
        if (value && !value->flag()) fail(fmt::format("has a '{}' that is neither true nor false", member));
        return value && value->flag() && *value->flag();
    }
    std::string name(const Json& of) {
        std::string read = text(of, "name");
        if (wrong_.empty() && !names_.insert({read, at_}).second) fail("has a name that is there already");
        return read;
    }
    DType type(const Json& of) {
        const std::string read = text(of, "dtype");
        for (DType known : all_dtypes())
            if (known.name() == read) return known;
        fail(fmt::format("has no dtype '{}'", read));
        return dtypes::uint8;
    }
    std::vector<int64_t> sizes(const Json& of, std::string_view member) {
        std::vector<int64_t> read;
        const Json* items = of.find(member);
        if (!items || !items->array() || items->array()->size() > 64)
            return fail(fmt::format("has no list '{}'", member)), read;
        for (const Json& item : *items->array()) {
            uint64_t size = 0;
            if (!item.whole(size) || size > kMostBytes)
                return fail(fmt::format("has a size in '{}' that is none", member)), read;
            read.push_back(static_cast<int64_t>(size));
        }
        return read;
    }

    void tensors(const Json& manifest, std::string_view member, bool output) {
        each(manifest, member, [&](const Json& one) {
            TensorOperand operand{name(one),
                                  type(one),
                                  sizes(one, "shape"),
                                  sizes(one, "strides"),
                                  output,
                                  number(one, "alignment", 1 << 20)};
            if (!wrong_.empty()) return;
            uint64_t bytes = static_cast<uint64_t>(operand.dtype.bytes());
            for (int64_t size : operand.shape)
                if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes > kMostBytes)
                    return fail("has more bytes than there can be");
            if (!is_dense(operand)) return fail("has strides that do not reach each element once");
            if (operand.alignment == 0 || (operand.alignment & (operand.alignment - 1)))
                return fail("has an alignment that is no power of two");
            out_.operands.push_back(std::move(operand));
        });
    }
    static bool is_dense(const TensorOperand& operand) {
        if (operand.shape.size() != operand.strides.size()) return false;
        std::vector<size_t> order;
        for (size_t axis = 0; axis < operand.shape.size(); ++axis) {
            if (operand.shape[axis] == 0) return true;
            if (operand.shape[axis] > 1) order.push_back(axis);
        }
        std::ranges::sort(order, {}, [&](size_t axis) { return operand.strides[axis]; });
        int64_t stride = 1;
        for (size_t axis : order) {
            if (operand.strides[axis] != stride) return false;
            stride *= operand.shape[axis];
        }
        return true;
    }

    /// The member of an object by arch; null, and an error: there is none.
    const Json* of_arch(const Json& manifest, std::string_view member) {
        at_ = member;
        const Json* by_arch = manifest.find(member);
        const Json* found = by_arch ? by_arch->find(out_.arch) : nullptr;
        if (!found) fail("has no " + out_.arch);
        at_ = fmt::format("{}.{}", member, out_.arch);
        return wrong_.empty() ? found : nullptr;
    }

    void read_target(const Json& manifest) {
        if (const Json* workspace = of_arch(manifest, "workspace")) {
            out_.workspace = number(*workspace, "bytes");
            out_.cleared = number(*workspace, "cleared", std::min(out_.workspace, kAlignment));
        }
        if (const Json* target = of_arch(manifest, "targets"))
            each(*target, "kernels", [&](const Json& one) { kernel(one); });
        if (!of_arch(manifest, "steps")) return;
        at_ = "steps";
        each(*manifest.find("steps"), out_.arch, [&](const Json& one) { step(one); });
    }

    void kernel(const Json& of) {
        const std::string file = text(of, "object");
        Code code{.entry = text(of, "name")};
        code.schedule = text(of, "schedule"), code.flops = number(of, "flops", ~uint64_t{0});
        const std::string source = of.find("source") ? text(of, "source") : "";
        if (!wrong_.empty()) return;
        if (!source.empty()) {
            const std::optional<std::string_view> content = content_(source);
            if (!content) return fail(fmt::format("needs the file {}, which is not there", source));
            code.text = *content;
        }
        auto& known = objects_[file];
        if (!known) {
            const std::optional<std::string_view> image = content_(file);
            if (!image) return fail(fmt::format("needs the file {}, which is not there", file));
            auto object = isa::CodeObject::parse(isa::Bytes(image->begin(), image->end()));
            if (!object) return fail(fmt::format("has {}, which is no code object: {}", file, object.error().message));
            if (isa::info(object->arch).name != out_.arch)
                return fail(fmt::format("has {}, which is of {}", file, isa::info(object->arch).name));
            known = std::make_shared<const isa::CodeObject>(*std::move(object));
        }
        if (!known->find(code.entry)) return fail(fmt::format("has no kernel '{}' in {}", code.entry, file));
        code.object = known, code.cached = true, code.route = "artifact";
        const std::string entry = code.entry;
        out_.kernels.push_back({entry, std::make_shared<const Code>(std::move(code))});
    }

    template <class Items>
    uint64_t index_of(const Json& of, std::string_view kind, const Items& items) {
        const std::string wanted = text(of, kind);
        for (size_t i = 0; i < items.size(); ++i)
            if (items[i].name == wanted) return i;
        fail(fmt::format("names the {} '{}', which there is not", kind, wanted));
        return 0;
    }

    /// `bytes`: of memory that the argument is the address of, at most.
    void argument(const Json& of, SequenceStep& step) {
        SequenceArgument read;
        size_t kinds = 0;
        for (size_t i = 0; i < std::size(kKinds); ++i)
            if (of.find(kKinds[i])) read.kind = static_cast<Kind>(i), ++kinds;
        if (kinds != 1) return fail("is not one of operand, constant, workspace, number, bits");
        const std::string_view kind = kKinds[static_cast<size_t>(read.kind)];
        switch (read.kind) {
            case Kind::operand: read.value = index_of(of, kind, out_.operands); break;
            case Kind::constant: read.value = index_of(of, kind, out_.constants); break;
            case Kind::number: read.value = index_of(of, kind, out_.numbers); break;
            case Kind::workspace: read.value = number(of, kind, out_.workspace); break;
            case Kind::bits: read.value = number(of, kind, ~uint64_t{0}); break;
        }
        read.offset = static_cast<uint32_t>(number(of, "offset", 1 << 20));
        read.bytes = static_cast<uint32_t>(number(of, "bytes", 8));
        read.written = flag(of, "written");
        if (!wrong_.empty()) return;
        const bool is_address = read.kind <= Kind::workspace;
        if (read.bytes == 0 || (is_address && read.bytes != 8)) return fail("has a size that it cannot have");
        if (read.written &&
            (read.kind == Kind::constant || (read.kind == Kind::operand && !out_.operands[read.value].output)))
            return fail("would write an input or a constant");
        if (read.written && !is_address) return fail("would write a number");
        step.arguments.push_back(read);
    }

    uint64_t memory_of(const SequenceArgument& argument) const {
        if (argument.kind == Kind::operand) return out_.operands[argument.value].bytes();
        if (argument.kind == Kind::constant) return out_.constants[argument.value].bytes();
        return argument.kind == Kind::workspace ? out_.workspace - argument.value : 0;
    }

    void step(const Json& of) {
        SequenceStep read;
        read.bytes = number(of, "bytes");
        if (of.find("copy")) {
            each(of, "copy", [&](const Json& one) { argument(one, read); });
            if (!wrong_.empty()) return;
            if (read.arguments.size() != 2 || memory_of(read.arguments[0]) < read.bytes ||
                memory_of(read.arguments[1]) < read.bytes || !read.arguments[0].written)
                return fail("copies what does not fit");
            return void(out_.steps.push_back(std::move(read)));
        }
        read.kernel = static_cast<uint32_t>(number(of, "kernel", ~0u));
        for (auto [member, to] : {std::pair("grid", &read.grid), {"block", &read.block}}) {
            const std::vector<int64_t> given = sizes(of, member);
            if (wrong_.empty() && given.size() != 3) fail(fmt::format("has no '{}' of three sizes", member));
            for (size_t i = 0; i < 3 && wrong_.empty(); ++i) {
                if (given[i] < 1 || given[i] > INT32_MAX) fail(fmt::format("has a '{}' that no launch has", member));
                (*to)[i] = static_cast<uint32_t>(given[i]);
            }
        }
        read.lds = word(of, "lds"), read.last_waits = flag(of, "last_waits");
        if (wrong_.empty() && read.kernel >= out_.kernels.size()) fail("names a kernel that there is not");
        each(of, "arguments", [&](const Json& one) { argument(one, read); });
        if (!wrong_.empty()) return;
        if (read.argument_bytes() > out_.kernels[read.kernel].code->info().kernarg_size)
            return fail("has arguments that its kernel does not take");
        launched_as(read);
        out_.steps.push_back(std::move(read));
    }

    /// A kernel's code has the launch of its first step, for people.
    void launched_as(const SequenceStep& step) {
        std::shared_ptr<const Code>& code = out_.kernels[step.kernel].code;
        if (std::ranges::any_of(out_.steps, [&](const SequenceStep& other) { return other.kernel == step.kernel; }))
            return;
        Code launched = *code;
        launched.grid = step.grid, launched.block = step.block, launched.dynamic_lds = step.lds;
        code = std::make_shared<const Code>(std::move(launched));
    }

    const FileContent& content_;
    std::string at_, wrong_;
    std::map<std::string, std::string> names_;
    std::map<std::string, std::shared_ptr<const isa::CodeObject>> objects_;
    Sequence out_;
};

}  // namespace

Json::Object interface_to_json(const Sequence& sequence) {
    Json::Array inputs, outputs;
    for (const TensorOperand& operand : sequence.operands)
        (operand.output ? outputs : inputs).push_back(tensor_to_json(operand));
    const auto numbers = Json::list(sequence.numbers, [](const NumberOperand& number) {
        return Json(Json::Object{{"name", number.name}, {"dtype", number.dtype.name()}});
    });
    const auto constants = Json::list(sequence.constants, [](const ConstantOperand& one) {
        return Json(Json::Object{{"name", one.name}, {"dtype", one.dtype.name()}, {"elements", one.elements}});
    });
    return {{"inputs", inputs}, {"outputs", outputs}, {"numbers", numbers}, {"constants", constants}};
}

Json::Object target_to_json(const Sequence& sequence, const std::function<std::string(size_t)>& object) {
    Json::Array kernels;
    for (size_t i = 0; i < sequence.kernels.size(); ++i)
        kernels.push_back(kernel_to_json(sequence.kernels[i], object(i)));
    const auto steps =
        Json::list(sequence.steps, [&](const SequenceStep& step) { return step_to_json(sequence, step); });
    const Json workspace = Json::Object{{"bytes", sequence.workspace}, {"cleared", sequence.cleared}};
    return {{"kernels", kernels}, {"steps", steps}, {"workspace", workspace}};
}

Result<Sequence> sequence_of(const Json& manifest, std::string_view arch, const FileContent& content) {
    return ManifestReader(arch, content).run(manifest);
}

}  // namespace strata::executable
