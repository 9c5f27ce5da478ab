// save: a plan -> the files of an artifact for its device's architecture.
#include "strata/plan/save.h"

#include <cstring>
#include <set>

#include "strata/executable/artifact_constants.h"
#include "strata/executable/artifact_files.h"
#include "strata/executable/artifact_writing.h"
#include "strata/executable/manifest.h"
#include "strata/plan/graph_p.h"

namespace strata::plan {
namespace {

using executable::FilesByName;

/// Names of operands whose addresses a step's kernel takes; "" is a counter.
Json arguments_of(const executable::Executable& exe, const executable::Step& step, const executable::Code& code) {
    Json::Array out;
    for (const executable::ParameterPlace& place : code.places)
        if (!place.number)
            out.emplace_back(place.counter ? "" : exe.names[step.operands[static_cast<size_t>(place.slot)]]);
    if (code.places.empty())
        for (uint32_t operand : step.operands) out.emplace_back(exe.names[operand]);
    return out;
}

Json target_of(const runtime::Artifact& compiled, const executable::Sequence& sequence, const std::string& object,
               const Json& sku) {
    Json::Object target = executable::target_to_json(sequence, [&](size_t) { return object; });
    target.erase("steps"), target.erase("workspace");
    const executable::Executable& exe = compiled.executable;
    Json::Array operands, arguments;
    for (size_t i = 0; i < exe.operands.size(); ++i)
        operands.push_back(Json::Array{exe.names[i], exe.operands[i].dtype.name(), exe.operands[i].elements});
    for (size_t i = 0; i < exe.steps.size(); ++i)
        arguments.push_back(arguments_of(exe, exe.steps[i], compiled.kernels[i]));
    target["operands"] = operands, target["arguments"] = arguments;
    target["route"] = *sku.find("target");
    target["compiler"] = *sku.find("target")->text() == "hip" ? "clang 19" : "strata " STRATA_VERSION;
    return target;
}

/// A safetensors file of the constants.
std::string constants_file(const Plan& plan, const executable::Sequence& sequence) {
    Json::Object header;
    std::string data;
    for (size_t i = 0; i < sequence.constants.size(); ++i) {
        const executable::ConstantOperand& constant = sequence.constants[i];
        const uint64_t start = data.size();
        data.resize(start + constant.bytes());
        if (constant.bytes() > 0)
            runtime::find_buffer(plan.constants()[i].get())->copy_out(data.data() + start, constant.bytes());
        header[constant.name] = Json::Object{{"dtype", executable::safetensors_name(constant.dtype)},
                                             {"shape", Json::Array{constant.elements}},
                                             {"data_offsets", Json::Array{start, static_cast<uint64_t>(data.size())}}};
    }
    std::string text = Json(header).dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    std::string out(sizeof(uint64_t), '\0');
    const uint64_t length = text.size();
    std::memcpy(out.data(), &length, sizeof length);
    return out + text + data;
}

void check_strides(const Plan& plan) {
    if (!plan.compiled())
        plan_error(Status::unsupported, "", {}, "[plan] it has nothing to save: it launches nothing, or was loaded");
    for (const Operand& operand : plan.operands())
        if (operand.lowest != 0 || !dense_order(operand.shape, operand.strides))
            plan_error(Status::unsupported, operand.name, {},
                       "[plan] strides {} of '{}' do not reach each element once, as those of artifacts do",
                       to_string(operand.strides), operand.name);
}

FilesByName files_of(const Plan& plan) {
    const runtime::Artifact& compiled = *plan.compiled();
    const executable::Sequence& sequence = plan.loaded()->sequence();
    const Json sku = Json::parse(plan.sku()).value();
    const std::string object = "code/" + sequence.arch + ".co";
    FilesByName files;
    const isa::Bytes code = compiled.code_object();
    files[object] = std::string(code.begin(), code.end());
    std::set<std::string> listed;
    for (const executable::Code& kernel : compiled.kernels) {
        if (listed.insert(kernel.entry).second) files["code/" + sequence.arch + ".s"] += kernel.assembly;
        if (!kernel.text.empty()) files["source/" + kernel.entry + ".hip"] = kernel.text;
    }
    if (!sequence.constants.empty()) files["constants.safetensors"] = constants_file(plan, sequence);

    Json::Object manifest = executable::interface_to_json(sequence);
    Json::Object of_arch = executable::target_to_json(sequence, [&](size_t) { return object; });
    manifest["steps"] = Json::Object{{sequence.arch, of_arch["steps"]}};
    manifest["workspace"] = Json::Object{{sequence.arch, of_arch["workspace"]}};
    manifest["targets"] = Json::Object{{sequence.arch, target_of(compiled, sequence, object, sku)}};
    Json::Array arguments;
    for (const Operand& operand : plan.operands())
        if (!operand.output) arguments.emplace_back(operand.name);
    const size_t outputs = plan.operands().size() - arguments.size();
    manifest["arguments"] = arguments, manifest["returns"] = outputs == 1 ? "tensor" : "tuple";
    manifest["archs"] = Json::Array{sequence.arch};
    manifest["precision"] = Json::Object{{"products", Json::Object{{"float16", "float32"}, {"bfloat16", "float32"}}}};
    const Json rows = executable::rows_of(files);
    manifest["key"] = executable::key_of(manifest, rows);
    manifest["expected"] = Json::Object(), manifest["files"] = rows;
    manifest["format"] = executable::kArtifactFormat, manifest["version"] = executable::kArtifactVersion;
    manifest["min_reader"] = executable::kArtifactVersion, manifest["strata"] = STRATA_VERSION;
    manifest["name"] = *sku.find("op");
    files[std::string(executable::kManifest)] = Json(manifest).dump() + "\n";
    return files;
}

}  // namespace

void save(const Plan& plan, const std::string& path) {
    check_strides(plan);
    if (Result<void> written = executable::write_artifact(path, files_of(plan)); !written)
        throw PlanError(Status::artifact, "", {}, written.error().message);
}

}  // namespace strata::plan
