// Files of artifacts in Python: what strata.Artifact.load reads.
#include "strata/executable/artifact_files.h"

#include "front_end_p.h"
#include "kernels_p.h"
#include "strata/executable/artifact_constants.h"

namespace strata::python {

using executable::ArtifactFiles, executable::Sequence;

void bind_artifact_files(py::module_& m) {
    py::class_<ArtifactFiles, std::shared_ptr<ArtifactFiles>>(m, "ArtifactFiles", "An artifact that was read.")
        .def_readonly("text", &ArtifactFiles::text, "The manifest.")
        .def_property_readonly(
            "files",
            [](const ArtifactFiles& a) {
                std::map<std::string, py::bytes> out;
                for (const auto& [name, content] : a.files) out.emplace(name, py::bytes(content));
                return out;
            },
            "The other files by name.")
        .def(
            "executable",
            [](const ArtifactFiles& a, const std::string& arch) {
                return std::make_shared<Sequence>(executable::sequence_of(a, arch).value());
            },
            py::arg("arch"), "For an architecture. UsageError names the member that is wrong.")
        .def(
            "constants",
            [](const ArtifactFiles& a, const Sequence& sequence) {
                std::vector<std::tuple<DType, int64_t, py::bytes>> out;
                const auto found = executable::constants_of(a, sequence.constants).value();
                for (size_t i = 0; i < found.size(); ++i)
                    out.emplace_back(sequence.constants[i].dtype, sequence.constants[i].elements,
                                     py::bytes(found[i].data(), found[i].size()));
                return out;
            },
            py::arg("executable"), "(dtype, elements, bytes) of each constant. UsageError names the file.");
    m.def("_read_artifact", [](const py::bytes& path) {
        const std::string name = path;
        return computing([&] { return std::make_shared<ArtifactFiles>(executable::read_artifact(name).value()); });
    });
}

}  // namespace strata::python
