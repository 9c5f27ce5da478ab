#include "strata/core/support/settings.h"

#include "convert_p.h"
#include "front_end_p.h"
#include "settings_p.h"
#include "strata/runtime/device.h"

namespace strata::python {
namespace {

/// Any text is a value of some settings: names of folders, of devices. What is no text would become one, as "None".
void check_is_text(const std::string& name, py::handle value) {
    if (py::isinstance<py::str>(value) || py::hasattr(value, "__fspath__")) return;
    visit_settings(Settings{}, [&]<class Field>(const setting::Row& row, const Field& field) {
        if constexpr (std::is_same_v<Field, std::string>)
            if (row.name == name && row.accepts.choices[0].empty())
                user_error(ErrorKind::Usage,
                           "[config] {}={}: expected text. Write {}='{}', the default, or leave it out", name,
                           shown(value), name, field);
    });
}

/// As settings.def and the environment write it.
std::string setting_text(const std::string& name, py::handle value) {
    py::object plain = py::hasattr(value, "item") ? value.attr("item")() : py::reinterpret_borrow<py::object>(value);
    check_is_text(name, plain);
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
py::object in_python(double field) { return py::cast(field); }

Settings with(Settings settings, const Changes& changes) {
    for (const auto& [name, text] : changes.settings) set(settings, name, text);
    if (changes.listener) settings.listener = changes.listener;
    if (changes.profiler) settings.profiler = changes.profiler;
    return settings;
}

/// A block that a context is in.
struct Block {
    std::shared_ptr<const Block> around;
    std::shared_ptr<const Changes> changes;
    Settings settings;
};
using InnermostBlock = std::shared_ptr<const Block>;

InnermostBlock inside(InnermostBlock around, std::shared_ptr<const Changes> changes) {
    Settings settings = with(around ? around->settings : environment(), *changes);
    return std::make_shared<const Block>(std::move(around), std::move(changes), std::move(settings));
}

/// The blocks without the innermost one of these changes; those within it stay in force.
InnermostBlock without(const InnermostBlock& block, const Changes* changes) {
    if (!block)
        user_error(
            ErrorKind::Usage,
            "config is left that was not entered in this context (a thread or an asyncio task has one of its own)");
    if (block->changes.get() == changes) return block->around;
    return inside(without(block->around, changes), block->changes);
}

/// The variable of contextvars that holds the innermost block of a context, in a capsule.
PyObject* variable() {
    static PyObject* it = PyContextVar_New("strata.config", nullptr);
    return it;
}

const InnermostBlock* innermost() {
    PyObject* value = nullptr;
    if (PyContextVar_Get(variable(), nullptr, &value) < 0) throw py::error_already_set();
    if (!value) return nullptr;
    auto* block = static_cast<const InnermostBlock*>(PyCapsule_GetPointer(value, nullptr));
    Py_DECREF(value);  // the context still has it
    return block;
}

void set_innermost(InnermostBlock block) {
    py::capsule value(new InnermostBlock(std::move(block)), [](void* p) { delete static_cast<InnermostBlock*>(p); });
    PyObject* token = PyContextVar_Set(variable(), value.ptr());
    if (!token) throw py::error_already_set();
    Py_DECREF(token);
}

InnermostBlock around() {
    const InnermostBlock* block = innermost();
    return block ? *block : nullptr;
}

Changes changes_of(const py::kwargs& given) {
    Changes changes;
    for (auto [name, value] : given)
        changes.settings.emplace_back(py::str(name).cast<std::string>(),
                                      setting_text(py::str(name).cast<std::string>(), value));
    return changes;
}

std::string python_type(const setting::Row& row, const std::string&) {
    std::string words;
    for (std::string_view word : row.accepts.choices)
        if (!word.empty()) words += fmt::format("{}'{}'", words.empty() ? "" : ", ", word);
    return words.empty() ? "str" : (row.accepts.is_switch ? "bool | Literal[" : "Literal[") + words + "]";
}
std::string python_type(const setting::Row&, bool) { return "bool"; }
std::string python_type(const setting::Row&, double) { return "float"; }
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
        "value out of range.\n\nA block's settings are those of its context (contextvars). Other threads and asyncio "
        "tasks do not see them; tasks that are started in the block do.\n{}",
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

/// Python's strata.config. One that is dropped without a block around anything says so.
struct ConfigOfPython {
    Config config;
    bool changes = false, entered = false;

    ConfigOfPython(const py::kwargs& given) : config(changes_of(given)), changes(!given.empty()) {}
    ConfigOfPython(const ConfigOfPython&) = delete;
    ~ConfigOfPython() {
        constexpr const char* kText =
            "strata.config(...) changes nothing until it is entered: write 'with strata.config(...):' around the code, "
            "or "
            "set STRATA_<NAME> in the environment for the whole process";
        if (changes && !entered && PyErr_WarnEx(PyExc_UserWarning, kText, 1) < 0) PyErr_WriteUnraisable(nullptr);
    }
};

}  // namespace

Config::Config(Changes changes) {
    (void)with(Settings{}, changes);
    for (auto& [name, text] : changes.settings)
        if (name == "device") text = runtime::device(text).name();
    changes_ = std::make_shared<const Changes>(std::move(changes));
}
void Config::enter() const { set_innermost(inside(around(), changes_)); }
void Config::exit() const { set_innermost(without(around(), changes_.get())); }

std::shared_ptr<const Settings> settings_of_context() {
    const InnermostBlock* block = innermost();
    if (!block || !*block) return nullptr;
    return {*block, &(*block)->settings};
}

void bind_settings(py::module_& m) {
    py::class_<ConfigOfPython> config(
        m, "config",
        "with strata.config(beam=2, device='emu:gfx1100', debug=1): settings for a block; wins over the environment.");
    config
        .def(
            "__enter__",
            [](ConfigOfPython& c) -> ConfigOfPython& {
                c.config.enter();
                c.entered = true;
                return c;
            },
            py::return_value_policy::reference_internal)
        .def("__exit__", [](ConfigOfPython& c, const py::args&) { c.config.exit(); });
    m.def("settings", &in_force, "The settings in force, by name.");
    m.def("_describe_settings", &describe, "(name, value, where it comes from, meaning) of each setting.");
    OwnSignature own;
    config.def(py::init([](const py::kwargs& changes) { return std::make_unique<ConfigOfPython>(changes); }),
               config_doc().c_str());
}

}  // namespace strata::python
