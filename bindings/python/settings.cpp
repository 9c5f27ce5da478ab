#include "strata/core/support/settings.h"

#include "convert_p.h"
#include "strata/runtime/device.h"

namespace strata::python {
namespace {

/// As settings.def and the environment write it.
std::string setting_text(py::handle value) {
    py::object plain = py::hasattr(value, "item") ? value.attr("item")() : py::reinterpret_borrow<py::object>(value);
    if (PyBool_Check(plain.ptr())) return plain.ptr() == Py_True ? "1" : "0";
    auto bytes = py::reinterpret_steal<py::object>(PyUnicode_EncodeFSDefault(py::str(plain).ptr()));
    if (!bytes) throw py::error_already_set();
    return py::bytes(bytes);
}

/// A field as Python has it; text as Python has names of files, which may be no UTF-8.
py::object in_python(const std::string& text) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}
py::object in_python(const std::integral auto& field) { return py::cast(field); }

/// Settings of a `with strata.config(...)` block: one C++ scope, entered and left with the block.
class Config {
  public:
    explicit Config(const py::kwargs& changes) : changes_(changes) { (void)changed(); }
    Config(const Config&) = delete;
    void enter() { scopes_.push_back(std::make_unique<ScopedSettings>(changed())); }
    void exit() { scopes_.pop_back(); }

  private:
    Settings changed() const {
        Settings s = settings();
        for (auto [name, value] : changes_) set(s, py::str(name).cast<std::string>(), setting_text(value));
        if (s.device != settings().device) s.device = runtime::device(s.device).name();
        return s;
    }
    py::kwargs changes_;
    std::vector<std::unique_ptr<ScopedSettings>> scopes_;
};

std::string python_type(const setting::Row& row, const std::string&) {
    std::string words;
    for (const setting::Choice& choice : row.accepts.choices)
        if (!choice.word.empty() && choice.available)
            words += fmt::format("{}'{}'", words.empty() ? "" : ", ", choice.word);
    return words.empty() ? "str" : "Literal[" + words + "]";
}
std::string python_type(const setting::Row&, bool) { return "bool"; }
std::string python_type(const setting::Row&, std::integral auto) { return "int"; }

/// The signature and the meaning of each argument.
std::string config_doc() {
    std::string parameters, meanings;
    visit_settings(Settings{}, [&](const setting::Row& row, const auto& field) {
        parameters += fmt::format(", {}: {} = ...", row.name, python_type(row, field));
        std::string range = row.accepts.high == setting::anything.high
                                ? ""
                                : fmt::format(" ({} to {})", row.accepts.low, row.accepts.high);
        meanings += fmt::format("\n{}: {}{}", row.name, row.meaning, range);
    });
    return fmt::format(
        "__init__(self, *{}) -> None\n\nSettings not named stay as they are. Raises UsageError for an unknown one or a "
        "value out of range.\n{}",
        parameters, meanings);
}

As<"dict[str, Any]"> in_force() {
    py::dict out;
    visit_settings(settings(),
                   [&](const setting::Row& row, const auto& field) { out[py::str(row.name)] = in_python(field); });
    return py::object(out);
}

As<"list[tuple[str, Any, str, str]]"> describe() {
    py::list out;
    visit_settings(settings(), [&](const setting::Row& row, const auto& field) {
        out.append(py::make_tuple(row.name, in_python(field), origin_of_setting(row.name), row.meaning));
    });
    return py::object(out);
}

}  // namespace

void bind_settings(py::module_& m) {
    py::class_<Config> config(
        m, "config",
        "with strata.config(beam=2, device='emu:gfx1100', debug=1): settings for a block; wins over the environment.");
    config
        .def(
            "__enter__",
            [](Config& c) -> Config& {
                c.enter();
                return c;
            },
            py::return_value_policy::reference_internal)
        .def("__exit__", [](Config& c, const py::args&) { c.exit(); });
    m.def("settings", &in_force, "The settings in force, by name.");
    m.def("_describe_settings", &describe, "(name, value, where it comes from, meaning) of each setting.");
    OwnSignature own;
    config.def(py::init([](const py::kwargs& changes) { return std::make_unique<Config>(changes); }),
               config_doc().c_str());
}

}  // namespace strata::python
