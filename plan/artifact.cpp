// artifact: what was compiled elsewhere as a plan on a device.
#include "strata/plan/artifact.h"

#include <algorithm>

#include "strata/executable/artifact_constants.h"
#include "strata/plan/describe_p.h"
#include "strata/runtime/device.h"

namespace strata::plan {
namespace {

template <class T>
T readable(Result<T> read) {
    if (!read) throw PlanError(Status::artifact, "", {}, read.error().message);
    return *std::move(read);
}

void check_arch(const executable::ArtifactFiles& artifact, std::string_view arch) {
    std::string known;
    for (const Json& one : *artifact.manifest.find("archs")->array()) {
        if (*one.text() == arch) return;
        known += (known.empty() ? "" : ", ") + *one.text();
    }
    plan_error(Status::device, "", {}, "[Artifact.load] {}: it has code for {}, and the device is {}", artifact.title,
               known, arch);
}

std::vector<Operand> operands_of(const executable::Sequence& sequence) {
    std::vector<Operand> out;
    for (const executable::TensorOperand& one : sequence.operands)
        out.push_back({one.name, one.dtype, one.shape, one.strides, one.output, one.alignment, 0, one.bytes()});
    return out;
}

std::string sku_of_artifact(const executable::ArtifactFiles& artifact, const executable::Sequence& sequence) {
    Json::Object dtypes, shapes;
    for (const executable::TensorOperand& operand : sequence.operands) {
        dtypes[operand.name] = operand.dtype.name();
        shapes[operand.name] = Json::list(operand.shape);
    }
    const auto schedule =
        Json::list(sequence.kernels, [](const executable::Kernel& kernel) { return Json(kernel.code->schedule); });
    const Json* route = artifact.manifest.find("targets")->find(sequence.arch)->find("route");
    return Json(Json::Object{{"category", "artifact"},
                             {"op", *artifact.manifest.find("name")->text()},
                             {"key", *artifact.manifest.find("key")->text()},
                             {"dtypes", dtypes},
                             {"shapes", shapes},
                             {"arch", sequence.arch},
                             {"target", route && route->text() ? *route->text() : ""},
                             {"epilogue", "identity"},
                             {"schedule", schedule}})
        .dump();
}

/// The types of its widest results.
Precision precision_of_operands(const std::vector<Operand>& operands) {
    const DType type = operands.empty() ? dtypes::float32 : operands.back().dtype;
    const DType math = type.is_float() && type.bits() < 32 ? dtypes::float32 : type;
    return {.math = math, .accumulate = math};
}

}  // namespace

std::shared_ptr<const Plan> load(runtime::Device& device, const executable::ArtifactFiles& artifact) {
    const std::string_view arch = device.arch().name();
    check_arch(artifact, arch);
    auto sequence = std::make_shared<const executable::Sequence>(readable(executable::sequence_of(artifact, arch)));
    if (!sequence->numbers.empty())
        plan_error(Status::unsupported, sequence->numbers[0].name, {},
                   "[Artifact.load] {}: each call gives the number '{}', and plans take tensors: compile it with a "
                   "number of Python, or with a tensor",
                   artifact.title, sequence->numbers[0].name);
    const auto found = readable(executable::constants_of(artifact, sequence->constants));
    std::vector<std::shared_ptr<runtime::Buffer>> constants;
    for (size_t i = 0; i < found.size(); ++i) {
        const executable::ConstantOperand& of = sequence->constants[i];
        constants.push_back(std::make_shared<runtime::Buffer>(device, of.dtype, std::max<int64_t>(of.elements, 1)));
        if (of.elements > 0) constants.back()->copy_in(found[i].data(), found[i].size());
    }
    Plan::Parts parts{.operands = operands_of(*sequence)};
    parts.precision = precision_of_operands(parts.operands);
    parts.sku = sku_of_artifact(artifact, *sequence), parts.sku_hash = hash_of(parts.sku);
    parts.loaded = std::make_shared<const runtime::LoadedSequence>(device, std::move(sequence), std::move(constants));
    return std::make_shared<const Plan>(std::move(parts));
}

}  // namespace strata::plan
